// A store on etcd that one hub at a time serves. Who lives and who waits is known to the hub that
// they talk to, and to no other: two hubs would end each other's leases.
//
// The hub has a row in the store, which goes a minute after the hub at the earliest. Every commit
// is guarded by it. So a hub that was cut off for so long, and whose place another one has taken,
// changes nothing any more.
//
// Thread safety: as kv::Store.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.h"
#include "kv/etcd/etcd_store.h"

namespace lockkeeper::wiring {

struct SoleHub {
  std::uint64_t id = 0;     // no other hub has it that could run at the same time
  std::string machine;      // for people
  std::string shown_store;  // for people
  // When this hub last knew that the store is its own, on this machine's clock. May be null.
  std::shared_ptr<std::atomic<std::int64_t>> contact_ms;
};

class SoleStore final : public kv::Store {
 public:
  // store_busy: another hub serves it. A former life of this hub does not count.
  static Result<std::unique_ptr<kv::Store>> open(kv::EtcdOptions options, SoleHub hub);
  ~SoleStore() override;  // the next hub need not wait
  SoleStore(const SoleStore&) = delete;
  SoleStore& operator=(const SoleStore&) = delete;

  // store_busy: another hub serves it by now.
  Result<std::unique_ptr<kv::Txn>> begin(kv::Access access) override;
  kv::Budget budget() const override;
  kv::Epoch epoch() const override { return store_->epoch(); }

 private:
  SoleStore(SoleHub hub, std::shared_ptr<std::atomic<bool>> doubt)
      : hub_(std::move(hub)), doubt_(std::move(doubt)) {}
  // The version of its row, which was there less than a second ago.
  Result<kv::Version> keep();
  Result<void> take();
  void leave();

  const SoleHub hub_;
  const std::shared_ptr<std::atomic<bool>> doubt_;  // the row may be gone
  std::unique_ptr<kv::EtcdStore> store_;
  std::mutex mutex_;         // protects all below
  kv::Version version_ = 0;  // of its row; 0: never put
  std::int64_t looked_ms_ = 0;
  std::optional<Error> failed_;  // when it looked last
};

}  // namespace lockkeeper::wiring
