#include "core/state.h"

#include <functional>
#include <string>

#include "base/assert.h"
#include "base/bytes.h"
#include "core/condition.h"
#include "core/mirrored.h"
#include "core/sessions.h"

namespace lockkeeper::core {
namespace {

// The rows of that kind that begin with one id; if `after` is given, only those after it.
kv::Range seconds_of(char letter, const LeaseId& first, const LeaseId& after) {
  kv::Range range;
  range.from.reserve(2 + 2 * IdBytes::kMax);
  range.from.push_back(letter);
  range.from.append(first.bytes);
  range.to = kv::end_of_prefix(range.from);
  if (!after.empty()) range.from.append(after.bytes).push_back('\0');
  return range;
}

}  // namespace

Result<const Lease*> State::lease(const LeaseId& id) {
  const auto known = leases_.find(id);
  if (known != leases_.end()) return known->second ? &*known->second : nullptr;
  LK_ASSIGN(const std::optional<kv::Row> row, txn_.get(lease_key(id)));
  std::optional<Lease> lease;
  if (row) {
    LK_ASSIGN(lease, decode_lease(id, row->value, row->created));
    to_own_clock(*lease, *row, context_);
  }
  const auto place = leases_.emplace(id, std::move(lease)).first;
  if (!single_writer_) read_.push_back(id);
  return place->second ? &*place->second : nullptr;
}

void State::forget_reads(const Mark& since) {
  if (single_writer_) return;
  txn_.drop_guards(since.guards);
  for (; read_.size() > since.leases; read_.pop_back()) leases_.erase(read_.back());
  counters_.clear();
  crowded_.clear();
  any_waiters_.reset();
}

Result<std::optional<Waiter>> State::waiter(const LeaseId& id) {
  LK_ASSIGN(const std::optional<kv::Row> row, txn_.get(waiter_key(id)));
  if (!row) return std::nullopt;
  LK_ASSIGN(Waiter waiter, decode_waiter(id, row->value, row->created));
  return waiter;
}

Result<void> State::guard(const LeaseId& id) {
  LK_ASSIGN(const Lease* found, lease(id));
  if (found == nullptr) LK_CHECK(waiter(id));
  return {};
}

const key::Place& State::place_of(const key::Resource& resource) {
  if (!place_ || !(placed_ == resource)) {
    placed_ = resource;
    place_.emplace(resource);
  }
  return *place_;
}

Result<void> State::put_claims(Holding holding, const Lease& lease, bool put) {
  crowded_.clear();
  for (const Claim& claim : lease.claims) {
    const std::string key =
        claim_key(holding, claim.mode, place_of(claim.resource), lease.id, claim.slot);
    LK_CHECK(put ? txn_.put(key, encode_claim(claim.resource)) : txn_.erase(key));
  }
  return {};
}

Result<std::size_t> State::own_counter(const std::string& key) {
  const auto known = counters_.find(key);
  if (known != counters_.end()) return known->second;
  LK_ASSIGN(const std::optional<kv::Row> row, txn_.get(key));
  std::size_t count = 0;
  if (row) {
    LK_ASSIGN(count, decode_counter(row->value));
  }
  counters_[key] = count;
  return count;
}

Result<std::size_t> State::claims_counted(const Owner& owner) {
  if (single_writer_) return own_counter(counter_key(owner));
  const std::string own = session_counter_key(owner);
  LK_ASSIGN(std::size_t sum, own_counter(own));
  Result<void> readable;
  const auto add = [&](const kv::Row& row) {
    if (row.key == own) return true;
    const auto count = decode_counter(row.value);
    if (!count) readable = fail(count.error());
    sum += count.value_or(0);
    return count.has_value();
  };
  LK_CHECK(txn_.scan(session_counters(owner), add, kv::Read::kPeek));
  LK_CHECK(readable);
  return sum;
}

Result<void> State::count_claims(const Owner& owner, std::int64_t change) {
  const std::string key = single_writer_ ? counter_key(owner) : session_counter_key(owner);
  LK_ASSIGN(const std::size_t before, own_counter(key));
  const std::int64_t after = static_cast<std::int64_t>(before) + change;
  if (after < 0) {
    return fail(Code::kStoreCorrupt, "the counter of agent " + owner.agent + " is wrong");
  }
  counters_[key] = static_cast<std::size_t>(after);
  if (after == 0) return txn_.erase(key);
  return txn_.put(key, encode_counter(static_cast<std::size_t>(after)));
}

Result<void> State::add_lease(const Lease& lease) {
  LOCKKEEPER_ASSERT(lease.epoch == context_.epoch.id);
  return restore_lease(lease);
}

// Its record and its due row. Where there are several clocks, it is ours from now on, and both are
// written each time: who sees one has seen the other.
Result<void> State::put_lease(const Lease& lease) {
  const Lease* written = &lease;
  Lease ours;
  if (context_.sightings != nullptr) {
    ours = lease;
    ours.written = stamp_of(context_);
    ours.due_mono_ms = due_of(ours);
    written = &ours;
  }
  LK_CHECK(txn_.put(lease_key(lease.id), encode_lease(*written)));
  leases_[lease.id] = *written;
  return txn_.put(due_key_of(*written), due_value(false));
}

Result<void> State::restore_lease(const Lease& lease) {
  LOCKKEEPER_ASSERT(!lease.claims.empty());
  // Another tool's locks do not count against our agents' quota.
  if (!lease.foreign) {
    LK_CHECK(count_claims(lease.owner, static_cast<std::int64_t>(lease.claims.size())));
  }
  LK_CHECK(put_claims(Holding::kLease, lease, true));
  if (!lease.parent.empty()) LK_CHECK(txn_.put(child_key(lease.parent, lease.id), "l"));
  return put_lease(lease);
}

Result<void> State::change_lease(const Lease& before, const Lease& after) {
  LOCKKEEPER_ASSERT(before.id == after.id);
  if (context_.sightings != nullptr) {
    // The copy that is known here has been filed, whatever the caller's says.
    LK_ASSIGN(const Lease* filed, lease(before.id));
    LK_CHECK(txn_.erase(due_key_of(filed == nullptr ? before : *filed)));
    return put_lease(after);
  }
  if (before.due_mono_ms != after.due_mono_ms || before.epoch != after.epoch) {
    LK_CHECK(txn_.erase(due_key_of(before)));
    LOCKKEEPER_ASSERT(after.epoch == context_.epoch.id);
    LK_CHECK(file_due(after.due_mono_ms, Due::kLease, after.id.bytes));
  }
  LK_CHECK(txn_.put(lease_key(after.id), encode_lease(after)));
  leases_[after.id] = after;
  return {};
}

Result<void> State::remove_claim(const Lease& before, std::size_t index, Lease& after) {
  LOCKKEEPER_ASSERT(index < before.claims.size() && before.claims.size() > 1);
  const Claim& claim = before.claims[index];
  crowded_.clear();
  LK_CHECK(txn_.erase(
      claim_key(Holding::kLease, claim.mode, key::Place(claim.resource), before.id, claim.slot)));
  LK_CHECK(count_claims(before.owner, -1));
  after = before;
  after.claims.erase(after.claims.begin() + static_cast<std::ptrdiff_t>(index));
  return change_lease(before, after);
}

Result<void> State::remove_lease(const Lease& lease) {
  LK_CHECK(txn_.erase(lease_key(lease.id)));
  if (!lease.foreign) {
    LK_CHECK(count_claims(lease.owner, -static_cast<std::int64_t>(lease.claims.size())));
  }
  // Its artefacts are ours to remove until somebody has done so.
  LK_CHECK(schedule_removal(*this, lease.id, lease.mirrored_at));
  LK_CHECK(put_claims(Holding::kLease, lease, false));
  if (!lease.parent.empty()) LK_CHECK(txn_.erase(child_key(lease.parent, lease.id)));
  std::string filed = due_key_of(lease);
  if (context_.sightings != nullptr) {
    const auto known = leases_.find(lease.id);
    if (known != leases_.end() && known->second) filed = due_key_of(*known->second);
  }
  LK_CHECK(txn_.erase(filed));
  leases_[lease.id] = std::nullopt;
  return {};
}

Result<void> State::add_waiter(const Waiter& waiter) {
  const Lease& request = waiter.request;
  LOCKKEEPER_ASSERT(!waiter.blocker.empty());
  LK_CHECK(txn_.put(waiter_key(request.id), encode_waiter(waiter)));
  LK_CHECK(put_claims(Holding::kWaiter, request, true));
  LK_CHECK(txn_.put(blocked_key(waiter.blocker, request.id), ""));
  for (const std::string& whole : waiter.wholes) {
    LK_CHECK(txn_.put(part_key(whole, request.id), whole));
  }
  if (!request.parent.empty()) LK_CHECK(txn_.put(child_key(request.parent, request.id), "w"));
  // Waiters count as well, so that the limit holds when they are granted.
  LK_CHECK(count_claims(request.owner, static_cast<std::int64_t>(request.claims.size())));
  any_waiters_ = true;
  return {};
}

Result<void> State::refile_waiter(const Waiter& before, const Waiter& after) {
  LOCKKEEPER_ASSERT(!after.blocker.empty());
  if (before.blocker != after.blocker) {
    LK_CHECK(txn_.erase(blocked_key(before.blocker, before.request.id)));
    LK_CHECK(txn_.put(blocked_key(after.blocker, after.request.id), ""));
  }
  return txn_.put(waiter_key(after.request.id), encode_waiter(after));
}

Result<void> State::remove_waiter(const Waiter& waiter) {
  const Lease& request = waiter.request;
  LK_CHECK(txn_.erase(waiter_key(request.id)));
  LK_CHECK(put_claims(Holding::kWaiter, request, false));
  LK_CHECK(txn_.erase(blocked_key(waiter.blocker, request.id)));
  for (const std::string& whole : waiter.wholes) {
    LK_CHECK(txn_.erase(part_key(whole, request.id)));
  }
  if (!request.parent.empty()) LK_CHECK(txn_.erase(child_key(request.parent, request.id)));
  LK_CHECK(count_claims(request.owner, -static_cast<std::int64_t>(request.claims.size())));
  any_waiters_.reset();
  return {};
}

Result<std::vector<LeaseId>> State::owned(char letter, const Owner& owner) {
  std::vector<LeaseId> ids;
  const std::string prefix = std::string(1, letter) + owner_tag(owner);
  LK_CHECK(txn_.scan(kv::prefix_range(prefix), [&](const kv::Row& row) {
    ids.push_back(LeaseId{row.key.substr(1)});
    return true;
  }));
  return ids;
}

Result<std::vector<LeaseId>> State::ids_of_agent(Holding holding, const Owner& owner) {
  std::vector<LeaseId> ids;
  const std::string counter = counter_key(owner);
  const std::string prefix = (holding == Holding::kLease ? "l" : "w") + counter.substr(1);
  LK_CHECK(txn_.scan(
      kv::prefix_range(prefix),
      [&](const kv::Row& row) {
        if (row.key != counter) ids.push_back(LeaseId{std::string(row.key.substr(1))});
        return true;
      },
      kv::Read::kPeek));
  return ids;
}

Result<std::vector<LeaseId>> State::leases_of(const Owner& owner) {
  LK_ASSIGN(std::vector<LeaseId> ids, owned('l', owner));
  std::vector<LeaseId> own;
  for (LeaseId& id : ids) {
    LK_ASSIGN(const Lease* held, lease(id));
    if (held != nullptr && held->held_by(owner)) own.push_back(std::move(id));
  }
  return own;
}

Result<std::vector<LeaseId>> State::waiters_of_parts(const Owner& whole, kv::Read read) {
  std::vector<LeaseId> ids;
  for (const std::string& name : whole_names(whole)) {
    const auto collect = [&](const kv::Row& row) {
      if (row.value == name) ids.push_back(LeaseId{row.key.substr(row.key.size() - IdBytes::kMax)});
      return true;
    };
    LK_CHECK(txn_.scan(parts_of(name), collect, read));
  }
  return ids;
}

// Looks once for each agent, however many leases or waiters it has.
Result<bool> State::session_has(Holding holding, const std::string& session) {
  const std::string session_tag = owner_tag({"", session}).substr(4);
  kv::Range rest = kv::prefix_range(std::string(1, static_cast<char>(holding)));
  for (;;) {
    std::string agent;
    LK_CHECK(txn_.scan(rest, [&](const kv::Row& row) {
      agent = row.key.substr(0, 5);
      return false;
    }));
    if (agent.empty()) return false;
    bool holds = false;
    LK_CHECK(txn_.scan(kv::prefix_range(agent + session_tag), [&](const kv::Row&) {
      holds = true;
      return false;
    }));
    if (holds) return true;
    rest.from = kv::end_of_prefix(agent);
    if (rest.from.empty()) return false;
  }
}

Result<std::vector<Lease>> State::held_by(const Owner& owner) {
  LK_ASSIGN(const std::vector<LeaseId> ids, leases_of(owner));
  std::vector<Lease> held;
  for (const LeaseId& id : ids) {
    LK_ASSIGN(const Lease* one, lease(id));
    held.push_back(*one);
  }
  return held;
}

Result<std::vector<LeaseId>> State::waiters_of(const Owner& owner) {
  LK_ASSIGN(std::vector<LeaseId> ids, owned('w', owner));
  std::vector<LeaseId> own;
  for (LeaseId& id : ids) {
    LK_ASSIGN(const std::optional<Waiter> found, waiter(id));
    if (found && found->request.owner == owner) own.push_back(std::move(id));
  }
  return own;
}

Result<std::vector<LeaseId>> State::second_ids(char letter, const LeaseId& first, std::size_t most,
                                               const LeaseId& after) {
  std::vector<LeaseId> ids;
  const kv::Range range = seconds_of(letter, first, after);
  LK_CHECK(txn_.scan(range, [&](const kv::Row& row) {
    if (ids.size() == most) return false;
    ids.push_back(LeaseId{row.key.substr(1 + first.bytes.size())});
    return true;
  }));
  return ids;
}

Result<bool> State::nobody_under(const LeaseId& blocker) {
  if (!single_writer_) return false;
  bool any = false;
  const kv::Txn::Visit see = [&](const kv::Row&) {
    any = true;
    return false;
  };
  LK_CHECK(txn_.scan(seconds_of('b', blocker, {}), see, kv::Read::kPeek));
  return !any;
}

Result<std::vector<LeaseId>> State::children_of(const LeaseId& parent, std::size_t most) {
  return second_ids('c', parent, most, {});
}

Result<std::vector<LeaseId>> State::filed_under(const LeaseId& blocker, std::size_t most,
                                                const LeaseId& after) {
  return second_ids('b', blocker, most, after);
}

Result<bool> State::any_waiters() {
  if (any_waiters_) return *any_waiters_;
  bool any = false;
  const kv::Range range = all_waiter_claims();
  LK_CHECK(txn_.scan(
      range,
      [&](const kv::Row&) {
        any = true;
        return false;
      },
      kv::Read::kPeek));
  // An empty queue is one guard instead of one for each ancestor of each path.
  if (!any && !single_writer_) LK_CHECK(txn_.scan(range, [](const kv::Row&) { return false; }));
  any_waiters_ = any;
  return any;
}

Result<void> State::compare(const key::Resource& resource, const Look& look, const Claimed& held,
                            const std::function<void(Hit)>& visit) {
  if (key::surely_apart(resource, held.resource)) return {};
  const bool pattern = resource.is_glob() || held.resource.is_glob();
  if (pattern && look.limited && ++compared_ > context_.limits.comparisons) {
    return fail(Code::kLimitExceeded,
                "this request has to compare patterns more than " +
                    std::to_string(context_.limits.comparisons) + " times, " + resource.text() +
                    " among them",
                "ask for fewer patterns at once, or for the folder that they lie in");
  }
  LK_ASSIGN(std::optional<std::string> common, key::overlap(resource, held.resource));
  if (common) visit(Hit{held.id, look.mode, held.resource, std::move(*common), held.created});
  return {};
}

Result<void> State::scan_claims(kv::Read read, const SeeClaim& see) {
  std::vector<Claimed>* keep = nullptr;
  if (!crowded_.empty()) {
    const auto known = crowded_.find({range_.from, range_.to, read});
    if (known != crowded_.end()) keep = &known->second;
  }
  if (keep != nullptr && !keep->empty()) {
    for (const Claimed& held : *keep) LK_CHECK(see(held));
    return {};
  }
  Result<void> outcome;
  std::size_t met = 0;
  const auto look_at = [&](const kv::Row& row) {
    auto resource = decode_claim(row.value);
    if (!resource) {
      outcome = fail(std::move(resource.error()));
      return false;
    }
    const Claimed held{id_in_claim_key(row.key), *resource, row.created};
    ++met;
    if (keep != nullptr) keep->push_back(held);
    outcome = see(held);
    return outcome.has_value();
  };
  LK_CHECK(txn_.scan(range_, std::ref(look_at), read));
  if (!outcome && keep != nullptr) keep->clear();
  // Most requests read a place once. Only if one comes again, the rows are kept.
  if (met >= kCrowd && keep == nullptr) crowded_.try_emplace({range_.from, range_.to, read});
  return outcome;
}

Result<void> State::overlapping(const key::Resource& resource, Look look,
                                const std::function<void(Hit)>& visit) {
  std::size_t seen = 0;
  // One function and one range for all probes: most find nothing and should cost little.
  const auto look_at = [&](const Claimed& held) -> Result<void> {
    if (++seen > context_.limits.rows_per_glob && look.limited) {
      return fail(Code::kLimitExceeded,
                  "more than " + std::to_string(context_.limits.rows_per_glob) +
                      " locks lie below the literal part of " + resource.text(),
                  "ask for a narrower folder or pattern");
    }
    return compare(resource, look, held, visit);
  };
  const SeeClaim see = std::ref(look_at);
  const auto scan = [&](std::string_view at, bool below) -> Result<void> {
    set_claim_range(range_, look.holding, look.mode, at, below);
    if (look.only_of != nullptr) {
      // Within one place the claims are ordered by id, which begins with the owner's tag.
      range_.from += owner_tag(*look.only_of);
      range_.to = kv::end_of_prefix(range_.from);
    }
    seen = 0;
    return scan_claims(look.read, see);
  };
  const key::Place& place = place_of(resource);
  const std::string_view whole = place.space_and_segments;
  // A letter, the place, its end mark and an owner's tag: no probe needs more.
  range_.from.reserve(whole.size() + 10);
  range_.to.reserve(whole.size() + 10);
  for (const std::size_t end : place.ancestor_ends) {
    LK_CHECK(scan(whole.substr(0, end), false));
  }
  return scan(whole, look.only_of == nullptr);
}

Result<Activity> State::activity(const Owner& owner) {
  LK_ASSIGN(const std::optional<kv::Row> row, txn_.get(activity_key(owner)));
  if (!row) return Activity{};
  LK_ASSIGN(auto read, decode_activity(row->value));
  to_own_clock(read.second, *row, context_);
  const auto& [whose, known] = read;
  // Calls of an earlier boot are over, and what their client was doing then says nothing.
  if (whose != owner || known.epoch != context_.epoch.id) {
    Activity fresh;
    if (whose == owner) fresh.turn_wall_ms = known.turn_wall_ms;
    return fresh;
  }
  return known;
}

Result<void> State::put_activity(const Owner& owner, Activity activity) {
  const std::string key = activity_key(owner);
  LK_ASSIGN(const std::optional<kv::Row> known, txn_.get(key));
  activity.epoch = context_.epoch.id;
  activity.noted_mono_ms = context_.now.mono_ms;
  activity.clock = stamp_of(context_).clock;
  LK_CHECK(txn_.put(key, encode_activity(owner, activity)));
  if (known) return {};
  return file_due(context_.now.mono_ms + context_.limits.remember_ms, Due::kActivity,
                  key.substr(1));
}

Result<void> State::append(Event event) {
  event.at_wall_ms = context_.now.wall_ms;
  return txn_.append(kEventPrefix, encode_event(event));
}

std::string State::due_value(bool final) const {
  std::string value;
  const Stamp now = stamp_of(context_);
  if (now.clock != 0) append_be64(value, static_cast<std::uint64_t>(now.mono_ms));
  return final ? value + "1" : value;
}

bool State::is_final(const DueRow& due, std::string_view value) {
  return value.size() > (due.clock == 0 ? 0 : sizeof(std::uint64_t));
}

Result<void> State::file_due(std::int64_t mono_ms, Due what, std::string_view subject, bool final) {
  const std::uint64_t clock = stamp_of(context_).clock;
  return txn_.put(due_key(context_.epoch.id, mono_ms, what, subject, clock), due_value(final));
}

}  // namespace lockkeeper::core
