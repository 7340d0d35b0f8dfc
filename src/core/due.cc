// Settler: what is due. Leases that may be over, rows that were kept long enough, and handoffs that
// an earlier commit left.
#include <algorithm>
#include <string>

#include "core/settle.h"
#include "core/trace.h"

namespace lockkeeper::core {
namespace {

constexpr std::size_t kWalkedAtOnce = 10'000;

// How long a row that was last written then is still kept. If its due row was filed in this boot,
// only what was written since counts. Otherwise nobody knows how long the machine was off.
std::int64_t left_of(std::uint64_t epoch, std::int64_t mono_ms, std::int64_t kept_ms,
                     std::int64_t unknown_ms, const DueRow& due, const Context& context) {
  if (epoch == context.epoch.id) return mono_ms + kept_ms - context.now.mono_ms;
  return is_of_this_boot(due, context) ? 0 : unknown_ms;
}

// A peek: whoever takes something at this moment is noted again when it reports.
Result<bool> holds_anything(State& state, const Owner& owner) {
  bool any = false;
  const auto found = [&](const kv::Row&) {
    any = true;
    return false;
  };
  const kv::Range all = kv::prefix_range(lease_key(LeaseId{owner_tag(owner)}));
  LK_CHECK(state.txn().scan(all, found, kv::Read::kPeek));
  return any;
}

// A session finds its parts here, so it is kept as long as one of them holds something.
Result<std::int64_t> left_of_activity(State& state, const kv::Row& row, const DueRow& due) {
  LK_ASSIGN(auto read, decode_activity(row.value));
  to_own_clock(read.second, row, state.context());
  const auto& [owner, activity] = read;
  const std::int64_t kept_ms = state.context().limits.remember_ms;
  for (const std::string& part : activity.parts) {
    LK_ASSIGN(const bool holds, holds_anything(state, {owner.agent, part}));
    if (holds) return kept_ms;
  }
  return left_of(activity.epoch, activity.noted_mono_ms, kept_ms, kept_ms, due, state.context());
}

// Across boots days are counted by the wall clock, which may be wrong: a trace excludes nobody.
Result<std::int64_t> left_of_trace(const kv::Row& row, const DueRow& due, const Context& context) {
  LK_ASSIGN(Trace trace, decode_trace(row.value));
  to_own_clock(trace, row, context);
  const std::int64_t passed = std::max<std::int64_t>(0, context.now.wall_ms - trace.at_wall_ms);
  return left_of(trace.epoch, trace.at_mono_ms, kTraceKeptMs, kTraceKeptMs - passed, due, context);
}

// Whoever files it anew counts on by its own clock: others need not keep in mind what they saw.
Result<void> count_on(State& state, const std::string& key, const kv::Row& row) {
  const Context& context = state.context();
  if (context.sightings == nullptr) return {};
  if (key.starts_with(kTracePrefix)) {
    LK_ASSIGN(Trace trace, decode_trace(row.value));
    to_own_clock(trace, row, context);
    trace.clock = context.sightings->own_clock();
    return state.txn().put(key, encode_trace(trace));
  }
  LK_ASSIGN(auto read, decode_activity(row.value));
  to_own_clock(read.second, row, context);
  read.second.clock = context.sightings->own_clock();
  return state.txn().put(key, encode_activity(read.first, read.second));
}

}  // namespace

Result<bool> Settler::sweep(std::size_t most) {
  std::vector<std::string> keys;
  const auto collect = [&](const kv::Row& row) {
    if (keys.size() == most) return false;
    keys.emplace_back(row.key);
    return true;
  };
  const Context& context = state_.context();
  LK_CHECK(state_.txn().scan_back(due_now(context), collect));
  if (context.sightings != nullptr) {
    LK_CHECK(state_.txn().scan_back(due_now_of_ours(context), collect));
  }
  LK_CHECK(handle_all(keys));
  return keys.size() == most || !room_left();
}

Result<void> Settler::handle_all(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (!room_left()) return {};
    LK_CHECK(handle_due(key));
    LK_CHECK(settle());
    changed_ = true;
  }
  return {};
}

