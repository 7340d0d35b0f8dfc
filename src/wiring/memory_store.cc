#include "wiring/memory_store.h"

#include "kv/memory/memory_store.h"

namespace lockkeeper::wiring {
namespace {

class SharedStore final : public kv::Store {
 public:
  explicit SharedStore(std::shared_ptr<kv::Store> store) : store_(std::move(store)) {}
  Result<std::unique_ptr<kv::Txn>> begin(kv::Access access) override {
    return store_->begin(access);
  }
  kv::Budget budget() const override { return store_->budget(); }
  kv::Epoch epoch() const override { return store_->epoch(); }

 private:
  const std::shared_ptr<kv::Store> store_;
};

}  // namespace

std::shared_ptr<kv::Store> make_memory_store() {
  return std::make_shared<kv::MemoryStore>();
}

std::unique_ptr<kv::Store> share_store(std::shared_ptr<kv::Store> store) {
  return std::make_unique<SharedStore>(std::move(store));
}

}  // namespace lockkeeper::wiring
