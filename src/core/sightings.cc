#include "core/sightings.h"

#include <algorithm>
#include <utility>

#include "core/condition.h"
#include "core/trace.h"

namespace lockkeeper::core {
namespace {

// From the writer's clock to ours: never less than the clocks are apart.
std::int64_t shift_of(const Stamp& written, const kv::Row& row, const Context& context) {
  return context.sightings->first_sight(row.key, row.modified, context.now.mono_ms) -
         written.mono_ms;
}

bool is_of_another_clock(std::uint64_t clock, const Context& context) {
  return context.sightings != nullptr && clock != context.sightings->own_clock();
}

}  // namespace

std::int64_t Sightings::first_sight(std::string_view key, kv::Version modified,
                                    std::int64_t now_ms) {
  std::string name(key);
  auto found = rows_.find(name);
  if (found == rows_.end()) {
    if (rows_.size() >= most_) return now_ms;
    found = rows_.emplace(std::move(name), Seen{modified, now_ms, round_}).first;
  }
  Seen& seen = found->second;
  // An older version may be read by a transaction that began before: it is not what the row is now.
  if (modified > seen.modified) seen = {modified, now_ms, round_};
  seen.round = round_;
  return modified == seen.modified ? seen.at_ms : now_ms;
}

bool Sightings::begin_walk(std::int64_t now_ms, std::string& from) {
  if (from_.empty()) {
    if (now_ms < next_walk_ms_) return false;
    next_walk_ms_ = now_ms + kWalkEveryMs;
  }
  from = from_;
  return true;
}

void Sightings::end_walk(std::string next) {
  from_ = std::move(next);
  if (!from_.empty()) return;
  std::erase_if(rows_, [&](const auto& row) { return row.second.round + 1 < round_; });
  ++round_;
}

void to_own_clock(Lease& lease, const kv::Row& row, const Context& context) {
  if (!is_of_another_clock(lease.written.clock, context)) return;
  move_times(lease, shift_of(lease.written, row, context));
}

void to_own_clock(Activity& activity, const kv::Row& row, const Context& context) {
  if (!is_of_another_clock(activity.clock, context)) return;
  const Stamp written{activity.clock, activity.noted_mono_ms};
  const std::int64_t shift = shift_of(written, row, context);
  for (RunningCall& call : activity.calls) call.begun_mono_ms += shift;
  activity.noted_mono_ms += shift;
}

// It may have been written again since the change: then it counts as younger than it is.
void to_own_clock(Trace& trace, const kv::Row& row, const Context& context) {
  if (!is_of_another_clock(trace.clock, context)) return;
  trace.at_mono_ms += shift_of({trace.clock, trace.at_mono_ms}, row, context);
}

Stamp stamp_of(const Context& context) {
  if (context.sightings == nullptr) return {};
  return {context.sightings->own_clock(), context.now.mono_ms};
}

}  // namespace lockkeeper::core
