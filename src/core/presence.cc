#include "core/presence.h"

#include <string>

#include "base/assert.h"
#include "core/rows.h"

namespace lockkeeper::core {
namespace {

Result<void> put_session(State& state, std::uint64_t session) {
  LOCKKEEPER_ASSERT(session != Attachment::kNoSession && session <= INT64_MAX);
  return state.txn().put(session_key(session), "", kv::kWhileOpen);
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
  return state.txn().erase(session_key(session));
}

Result<bool> is_session_there(State& state, std::uint64_t session) {
  const std::string key = session_key(session);
  LK_ASSIGN(const std::optional<kv::Row> seen, state.txn().get(key, kv::Read::kPeek));
  if (seen) return true;
  LK_ASSIGN(const std::optional<kv::Row> row, state.txn().get(key));
  return row.has_value();
}

}  // namespace lockkeeper::core
