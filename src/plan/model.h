// A plan as the rules see it: packages with their locks, scopes and dependencies, each value with
// its place. Reading is tolerant: values of the wrong shape are left out here and reported by the
// schema check, so that one mistake does not hide others.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "plan/finding.h"
#include "yaml/document.h"

namespace lockkeeper::plan {

struct Name {
  std::string text;
  yaml::Place place;
};

// What an agent runs: a line for the shell, or a program with its arguments.
struct Command {
  std::vector<std::string> words;
  bool shell = false;  // there is one word, a line for the shell

  bool empty() const { return words.empty(); }
  bool operator==(const Command&) const = default;
};

struct Package {
  Name id;
  std::string title;
  std::string description;
  std::vector<Name> depends_on;
  std::vector<Name> files;    // locks
  std::vector<Name> folders;  // locks of a scopes file, with '/' at the end
  std::vector<Name> globs;    // locks of a scopes file
  std::vector<Name> keys;
  std::vector<Name> write_allow;
  std::vector<Name> read_allow;
  std::vector<Name> deny;
  bool scoped = false;  // write_allow is given: nothing else may be written
  std::string reason;
  std::int64_t priority = 5;
  std::int64_t ttl_minutes = 120;
  std::int64_t timeout_minutes = 60;
  std::int64_t retry_budget = 1;
  Command command;  // an extension
  yaml::Place place;
};

struct WorkPackages {
  bool scopes = false;  // a scopes file: agents are packages, and `files` are not patterns
  std::string feature;
  std::vector<Name> contracts;  // openapi.files and primary, schemas; generated folders end in '/'
  std::vector<Package> packages;
};

WorkPackages read_work_packages(const yaml::Node& root);

// The id of the feature: `feature: ID`, or `feature: {id: ID}`. Null: the plan has none. Anything
// but a text: the plan tries to name one.
const yaml::Node* feature_id(const yaml::Node& root);
// Why a pause of the plan's feature could not stop the plan; nullopt: it can, or there is none.
std::optional<Finding> check_feature(const yaml::Node& root);

// A string is a line for the shell, a list is words.
Command read_command(const yaml::Node& node);

// Refuses a name that no owner of a lock may have. Empty: every name will do.
using NameRule = std::function<Result<void>(std::string_view name)>;
// Why an agent of that name and command could never start; as warnings, placeholders that are none.
std::vector<Finding> check_agent(const Name& id, const Command& command, const NameRule& rule);

// The name of a package. Older files have `id`; the schema check reports that. Null: none.
const yaml::Node* package_id(const yaml::Node& package);

}  // namespace lockkeeper::plan
