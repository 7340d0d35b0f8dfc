// What to do about scopes that overlap: the resolutions of the workflow document, worked out for
// one conflict as edits that a program can apply.
//
//   sequential  one agent runs after the other has completed
//   reassign    what overlaps moves into one agent's scope
//   split       the shared folder is divided into parts that do not overlap
//   merge       the tasks become one, with one scope
//   separate    a single shared file becomes one file for each (only then)
//
// The scopes that reassign, split and separate propose do not overlap. Pure: what the disk knows
// (the names in a shared folder) comes in through a function.
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

// The names in a folder, those of folders with a '/' at the end; nullopt: there is no such folder,
// or it has too many to be divided by name.
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
    std::string to;  // split: empty, nobody gets more
  };
  struct Part {  // split: what of a shared folder is whose; separate: whose file is called how
    key::Resource of;
    std::string agent;
    std::vector<key::Resource> resources;
  };
  struct Except {  // split: what an agent leaves out of something wide, for it is the other's
    key::Resource of;
    key::Resource without;
    std::string agent;
  };
  Kind kind = Kind::kSequential;
  std::vector<Order> order;
  std::vector<Move> moves;
  std::vector<Part> parts;
  std::vector<Except> excepts;
  std::vector<std::string> merged;  // whose tasks become one, for the first of them
  std::vector<Scope> scopes;        // all of them afterwards, the asker's first; merge: the one
};

// For an asker that meets holders which overlap it: sequential, reassign, split, merge, in this
// order, and separate where one file is all that overlaps. `holders` without an overlap are fine.
// REQUIRES: at least one of them overlaps.
Result<std::vector<Resolution>> resolutions_for(const Scope& asker,
                                                const std::vector<Scope>& holders,
                                                const key::Rules& rules, const Children& children);

// "sequential", …
const char* resolution_name(Resolution::Kind kind);
// One line for people: "Run backend after frontend completes".
std::string resolution_text(const Resolution& resolution);
// {"resolution","summary","edits":[…],"scopes":[…]}
nlohmann::ordered_json resolution_json(const Resolution& resolution);
// {"agent","files":[…],"directories":[…]}, and "globs", "keys", "task_description" if there are
// any.
nlohmann::ordered_json scope_json(const Scope& scope);

}  // namespace lockkeeper::plan
