// Who is there, where several hubs share one store (rule 7).
//
// A session (of a relay, or of a hub for its own processes) has a row. It is put with kWhileOpen,
// so it goes some time after the hub that keeps it has gone. A client that comes back to another
// hub moves its session there: that hub puts the row again, and it lives with that hub's Store.
// Processes name their session (Attachment::remote). Whose session has no row is dead, for
// everybody; where the row is, the hub that hears the process knows more than the others.
//
// A session that has gone never comes back: somebody may have seen it as gone. Its client begins
// another.
#pragma once

#include "core/state.h"

namespace lockkeeper::core {

// Numbers are drawn at random; none is Attachment::kNoSession, and each fits into 63 bits.
// invalid_input: it is there already.
Result<void> begin_session(State& state, std::uint64_t session);
// From now on its row lives with the Store of this transaction. lost: it has gone.
Result<void> take_over_session(State& state, std::uint64_t session);
// Its processes are dead. It need not be there.
Result<void> end_session(State& state, std::uint64_t session);

// Is its row there? That it is not is guarded, that it is may change at any time.
Result<bool> is_session_there(State& state, std::uint64_t session);

}  // namespace lockkeeper::core
