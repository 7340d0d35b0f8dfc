// Who is there, where several hubs share one store (rule 7).
//
// A session (of a relay, or of a hub for its own clients) has a row, which names the hub that keeps
// it. It is put with kWhileOpen, so it goes some time after that hub has gone. A client that comes
// back to another hub moves its session there: that hub puts the row again, and it lives with that
// hub's Store. Processes name their session (Attachment::remote). Whose session has no row is dead,
// for everybody. Where the row is, only the hub that keeps it calls a process dead. Others may have
// heard nothing of the client for long because it talks to another hub.
//
// A session that has gone never comes back: somebody may have seen it as gone. Its client begins
// another.
#pragma once

#include "core/requests.h"
#include "core/state.h"

namespace lockkeeper::core {

// Numbers are drawn at random; none is Attachment::kNoSession, and each fits into 63 bits.
// invalid_input: it is there already.
Result<void> begin_session(State& state, std::uint64_t session);
// From now on this hub keeps it. lost: it has gone.
Result<void> take_over_session(State& state, std::uint64_t session);
// Its processes are dead. Nothing happens if it is not there, or if another hub keeps it by now.
Result<void> end_session(State& state, std::uint64_t session);

// Its row as it is now; of version 0: there is none.
Result<SessionSeen> see_session(State& state, std::uint64_t session);
// Has the hub that came by a request kept that session since, without a break? store_unavailable:
// no, its client has asked another hub. The answer holds until the commit.
Result<void> check_still_kept(State& state, const SessionSeen& seen);

enum class Keeper { kNobody, kThisHub, kAnother };
// Who keeps the session? kGuarded: the answer holds until the commit. kPeek: only that it is not
// there does.
Result<Keeper> keeper_of(State& state, std::uint64_t session, kv::Read read);

}  // namespace lockkeeper::core
