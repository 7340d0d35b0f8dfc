// A plan as the rules see it: packages with their locks, scopes and dependencies, each value with
// its place. Reading is tolerant: values of the wrong shape are left out here and reported by the
// schema check, so that one mistake does not hide others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "yaml/document.h"

namespace lockkeeper::plan {

struct Name {
  std::string text;
  yaml::Place place;
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
  std::vector<std::string> command;  // an extension; one word: a shell line
  yaml::Place place;
};

struct WorkPackages {
  bool scopes = false;  // a scopes file: agents are packages, and `files` are not patterns
  std::string feature;
  std::vector<Name> contracts;  // openapi.files and primary, schemas; generated folders end in '/'
  std::vector<Package> packages;
};

WorkPackages read_work_packages(const yaml::Node& root);

// The name of a package. Older files have `id`; the schema check reports that. Null: none.
const yaml::Node* package_id(const yaml::Node& package);

}  // namespace lockkeeper::plan
