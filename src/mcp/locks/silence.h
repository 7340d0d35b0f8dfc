// Notices by itself that the hub has not answered for half a minute: what is held through this
// server counts as lost from then on, and the hub gives it to others half a minute later. Nobody
// can be asked meanwhile, so what is still there afterwards is given back, and its owner is told.
//
// Without a hub it does nothing.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "mcp/locks/visitors.h"
#include "service/locks.h"

namespace lockkeeper::mcp::locks {

class Silence {
 public:
  // `changed` is called when it begins, from a thread of its own. All must outlive it.
  Silence(service::Site& site, Visitors& visitors, std::function<void()> changed);
  ~Silence();
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

  // The hub is silent, and something was held when that began.
  bool is_on() const;
  // What this owner has lost by it, once.
  std::vector<core::LostLease> take_losses(const core::Owner& owner);

 private:
  void loop();
  // All that is bound to this server; false: the hub does not say.
  bool give_back();

  service::Site& site_;
  Visitors& visitors_;
  const std::function<void()> changed_;
  mutable std::mutex mutex_;  // protects all below
  std::condition_variable ended_;
  bool ending_ = false;
  bool on_ = false;
  std::vector<core::LostLease> losses_;
  std::thread thread_;
};

}  // namespace lockkeeper::mcp::locks
