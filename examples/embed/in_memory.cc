// How a program that uses the library tests itself: the real lock table, in memory, under a clock
// that the test moves. No files, no other processes, no sleeping.
#include <lockkeeper/lockkeeper.h>
#include <lockkeeper/memory.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

using namespace std::chrono_literals;

// The code under test: does its steps while it holds the lock, and stops when the lock is lost.
template <class Step>
int work(const lockkeeper::Realm& realm, int steps, const Step& step) {
  auto lease = realm.acquire({"index/"}, {.ttl = 10min, .reason = "indexing"});
  if (!lease) return 0;
  int done = 0;
  while (done < steps && !lease->lost()) {
    step();
    ++done;
  }
  return done;
}

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(1);
}

}  // namespace

int main() {
  lockkeeper::ManualClock clock;
  const lockkeeper::MemoryRealm memory(clock);
  auto mine = memory.open({.agent = "indexer"});
  auto other = memory.open({.agent = "other"});

  // Held: it does not start.
  auto lease = other->acquire({"index/a.db"});
  expect(work(*mine, 3, [] {}) == 0, "it waits for its turn");
  expect(static_cast<bool>(lease->release()), "the other one releases its lock");

  // Time passes in small steps: the lease renews itself.
  expect(work(*mine, 3, [&] { clock.advance(5min); }) == 3, "it ends its work");

  // As if the process had been stopped for an hour in its first step: the lease is lost.
  expect(work(*mine, 3, [&] { clock.advance(1h); }) == 1, "it stops when the lock is lost");
  expect(static_cast<bool>(other->acquire({"index/a.db"})), "others go on");
  std::printf("ok\n");
}
