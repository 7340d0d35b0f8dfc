// What to do about overlapping scopes: the workflow protocol's resolutions for one conflict, as
// edits that a program can apply.
//
//   sequential  one agent runs after the other has completed
//   reassign    what overlaps moves into one agent's scope
//   split       the shared folder is divided into parts that do not overlap
//   merge       the tasks become one, with one scope
//   separate    a single shared file becomes one file for each
//
// The scopes that reassign, split and separate propose do not overlap. Nothing here reads the disk:
// the names in a shared folder come from a function.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "key/resource.h"

namespace lockkeeper::plan {

// What one agent wants or holds.
struct Scope {
  std::string agent;
  std::vector<key::Resource> resources;
  std::string task_description;
};

struct Clash {
  key::Resource ours;
  key::Resource theirs;
  std::string witness;  // a name that both cover
};

// Every overlapping pair. limit_exceeded only for pathological patterns.
Result<std::vector<Clash>> clashes_of(const Scope& ours, const Scope& theirs);

// The names in a folder, with a '/' after those of folders; nullopt: no such folder, or too many
// names to divide.
using Children = std::function<std::optional<std::vector<std::string>>(const std::string& folder)>;

struct Resolution {
  enum class Kind { kSequential, kReassign, kSplit, kMerge, kSeparate };
  struct Order {
    std::string run;
    std::string after;
  };
  struct Move {
    key::Resource resource;
    std::string from;
    std::string to;  // split: empty
  };
  struct Part {  // split: an agent's part of a folder; separate: an agent's file
    key::Resource of;
    std::string agent;
    std::vector<key::Resource> resources;
  };
  struct Except {  // split: what an agent leaves to the other
    key::Resource of;
    key::Resource without;
    std::string agent;
  };
  Kind kind = Kind::kSequential;
  std::vector<Order> order;
  std::vector<Move> moves;
  std::vector<Part> parts;
  std::vector<Except> excepts;
  std::vector<key::Resource> new_folders;  // of the parts: names that nobody has used yet
  std::vector<std::string> merged;         // the agents; the first gets the merged task
  std::vector<Scope> scopes;  // all scopes afterwards, the asker's first; merge: only one
};

// Sequential, reassign, split, merge, in this order, and separate if exactly one file overlaps.
// REQUIRES: at least one holder overlaps the asker; the others may not.
Result<std::vector<Resolution>> resolutions_for(const Scope& asker,
                                                const std::vector<Scope>& holders,
                                                const key::Rules& rules, const Children& children);

// "sequential", …
const char* resolution_name(Resolution::Kind kind);
// One line for people: "Run backend after frontend completes".
std::string resolution_text(const Resolution& resolution);
// {"resolution","summary","edits":[…],"scopes":[…]}
nlohmann::ordered_json resolution_json(const Resolution& resolution);
// {"agent","files":[…],"directories":[…]}, and "globs", "keys", "task_description" if not empty.
nlohmann::ordered_json scope_json(const Scope& scope);

}  // namespace lockkeeper::plan
