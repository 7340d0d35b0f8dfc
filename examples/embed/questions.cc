// Asks about locks without taking one:
//
//   questions FILE            who is in the way of FILE?
//   questions FILE REASON     the same, and breaks the locks that are in the way
#include <lockkeeper/lockkeeper.h>

#include <cstdio>
#include <string>

namespace {

int complain(const lockkeeper::Error& error) {
  std::fprintf(stderr, "questions: %s\n", error.message.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: questions FILE [REASON]\n");
    return 64;
  }
  const std::string path = argv[1];
  const auto realm = lockkeeper::Realm::open({.agent = "questions"});
  if (!realm) return complain(realm.error());

  const auto checked = realm->check({path});
  if (!checked) return complain(checked.error());
  std::printf("%s is %s\n", path.c_str(), checked->free ? "free" : "held");
  for (const lockkeeper::Conflict& conflict : checked->conflicts) {
    std::printf("  %s holds %s: %s\n", conflict.agent.c_str(), conflict.held.c_str(),
                conflict.reason.c_str());
    if (argc != 3 || conflict.waiting) continue;
    const auto broken = realm->break_lease(conflict.lease_id, argv[2]);
    if (!broken) return complain(broken.error());
  }

  const auto listing = realm->list({.overlapping = path});
  if (!listing) return complain(listing.error());
  std::printf("%zu leases, %zu waiters\n", listing->leases.size(), listing->waiters.size());
  return 0;
}
