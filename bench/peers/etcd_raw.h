// etcd without us: transactions of the shape of ours, and its own lock API, through the same client
// on the same connection that the hub has.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/setup.h"
#include "kv/etcd/client.h"
#include "kv/types.h"

namespace lockkeeper::bench {

// What one commit of the lock table asks of its store.
struct CommitShape {
  std::size_t guards = 0;
  struct Write {
    std::size_t key_bytes = 0;
    std::size_t value_bytes = 0;
    bool erases = false;
  };
  std::vector<Write> writes;
};
struct PairShape {
  CommitShape acquire;
  CommitShape release;
};

// As a hub on etcd takes and gives back one path at depth 4; found out on a store in memory.
PairShape shape_of_pair(const Setup& setup);

// Two transactions of that shape: as many compares, rows and bytes, and those that the store adds.
class RawPairs {
 public:
  RawPairs(const std::string& url, PairShape shape, int worker);
  void pair(int turn);

 private:
  std::string key(const std::string& kind, int turn, std::size_t index, std::size_t bytes) const;
  kv::Version commit(kv::etcd::TxnRequest request, std::size_t compares);

  const PairShape shape_;
  const std::string mine_;
  const std::unique_ptr<kv::etcd::Client> client_;
};

// The service v3lock of etcd's gRPC, with one lease.
class LockApi {
 public:
  explicit LockApi(const std::string& url);
  void pair(const std::string& path);

 private:
  std::shared_ptr<kv::etcd::Link> link_;
  std::unique_ptr<kv::etcd::Client> client_;
  std::uint64_t lease_ = 0;
};

}  // namespace lockkeeper::bench
