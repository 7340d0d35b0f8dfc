// A second checker, which shares nothing with the first but the format: every order of the calls is
// tried, against a specification of its own that knows only files and one folder, requests that do
// not wait, leases without end. For up to eight calls.
#pragma once

#include "linear/history.h"

namespace lockkeeper::linear::brute {

// The resources it knows.
inline constexpr const char* kResources[] = {"src/", "src/a", "src/b"};

// What the next call is told, sequentially.
class Table {
 public:
  Told answer(const Call& call, bool apply);

 private:
  struct Lease {
    std::string name;
    std::string owner;
    std::string resource;
    core::Mode mode;
    std::uint64_t fence;
  };
  Told acquire(const Call& call, bool apply);
  Told release(const Call& call, bool apply);
  Told check(const Call& call) const;
  std::set<std::string> in_the_way(const Call& call) const;

  std::vector<Lease> leases_;
  std::set<std::string> released_;
  std::uint64_t fence_ = 0;
};

bool is_linearizable(const History& history);

}  // namespace lockkeeper::linear::brute