// What is due and finds no room here is found again in the next round.
Result<bool> Settler::walk(std::size_t most) {
  const Context& context = state_.context();
  kv::Range rest = kv::prefix_range(kClockedDuePrefix);
  std::string from;
  if (context.sightings == nullptr) return false;
  if (!context.sightings->begin_walk(context.now.mono_ms, from)) return false;
  if (!from.empty()) rest.from = from;
  std::vector<std::string> keys;
  std::vector<std::string> activities;
  std::size_t looked = 0;
  std::string next;
  LK_CHECK(state_.txn().scan(
      rest,
      [&](const kv::Row& row) {
        if (looked++ == kWalkedAtOnce || keys.size() == most) {
          next = row.key;
          return false;
        }
        const std::optional<DueRow> due = read_due_key(row.key);
        if (!due || is_due(*due, row, context)) keys.emplace_back(row.key);
        if (due && due->what == Due::kActivity) {
          activities.push_back(std::string(kActivityPrefix).append(due->subject));
        }
        return true;
      },
      kv::Read::kPeek));
  for (const std::string& key : activities) {  // written more often than their due rows
    LK_ASSIGN(const std::optional<kv::Row> row, state_.txn().get(key, kv::Read::kPeek));
    if (row) context.sightings->first_sight(row->key, row->modified, context.now.mono_ms);
  }
  context.sightings->end_walk(next);
  LK_CHECK(handle_all(keys));
  return !next.empty();
}

Result<void> Settler::handle_due(const std::string& key) {
  LK_ASSIGN(const std::optional<kv::Row> row, state_.txn().get(key));
  if (!row) return {};
  const std::string value(row->value);
  const std::optional<DueRow> due = read_due_key(key);
  if (!due) return fail(Code::kStoreCorrupt, "a due row in the store cannot be read");
  if (due->what == Due::kLease) return handle_due_lease(*due, key);
  if (due->what == Due::kActivity || due->what == Due::kTrace) return handle_due_kept(*due, key);
  if (due->what != Due::kHandoff) return forget(*due, key, State::is_final(*due, value));
  LK_CHECK(state_.txn().erase(key));
  const LeaseId ended{due->subject};
  LK_ASSIGN(const Lease* held, state_.lease(ended));  // there: it only lost a claim
  if (held == nullptr) LK_CHECK(end_children(ended));
  ended_.push_back(
      {ended, false, held != nullptr, LeaseId{held != nullptr ? value : std::string()}});
  return {};
}

Result<void> Settler::handle_due_lease(const DueRow& due, const std::string& key) {
  const LeaseId id{due.subject};
  LK_ASSIGN(const bool changed, reap(id));
  if (changed) return {};
  LK_ASSIGN(const Lease* found, state_.lease(id));
  if (found == nullptr) return state_.txn().erase(key);
  if (is_early(*found, state_.context())) return {};
  // A detached lease from before a reboot gets its full ttl from the new epoch's start (rule 9). Or
  // an orphan's process was found alive after all.
  const Lease before = *found;
  Lease after = before;
  postpone(after, state_.context());
  return state_.change_lease(before, after);
}

// What is kept for a while after it was last written: what an owner is doing, and traces. Their due
// row is not moved with every change, so it may find them too young.
Result<void> Settler::handle_due_kept(const DueRow& due, const std::string& key) {
  const Context& context = state_.context();
  const std::string subject = static_cast<char>(due.what) + std::string(due.subject);
  LK_CHECK(state_.txn().erase(key));
  LK_ASSIGN(const std::optional<kv::Row> row, state_.txn().get(subject));
  if (!row) return {};
  LK_ASSIGN(const std::int64_t left, due.what == Due::kTrace ? left_of_trace(*row, due, context)
                                                             : left_of_activity(state_, *row, due));
  if (left <= 0) return state_.txn().erase(subject);
  LK_CHECK(count_on(state_, subject, *row));
  return state_.file_due(context.now.mono_ms + left, due.what, due.subject);
}

// Two kinds are kept for the full time once more: rows from before a reboot, whose age is unknown,
// and a request id whose lease was not known to have ended (rule 12).
Result<void> Settler::forget(const DueRow& due, const std::string& key, bool final) {
  LK_CHECK(state_.txn().erase(key));
  const Context& context = state_.context();
  const std::string subject = static_cast<char>(due.what) + std::string(due.subject);
  const bool other_boot = !is_of_this_boot(due, context) && due.what != Due::kRefusal;
  const bool unsure = due.what == Due::kRequest && !final;
  if (!other_boot && !unsure) return state_.txn().erase(subject);
  if (unsure) {
    LK_ASSIGN(const std::optional<kv::Row> row, state_.txn().get(subject));
    if (!row) return {};
    LK_ASSIGN(const RememberedRequest request, decode_request(row->value));
    LK_ASSIGN(const Lease* lease, state_.lease(request.lease));
    final = lease == nullptr;
  }
  return state_.file_due(remembered_until(context), due.what, due.subject, final);
}

}  // namespace lockkeeper::core
