#include "embed/quiet_thread.h"

#include <signal.h>

#include <system_error>

namespace lockkeeper::embed {

std::thread quiet_thread(const std::function<void()>& body) {
  sigset_t all, before;
  ::sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
    ::sigdelset(&all, fault);
  }
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  try {
    thread = std::thread(body);
  } catch (const std::system_error&) {
    thread = {};
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace lockkeeper::embed
