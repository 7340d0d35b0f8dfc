// Finds watched lock resources that have changed. Sleeps while nobody watches. Checks the end of
// the history several times a second; reads the watched resources when it has moved, or once a
// second, because a lease that expires, is renewed or loses its process makes no history entry.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "service/locks.h"

namespace lockkeeper::mcp::locks {

// What a resource shows. Ends of leases are kept apart from the rest: a hub tells how much time is
// left, so they come out a little differently each time.
struct Shown {
  std::string digest;              // of all but the ends
  std::vector<std::int64_t> ends;  // wall clock, ms
  static Shown in(Json json);
  bool is_same(const Shown& other) const;
};

class LockWatch {
 public:
  // `watched` returns what is watched now; `changed` notifies the watchers. Both are called from
  // the watching thread. All must outlive it.
  LockWatch(service::Locks locks, std::function<std::set<std::string>()> watched,
            std::function<void(const std::string& uri)> changed);
  ~LockWatch();
  LockWatch(const LockWatch&) = delete;
  LockWatch& operator=(const LockWatch&) = delete;

  // Reports changes of this resource from now on; for Catalogue::watch.
  void expect(const std::string& uri);

 private:
  // One watched resource.
  struct Watched {
    std::optional<Shown> content;  // nullopt: unreadable
    std::int64_t expected_ms = 0;  // its watcher may not be registered yet
  };

  void loop();
  bool any_watched(std::set<std::string>& uris);
  void look(const std::set<std::string>& uris);
  std::optional<Shown> content_of(const std::string& uri);

  service::Locks locks_;
  const std::function<std::set<std::string>()> watched_;
  const std::function<void(const std::string& uri)> changed_;
  std::mutex mutex_;  // protects all below
  std::condition_variable woken_;
  std::map<std::string, Watched> known_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace lockkeeper::mcp::locks
