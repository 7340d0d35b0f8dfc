#include "core/foreign.h"

#include <algorithm>
#include <map>

#include "base/bytes.h"
#include "base/quote.h"
#include "core/message.h"

namespace lockkeeper::core {
namespace {

std::string known_prefix(std::string_view layout) {
  return "k" + std::string(layout) + '\0';
}

std::string stamps_key(std::string_view layout) {
  return "y" + std::string(layout);
}

std::string known_key(std::string_view layout, std::string_view artefact) {
  return known_prefix(layout) + short_name(artefact);
}

std::string encode_known(const KnownForeign& known) {
  RecordWriter out;
  out.text(known.layout);
  out.text(known.artefact);
  out.text(known.lease.bytes);
  out.number(known.stamp);
  return out.take();
}

Result<std::vector<KnownForeign>> scan_known(State& state, const std::string& prefix) {
  std::vector<KnownForeign> all;
  Result<void> readable;
  LK_CHECK(state.txn().scan(
      kv::prefix_range(prefix),
      [&](const kv::Row& row) {
        auto known = decode_known_foreign(row.value);
        if (!known) {
          readable = fail(std::move(known.error()));
          return false;
        }
        all.push_back(std::move(*known));
        return true;
      },
      kv::Read::kPeek));
  LK_CHECK(readable);
  return all;
}

// An id that no lease has: one commit may place several foreign locks.
Result<LeaseId> fresh_id(State& state, const ForeignLock& lock) {
  std::uint64_t ticket = hash64(lock.layout, lock.artefact) ^ state.context().ticket;
  for (;; ++ticket) {
    const LeaseId id = make_id(lock.owner, ticket);
    LK_ASSIGN(const Lease* taken, state.lease(id));
    if (taken == nullptr) return id;
  }
}

std::string cut(std::string text, std::size_t most) {
  if (text.size() > most) text.resize(most);
  return text;
}

Lease lease_for(const ForeignLock& lock, const Context& context) {
  Lease lease;
  lease.foreign = true;
  lease.terms.layout = lock.layout;
  lease.terms.artefact = lock.artefact + '\0' + lock.path;
  lease.owner = lock.owner;
  lease.claims = lock.claims;
  for (std::size_t i = 0; i < lease.claims.size(); ++i) {
    lease.claims[i].slot = static_cast<std::uint16_t>(i);
  }
  lease.terms.reason = cut(lock.reason, context.limits.text_bytes);
  lease.terms.task = cut(lock.task, context.limits.text_bytes);
  lease.acquired_wall_ms = lock.since_wall_ms;
  lease.epoch = context.epoch.id;
  lease.fence_offset = context.epoch.fence_offset;
  // Its own end is a wall-clock time; each scan compares again.
  end_at_wall(lease, lock.expires_wall_ms, context);
  return lease;
}

Result<void> tell_holder(State& state, const Lease& foreign, const Conflict& conflict) {
  Event event = Event::of(conflict.holder, {"foreign_conflict", layout_kind(foreign.terms.layout),
                                            foreign_path(foreign), foreign.owner});
  event.resources = {conflict.held.resource.text()};
  LK_CHECK(state.append(std::move(event)));
  Message message;
  message.from.agent = "lockkeeper";
  message.to = conflict.holder.owner;
  message.type = "alert";
  message.text = "foreign_conflict: " + shown(foreign.owner.agent) + " took " +
                 conflict.requested.resource.text() + " (" + foreign_path(foreign) +
                 ") although you hold " + conflict.held.resource.text() +
                 "; agree with it before you go on";
  // Another tool's names must not keep us from seeing its lock.
  message.text = cut(std::move(message.text), state.context().limits.text_bytes);
  LK_CHECK(post_message(state, std::move(message)));
  return {};
}

}  // namespace

Result<KnownForeign> decode_known_foreign(std::string_view value) {
  RecordReader in(value);
  KnownForeign known;
  known.layout = in.text();
  known.artefact = in.text();
  known.lease = LeaseId{in.text()};
  known.stamp = in.number();
  if (!in.at_end()) {
    return fail(Code::kStoreCorrupt, "a foreign lock in the store cannot be read",
                "run: lockkeeper doctor");
  }
  return known;
}

std::string known_foreign_key(std::string_view layout, std::string_view artefact) {
  return known_key(layout, artefact);
}

std::string foreign_artefact(const Lease& lease) {
  return lease.terms.artefact.substr(0, lease.terms.artefact.find('\0'));
}

std::string foreign_path(const Lease& lease) {
  const std::size_t end = lease.terms.artefact.find('\0');
  return end == std::string::npos ? lease.terms.artefact : lease.terms.artefact.substr(end + 1);
}

std::string layout_kind(std::string_view layout) {
  return std::string(layout.substr(0, layout.find('-')));
}

Result<std::optional<KnownForeign>> known_foreign(State& state, std::string_view layout,
                                                  std::string_view artefact) {
  LK_ASSIGN(const std::optional<kv::Row> row, state.txn().get(known_key(layout, artefact)));
  if (!row) return std::nullopt;
  LK_ASSIGN(KnownForeign known, decode_known_foreign(row->value));
  return known;
}

// Two exact ranges for one source: thousands of names may begin as this one does.
Result<std::vector<KnownForeign>> all_known_foreign(State& state, std::string_view layout,
                                                    std::string_view source) {
  const std::string begin =
      source.empty() ? "" : std::string(short_prefix(std::string(source) + "#"));
  LK_ASSIGN(std::vector<KnownForeign> all, scan_known(state, known_prefix(layout) + begin));
  if (source.empty()) return all;
  LK_ASSIGN(const std::optional<kv::Row> row,
            state.txn().get(known_foreign_key(layout, source), kv::Read::kPeek));
  if (row) {
    LK_ASSIGN(KnownForeign known, decode_known_foreign(row->value));
    all.push_back(std::move(known));
  }
  return all;
}

Result<std::vector<Conflict>> place_foreign(Table& table, const ForeignLock& lock) {
  State& state = table.state();
  LK_ASSIGN(const std::optional<KnownForeign> known,
            known_foreign(state, lock.layout, lock.artefact));
  if (known) {
    LK_ASSIGN(const Lease* held, state.lease(known->lease));
    if (held != nullptr) LK_CHECK(state.remove_lease(Lease(*held)));
  }
  Lease lease = lease_for(lock, state.context());
  LK_ASSIGN(lease.id, fresh_id(state, lock));
  LK_ASSIGN(Findings findings, find_conflicts(state, lease, {.look = false}));
  LK_CHECK(state.add_lease(lease));
  LK_CHECK(state.txn().put(known_key(lock.layout, lock.artefact),
                           encode_known({lock.layout, lock.artefact, lease.id, lock.stamp})));
  const char* const what = known ? "foreign_changed" : "foreign_seen";
  LK_CHECK(state.append(Event::of(lease, {what, layout_kind(lock.layout), lock.path, {}})));
  std::vector<Conflict> ours;
  for (Conflict& conflict : findings.conflicts) {
    if (conflict.holder.foreign) continue;
    LK_ASSIGN(const Condition now, condition(state, conflict.holder));
    if (now.over) continue;
    LK_CHECK(tell_holder(state, lease, conflict));
    ours.push_back(std::move(conflict));
  }
  // Waiters for what it held before may fit now, or wait for its new lease.
  if (known) table.settler().followers_of(known->lease);
  LK_CHECK(table.settler().settle());
  return ours;
}

Result<void> end_foreign(Table& table, const KnownForeign& known, const EndedBy& how) {
  State& state = table.state();
  // Another lease may stand for the artefact by now.
  LK_ASSIGN(const std::optional<KnownForeign> now,
            known_foreign(state, known.layout, known.artefact));
  if (now && now->lease == known.lease) {
    LK_CHECK(state.txn().erase(known_key(known.layout, known.artefact)));
  }
  LK_ASSIGN(const Lease* held, state.lease(known.lease));
  if (held == nullptr) return {};  // it ended by time before
  LK_CHECK(table.settler().end(*held, how, false));
  return table.settler().settle();
}

Conflict conflict_with(const ForeignLock& lock, const Claim& requested, const Claim& held,
                       std::string witness) {
  Conflict conflict;
  conflict.requested = requested;
  conflict.held = held;
  conflict.witness = std::move(witness);
  conflict.holder.foreign = true;
  conflict.holder.terms.layout = lock.layout;
  conflict.holder.terms.artefact = lock.artefact + '\0' + lock.path;
  conflict.holder.owner = lock.owner;
  conflict.holder.claims = lock.claims;
  conflict.holder.terms.reason = lock.reason;
  conflict.holder.terms.task = lock.task;
  conflict.holder.acquired_wall_ms = lock.since_wall_ms;
  conflict.holder.expires_wall_ms = lock.expires_wall_ms;
  return conflict;
}

Result<void> withdraw(Table& table, const LeaseId& id, const ForeignLock& first) {
  State& state = table.state();
  LK_ASSIGN(const Lease* found, state.lease(id));
  if (found == nullptr) return {};
  Lease lease = *found;
  if (!lease.terms.request_id.empty()) {
    // Nobody was told of the grant, so the request may be asked again: like a refusal, it is
    // forgotten.
    const std::string key = request_key(lease.owner, lease.terms.request_id);
    LK_ASSIGN(const std::optional<kv::Row> row, state.txn().get(key));
    if (row) {
      LK_ASSIGN(const RememberedRequest known, decode_request(row->value));
      if (known.lease == id) LK_CHECK(state.txn().erase(key));
    }
    lease.terms.request_id.clear();
  }
  LK_CHECK(
      table.settler().end(lease, {"withdrawn", "foreign_first", first.path, first.owner}, false));
  return table.settler().settle();
}

Result<std::string> layout_stamps(State& state, std::string_view layout) {
  LK_ASSIGN(const std::optional<kv::Row> row, state.txn().get(stamps_key(layout), kv::Read::kPeek));
  return row ? std::string(row->value) : std::string();
}

Result<void> put_layout_stamps(State& state, std::string_view layout, std::string_view stamps) {
  const std::string key = stamps_key(layout);
  return stamps.empty() ? state.txn().erase(key) : state.txn().put(key, std::string(stamps));
}

}  // namespace lockkeeper::core
