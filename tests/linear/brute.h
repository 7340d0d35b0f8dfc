// A second checker, which shares nothing with the first but the format: every order of the calls is
// tried, against a specification of its own that knows only files and one folder, requests that do
// not wait, leases without end, several processes that keep them, and request ids. For up to eight
// calls.
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
    std::size_t key;
    std::string name;  // empty: nobody was told
    std::string owner;
    std::string resource;
    core::Mode mode;
    std::uint64_t fence;  // 0: nobody was told; it lies between these two
    std::uint64_t above, below;
    std::set<std::string> holds;
    std::string request_id;
  };
  struct Request {
    std::size_t lease;
    std::string resource;
    core::Mode mode;
  };
  Told acquire(const Call& call, bool apply);
  Told repeat(const Call& call, const Request& known, bool apply);
  Told meet(const Call& call, Lease& lease, const char* word, bool apply);
  Told grant(const Call& call, bool apply);
  Told release(const Call& call, bool apply);
  Told check(const Call& call) const;
  std::set<std::string> in_the_way(const Call& call) const;
  bool is_known(const std::string& name) const;

  std::vector<Lease> leases_;
  std::map<std::string, Request> requests_;  // by owner and request id
  std::set<std::string> ended_;
  std::uint64_t fence_ = 0;
  std::size_t next_key_ = 1;
};

bool is_linearizable(const History& history);

}  // namespace lockkeeper::linear::brute
