// The store of several machines: rows in an etcd cluster, shared by all hubs that open it under one
// prefix. It is optimistic: transactions read at a snapshot and find out at the commit whether what
// they depend on has changed.
//
// What etcd can take in one commit is in kGuardsMax and kWritesMax: its --max-txn-ops is 128, and
// the store needs two compares and one write itself. Values and whole commits are limited by
// --max-request-bytes, 1.5 MiB if it was not raised.
//
// Transactions read from a copy of all rows in memory (feed.h). It may be behind, so what they
// answer is confirmed; see kv/store.h, Copies.
//
// A commit that was not answered is looked for, through its lane (lanes.h). Only if that fails too
// is the error `unknown`, and then nothing else is written before that commit is known to have
// happened or can never happen any more.
//
// Thread safety: as kv::Store; and a thread may have several transactions.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "kv/etcd/address.h"
#include "kv/etcd/client.h"
#include "kv/store.h"

namespace lockkeeper::kv {

struct EtcdOptions {
  etcd::Address address;
  // Where this hub remembers the newest state that it has seen. Empty: nowhere, so that a cluster
  // which was restored while no hub ran looks sound.
  std::string seen_file;
  etcd::Patience patience;
  std::uint32_t schema_version = 1;  // of the rows: all hubs must have the same
  // When the answered request was sent that last kept the lease of rows put with kWhileOpen: they
  // stay for 90 s from then on. On the clock of SystemClock; null: nobody asks.
  std::shared_ptr<std::atomic<std::int64_t>> kept_ms;
  // Transactions read from a copy of all rows in memory, as long as that takes no more than this.
  // 0: there is none, and etcd is asked for every row. Nor is there one with allow-old.
  std::size_t copy_bytes_max = 256 << 20;
  // The lease of rows put with kWhileOpen had ended: they may be gone. Called on any thread, which
  // must not wait for this store.
  std::function<void()> on_lease_lost;
  // Rows were changed by some hub, this one included: their keys. None: some changes may not have
  // been heard. A hint, which may be late. Called on any thread, which must not wait for this
  // store. Empty: nobody listens, and nothing is watched.
  std::function<void(const std::vector<std::string>& keys)> on_change;
};

class EtcdStore final : public Store {
 public:
  static constexpr std::size_t kGuardsMax = 126;
  static constexpr std::size_t kWritesMax = 127;

  // Opens the store under the address's prefix, or makes it.
  //   store_unavailable  no member can be reached, or those that can are too old; another schema
  //   store_corrupt      the cluster is in an older state than this hub has seen
  //   invalid_input      a file of the address cannot be used
  static Result<std::unique_ptr<EtcdStore>> open(EtcdOptions options);
  ~EtcdStore() override;  // REQUIRES: no transaction is left
  EtcdStore(const EtcdStore&) = delete;
  EtcdStore& operator=(const EtcdStore&) = delete;

  // Asks nobody: the first read does, unless it is one of a write transaction that finds all in the
  // copy. store_corrupt: see open().
  Result<std::unique_ptr<Txn>> begin(Access access) override;
  Budget budget() const override { return {kGuardsMax, kWritesMax}; }
  // Another hub may begin a new one at any time; this one then learns of it at its next commit.
  Epoch epoch() const override;

  // Begins a new epoch, whose fences are greater than all that this hub has seen. For `doctor
  // --repair`, after the cluster was restored from an older state.
  static Result<Epoch> repair(EtcdOptions options);

  etcd::Client& client();
  // Waits until transactions read from the copy. False: not by then.
  bool wait_for_copy(std::chrono::steady_clock::time_point until);

  class Core;  // what transactions see of it

 private:
  explicit EtcdStore(std::shared_ptr<Core> core);
  const std::shared_ptr<Core> core_;
};

}  // namespace lockkeeper::kv
