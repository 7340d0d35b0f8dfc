// A program that embeds the library and holds a lock, for tests that kill and stop it.
//
//   embed_holder MODE RESOURCE TTL_MS [COUNT]
//
// It says "granted FENCE", then, by MODE:
//   hold    acts whenever the file act-N appears (N = 1, 2, …): "act N ok" if the lease is current,
//           else "act N refused CODE"; "told CAUSE" when the lease is lost
//   wait    as hold, but stands in the queue for the lock first
//   fork    starts a child that holds on to all it inherited; the child says "child lost" if the
//           lease is lost to it, and stays
//   exit    ends by exit() with the lease still there
//   leak    ends by exit() with lease and realm never destroyed
//   count   COUNT times: takes the lock anew, adds one to the number in the file `counter`
//   faults, no-faults
//           says whether faults are handled now, and whether disabling that succeeds; no-faults has
//           disabled it before it opened the realm
#include <lockkeeper/lockkeeper.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace {

using std::chrono::milliseconds;

void say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

int complain(const lockkeeper::Error& error) {
  say("failed " + std::string(lockkeeper::code_name(error.code)) + ": " + error.message);
  return 1;
}

[[noreturn]] void hold(const lockkeeper::Lease& lease) {
  for (int number = 1;;) {
    if (::access(("act-" + std::to_string(number)).c_str(), F_OK) == 0) {
      const auto current = lease.check();
      const std::string code =
          current ? "" : " " + std::string(lockkeeper::code_name(current.error().code));
      say("act " + std::to_string(number) + (current ? " ok" : " refused" + code));
      ++number;
    }
    std::this_thread::sleep_for(milliseconds(5));
  }
}

int fork_child(lockkeeper::Realm realm, lockkeeper::Lease lease) {
  if (::fork() == 0) {
    const bool lost = lease.lost() && !lease.is_current() && lease.loss() && !lease.release() &&
                      !realm.acquire({"other"});
    {
      const lockkeeper::Lease gone = std::move(lease);
    }
    {
      const lockkeeper::Realm gone = std::move(realm);
    }
    say(lost ? "child lost" : "child thinks that it holds it");
    for (;;) ::pause();
  }
  hold(lease);
}

int count(const lockkeeper::Realm& realm, const std::string& resource,
          const lockkeeper::AcquireOptions& options, int times) {
  for (int i = 0; i < times; ++i) {
    auto lease = realm.acquire({resource}, options);
    if (!lease) return complain(lease.error());
    int number = 0;
    std::ifstream("counter") >> number;
    std::this_thread::yield();
    std::ofstream("counter") << number + 1;
    if (auto released = lease->release(); !released) return complain(released.error());
  }
  return 0;
}

bool handles(int signal) {
  struct sigaction now{};
  ::sigaction(signal, nullptr, &now);
  return now.sa_handler != SIG_DFL;
}

int say_faults() {
  say(std::string("SIGSEGV ") + (handles(SIGSEGV) ? "handled" : "default"));
  say(std::string("SIGBUS ") + (handles(SIGBUS) ? "handled" : "default"));
  say(lockkeeper::disable_fault_handler() ? "disabled" : "too late");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 64;
  const std::string mode = argv[1];
  const std::string resource = argv[2];
  if (mode == "no-faults" && !lockkeeper::disable_fault_handler()) return 1;
  auto realm = lockkeeper::Realm::open({.agent = "holder"});
  if (!realm) return complain(realm.error());
  lockkeeper::AcquireOptions options;
  options.ttl = milliseconds(std::atol(argv[3]));
  options.reason = "a test";
  options.on_lost = [](const lockkeeper::Error& loss) { say("told " + loss.message); };
  if (mode == "wait" || mode == "count") options.wait = lockkeeper::kForever;
  if (mode == "count") return count(*realm, resource, options, std::atoi(argv[4]));

  auto acquired = realm->acquire({resource}, options);
  if (!acquired) return complain(acquired.error());
  say("granted " + std::to_string(acquired->fence()));
  if (mode == "faults" || mode == "no-faults") return say_faults();
  if (mode == "fork") return fork_child(std::move(*realm), *std::move(acquired));
  if (mode == "exit") {
    static const lockkeeper::Realm kept_realm = std::move(*realm);
    static const lockkeeper::Lease kept = *std::move(acquired);
    std::exit(0);
  }
  if (mode == "leak") {
    static const auto* const kept_realm = new lockkeeper::Realm(std::move(*realm));
    static const auto* const kept = new lockkeeper::Lease(*std::move(acquired));
    if (kept_realm == nullptr || kept->lost()) return 1;
    std::exit(0);
  }
  hold(*acquired);
}
