// Counts in a file that several processes share: each addition is made under a lock.
//
//   counter FILE TIMES
//
// Start several at once: none of the additions is lost, whoever is killed in between.
#include <lockkeeper/lockkeeper.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {

int complain(const lockkeeper::Error& error) {
  std::fprintf(stderr, "counter: %s\n", error.message.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  return 1;
}

void add_one(const std::string& path) {
  long number = 0;
  std::ifstream(path) >> number;
  const std::string draft = path + ".new";
  std::ofstream(draft) << number + 1 << "\n";
  std::rename(draft.c_str(), path.c_str());  // whole or not at all
}

}  // namespace

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  if (argc != 3) {
    std::fprintf(stderr, "usage: counter FILE TIMES\n");
    return 64;
  }
  const std::string path = argv[1];
  const auto realm = lockkeeper::Realm::open({.agent = "counter"});
  if (!realm) return complain(realm.error());
  for (int i = 0; i < std::atoi(argv[2]); ++i) {
    auto lease = realm->acquire({path}, {.wait = 1min, .ttl = 30s, .reason = "counting"});
    if (!lease) return complain(lease.error());
    // Right before what the lock guards: is it still ours?
    if (auto current = lease->check(); !current) return complain(current.error());
    add_one(path);
    if (auto released = lease->release(); !released) return complain(released.error());
  }
  std::printf("%s: added %s\n", path.c_str(), argv[2]);
  return 0;
}
