#include "kv/lmdb/fault.h"

#include <atomic>
#include <csignal>

#include "kv/lmdb/options.h"

namespace lockkeeper::kv::internal {
namespace {

thread_local Landing t_landing;
struct sigaction g_old_segv;
struct sigaction g_old_bus;

enum class Handler { kNotYet, kInstalled, kForbidden };
std::atomic<Handler> g_handler = Handler::kNotYet;

void on_fault(int signal, siginfo_t*, void*) {
  land();
  // Not our fault: act as if we were not here. Returning repeats the access with the old action.
  ::sigaction(signal, signal == SIGSEGV ? &g_old_segv : &g_old_bus, nullptr);
}

bool install() {
  Handler before = Handler::kNotYet;
  if (!g_handler.compare_exchange_strong(before, Handler::kInstalled)) return false;
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  // NODEFER: the handler is left by a jump, which does not restore the mask. A sanitizer's wrapper
  // may still mask the signal, so after_landing() unmasks it.
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  ::sigaction(SIGSEGV, &action, &g_old_segv);
  ::sigaction(SIGBUS, &action, &g_old_bus);
  return true;
}

}  // namespace

Landing& landing() {
  return t_landing;
}

void land() {
  if (t_landing.active) siglongjmp(t_landing.place, 1);
}

void after_landing() {
  sigset_t faults;
  ::sigemptyset(&faults);
  ::sigaddset(&faults, SIGSEGV);
  ::sigaddset(&faults, SIGBUS);
  ::pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
}

void install_fault_handler() {
  static const bool kInstalled = install();
  (void)kInstalled;
}

}  // namespace lockkeeper::kv::internal

namespace lockkeeper::kv {

bool forbid_fault_handler() {
  using internal::Handler;
  Handler before = Handler::kNotYet;
  internal::g_handler.compare_exchange_strong(before, Handler::kForbidden);
  return before != Handler::kInstalled;
}

}  // namespace lockkeeper::kv
