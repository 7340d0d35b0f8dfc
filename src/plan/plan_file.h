// A plan from either kind of file, ready to be planned and run: work packages, or a simple list of
// agents with their scopes. Names have become numbers and resources.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "key/resource.h"
#include "plan/finding.h"

namespace lockkeeper::plan {

inline constexpr std::int64_t kMinuteMs = 60'000;

enum class Form { kWorkPackages, kScopes };

// One agent's work.
struct Job {
  std::string id;                     // package_id, or the agent's name
  std::string description;            // what it is to do
  std::string task;                   // an id of somebody's tracker; may be empty
  std::string reason;                 // told to whom its locks block
  std::vector<std::size_t> needs;     // the jobs that must be done before, by number
  std::vector<key::Resource> locks;   // taken before it starts, all or nothing
  std::vector<key::Resource> writes;  // what it may change; its locks are part of it
  std::vector<key::Resource> denies;  // and what of that it may not
  std::vector<key::Resource> reads;   // what it was told to read
  std::vector<std::string> command;   // one word alone: a line for the shell; may be empty
  std::int64_t priority = 5;          // 1 is first
  std::int64_t minutes = 60;          // how long it is going to take
  std::int64_t timeout_ms = 0;        // when it is stopped; 0: never
  std::int64_t ttl_ms = 7'200'000;    // kNoEnd: endless
  std::int64_t retries = 1;
  yaml::Place place;
};

struct Plan {
  Form form = Form::kWorkPackages;
  std::string feature;  // empty: none
  std::vector<Job> jobs;
};

struct LoadOptions {
  key::Rules keys;  // the realm's prefixes and purposes
  // A key of an unknown prefix, or one that breaks its prefix's rules, stands for itself alone,
  // with a warning: good for planning. Else it is an error: nobody can lock it.
  bool opaque_keys = false;
};

struct Loaded {
  Plan plan;
  // What is wrong with it, as far as it matters for planning and running: the document, ids,
  // dependencies, rings, names. Overlaps are no findings here: they are what planning is about.
  std::vector<Finding> findings;
  bool usable() const;  // no error among them
};

// Work packages or scopes, YAML or JSON, told apart by their top level. The structure that work
// packages should have by their schema is not insisted on: validate() does that.
Loaded load_plan(std::string_view text, const LoadOptions& options);

}  // namespace lockkeeper::plan
