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

#include "service/locks.h"

namespace lockkeeper::mcp::locks {

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
    std::optional<std::string> content;  // a digest; nullopt: unreadable
    std::int64_t expected_ms = 0;        // its watcher may not be registered yet
  };

  void loop();
  bool any_watched(std::set<std::string>& uris);
  void look(const std::set<std::string>& uris);
  std::optional<std::string> content_of(const std::string& uri);

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
