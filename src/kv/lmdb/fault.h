// Makes calls safe that may touch a damaged or shortened mapping: a memory fault becomes an error
// of the call and does not kill the process (I10, F16).
#pragma once

#include <setjmp.h>

namespace lockkeeper::kv::internal {

// LMDB's codes are other negative numbers, or errno values.
inline constexpr int kFaulted = -1;

// Where the calling thread lands after a fault. Trivial, because a signal handler reads it.
struct Landing {
  sigjmp_buf place;
  bool active;
};
Landing& landing();

// For SIGSEGV and SIGBUS, once for the process, unless it is forbidden (options.h). A fault
// elsewhere goes to the former handler.
void install_fault_handler();

// Called where LMDB finds itself in an impossible state: lands if it can.
void land();

// Lets the thread take the next fault too, whatever mask the handler ran under.
void after_landing();

// Calls `call` and returns its code, or kFaulted if it ran into a memory fault or land(). `call`
// and what it calls must hold nothing that needs a destructor. REQUIRES: install_fault_handler().
template <class Call>
int guarded(Call&& call) {
  Landing& here = landing();
  if (sigsetjmp(here.place, 0) != 0) {
    here.active = false;
    after_landing();
    return kFaulted;
  }
  here.active = true;
  const int code = call();
  here.active = false;
  return code;
}

}  // namespace lockkeeper::kv::internal
