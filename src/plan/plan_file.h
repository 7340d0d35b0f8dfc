// A plan from either kind of file, ready to be analysed and run: work packages, or a list of agents
// with their scopes. Names have become numbers and resources.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "key/resource.h"
#include "plan/finding.h"
#include "plan/model.h"

namespace lockkeeper::plan {

inline constexpr std::int64_t kMinuteMs = 60'000;

enum class Form { kWorkPackages, kScopes };

// One agent's work.
struct Job {
  std::string id;                     // package_id, or the agent's name
  std::string description;            // what it is to do
  std::string task;                   // an id in a task tracker; may be empty
  std::string reason;                 // shown to agents that its locks block
  std::vector<std::size_t> needs;     // jobs that must be done first, by number
  std::vector<key::Resource> locks;   // taken before it starts, all or nothing
  std::vector<key::Resource> writes;  // what it may change, including its locks
  std::vector<key::Resource> denies;  // exceptions to `writes`
  std::vector<key::Resource> reads;   // what it may read
  Command command;                    // may be empty
  std::int64_t priority = 5;          // 1 is the highest
  std::int64_t minutes = 60;          // the estimate
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
  NameRule agent_name;
  key::Rules keys;  // the realm's prefixes and purposes
  // For planning: an invalid key, or one with an unknown prefix, is a warning and stands only for
  // itself. Otherwise it is an error, because it cannot be locked.
  bool opaque_keys = false;
};

struct Loaded {
  Plan plan;
  // What makes planning or running impossible: the document, ids, dependencies, cycles, names.
  // Overlaps are not findings here.
  std::vector<Finding> findings;
  bool usable() const;  // no error among them
};

// Work packages or scopes, YAML or JSON, distinguished by their top level. The schema of work
// packages is not enforced: validate() does that.
Loaded load_plan(std::string_view text, const LoadOptions& options);

}  // namespace lockkeeper::plan
