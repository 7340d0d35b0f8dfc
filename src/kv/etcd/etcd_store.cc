#include "kv/etcd/etcd_store.h"

#include "kv/etcd/core.h"
#include "kv/etcd/etcd_txn.h"

namespace lockkeeper::kv {

EtcdStore::EtcdStore(std::shared_ptr<Core> core) : core_(std::move(core)) {}
EtcdStore::~EtcdStore() = default;

Result<std::unique_ptr<EtcdStore>> EtcdStore::open(EtcdOptions options) {
  LK_ASSIGN(auto seen, etcd::Seen::open(options.seen_file));
  LK_ASSIGN(auto client, etcd::Client::open(options.address, options.patience));
  auto core = std::make_shared<Core>(std::move(options), std::move(client), std::move(seen));
  LK_CHECK(core->read_epoch());
  core->follow();
  return std::unique_ptr<EtcdStore>(new EtcdStore(std::move(core)));
}

Result<Epoch> EtcdStore::repair(EtcdOptions options) {
  LK_ASSIGN(auto seen, etcd::Seen::open(options.seen_file, true));
  LK_ASSIGN(auto client, etcd::Client::open(options.address, options.patience));
  Core core(std::move(options), std::move(client), std::move(seen));
  LK_CHECK(core.begin_epoch());
  return core.epoch();
}

Result<std::unique_ptr<Txn>> EtcdStore::begin(Access access) {
  LK_CHECK(core_->check());
  return std::make_unique<EtcdTxn>(core_, access);
}

Epoch EtcdStore::epoch() const {
  return core_->epoch();
}

etcd::Client& EtcdStore::client() {
  return core_->client();
}

bool EtcdStore::wait_for_copy(std::chrono::steady_clock::time_point until) {
  return core_->wait_for_copy(until);
}

}  // namespace lockkeeper::kv
