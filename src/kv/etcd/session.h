// The leases of one open store. One is kept alive by a thread: what is put with it lives while the
// store is open, and at least a minute longer. Others end by themselves and are shared by rows with
// lifetimes of about the same length.
//
// Never early: a shared lease is given to a row only while it still lives for the row's whole
// lifetime, counted from the latest moment at which the row can be put. Late by at most a quarter
// of the lifetime and a minute; each change of etcd's leader may add the whole length again.
//
// Thread safety: any thread may call.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "kv/etcd/client.h"
#include "kv/types.h"

namespace lockkeeper::kv::etcd {

class Session {
 public:
  // `lost` is called when the kept lease was found to have ended: rows put with it may be gone.
  // `kept_ms`: EtcdOptions::kept_ms. `client` must outlive this.
  Session(Client& client, std::shared_ptr<std::atomic<std::int64_t>> kept_ms,
          std::function<void()> lost);
  ~Session();    // as close()
  void close();  // `lost` is not called any more. The leases stay and end by themselves
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // For a row with this lifetime, which is not kUntilErased. Grants one if there is none.
  Result<std::uint64_t> lease_for(Lifetime lifetime);
  // A server does not know a lease that it was given: forgets the shared ones, and asks about the
  // kept one.
  void doubt_leases();

 private:
  using Clock = std::chrono::steady_clock;
  struct Shared {
    std::uint64_t id = 0;
    Clock::time_point ends;  // or later
  };

  Result<std::uint64_t> kept_lease();
  Result<std::uint64_t> shared_lease(Lifetime lifetime);
  void keep_alive();
  bool ask(std::uint64_t id);  // false: ask again soon
  void note_kept(std::int64_t sent_ms);

  Client& client_;
  const std::shared_ptr<std::atomic<std::int64_t>> kept_ms_;
  const std::function<void()> lost_;
  std::mutex granting_;  // taken before mutex_
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t kept_ = 0;  // 0: none yet
  std::map<Lifetime, Shared> shared_;
  bool stopping_ = false;
  std::thread keeper_;
};

}  // namespace lockkeeper::kv::etcd
