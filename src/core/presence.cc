#include "core/presence.h"

#include <string>

#include "base/assert.h"
#include "base/bytes.h"
#include "core/rows.h"

namespace lockkeeper::core {
namespace {

// A hub is known by its clock.
std::string this_hub(const State& state) {
  std::string hub;
  append_be64(hub, stamp_of(state.context()).clock);
  return hub;
}

Result<void> put_session(State& state, std::uint64_t session) {
  LOCKKEEPER_ASSERT(session != Attachment::kNoSession && session <= INT64_MAX);
  return state.txn().put(session_key(session), this_hub(state), kv::kWhileOpen);
}

}  // namespace

Result<void> begin_session(State& state, std::uint64_t session) {
  LK_ASSIGN(const std::optional<kv::Row> known, state.txn().get(session_key(session)));
  if (known)
    return fail(Code::kInvalidInput, "the session is there already", "draw another number");
  return put_session(state, session);
}

Result<void> take_over_session(State& state, std::uint64_t session) {
  LK_ASSIGN(const std::optional<kv::Row> known, state.txn().get(session_key(session)));
  if (!known) {
    return fail(Code::kLost, "the session has ended, and all that its processes kept",
                "begin another one");
  }
  return put_session(state, session);
}

Result<void> end_session(State& state, std::uint64_t session) {
  LK_ASSIGN(const Keeper keeper, keeper_of(state, session, kv::Read::kGuarded));
  if (keeper != Keeper::kThisHub) return {};
  return state.txn().erase(session_key(session));
}

Result<SessionSeen> see_session(State& state, std::uint64_t session) {
  LK_ASSIGN(const std::optional<kv::Row> row, state.txn().get(session_key(session)));
  return SessionSeen{session, row ? row->modified : 0};
}

Result<void> check_still_kept(State& state, const SessionSeen& seen) {
  if (seen.version == 0) return {};
  LK_ASSIGN(const SessionSeen now, see_session(state, seen.session));
  if (now.version == seen.version) return {};
  return fail(Code::kStoreUnavailable, "another hub keeps the session of this relay by now",
              "ask that hub");
}

Result<Keeper> keeper_of(State& state, std::uint64_t session, kv::Read read) {
  const std::string key = session_key(session);
  LK_ASSIGN(std::optional<kv::Row> row, state.txn().get(key, read));
  if (!row && read == kv::Read::kPeek) {
    LK_ASSIGN(row, state.txn().get(key));
  }
  if (!row) return Keeper::kNobody;
  return row->value == this_hub(state) ? Keeper::kThisHub : Keeper::kAnother;
}

}  // namespace lockkeeper::core
