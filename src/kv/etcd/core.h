// For etcd_store.cc and etcd_txn.cc: what a store has, and how a commit goes.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kv/etcd/copy.h"
#include "kv/etcd/etcd_store.h"
#include "kv/etcd/feed.h"
#include "kv/etcd/guards.h"
#include "kv/etcd/keys.h"
#include "kv/etcd/lanes.h"
#include "kv/etcd/reader.h"
#include "kv/etcd/seen.h"
#include "kv/etcd/session.h"

namespace lockkeeper::kv {

// One write of a commit.
struct EtcdWrite {
  std::string key;
  std::optional<std::string> value;  // none: erased
  Lifetime lifetime = kUntilErased;
  bool appended = false;  // `key` is its prefix
};

class EtcdStore::Core {
 public:
  Core(EtcdOptions options, std::unique_ptr<etcd::Client> client, std::unique_ptr<etcd::Seen> seen);
  ~Core();

  // Reads the epoch's row; makes it if there is none.
  Result<void> read_epoch();
  void follow();         // if there is to be a copy, or somebody listens
  Result<void> check();  // store_corrupt, until a new epoch is there
  Epoch epoch() const;
  Version epoch_version() const;  // of its row

  // For a transaction in this epoch. What a write transaction reads may be old, unless the last one
  // of this thread was refused for that.
  std::unique_ptr<etcd::Reader> reader(Access access, Version epoch);
  // The copy at the newest revision that a quorum knows. Null: there is none now.
  Result<std::unique_ptr<etcd::Copy::View>> newest_view(Version epoch);
  // The next write transaction of this thread reads the newest state.
  void ask_first();
  bool wait_for_copy(std::chrono::steady_clock::time_point until);

  // A commit that writes. `read_at` is its version if it only erased what was not there and has put
  // nothing. `epoch`: the version of its row when the transaction began; in another epoch its
  // fences would be wrong.
  Result<CommitResult> commit(const etcd::Guards& guards, std::vector<EtcdWrite> writes, bool put,
                              Version read_at, Version epoch);
  // One that writes nothing.
  Result<CommitResult> confirm(const etcd::Guards& guards, Version read_at);

  etcd::Client& client() { return *client_; }
  const etcd::Keys& keys() const { return keys_; }

  // Begins a new epoch; see EtcdStore::repair().
  Result<void> begin_epoch();

 private:
  etcd::TxnAnswer send(const etcd::TxnRequest& request);
  Result<etcd::Held<etcd::RangeResponse>> ask(const etcd::RangeRequest& request);
  void note_corrupt(const Error& error);
  Result<void> make_epoch();
  using Changes = std::vector<etcd::Copy::Change>;
  Result<Changes> add_writes(etcd::TxnRequest& request, const etcd::Lane& lane,
                             std::vector<EtcdWrite> writes);
  Result<CommitResult> settle(etcd::Lane lane, const etcd::TxnAnswer& answer, bool put,
                              Version read_at);
  Result<CommitResult> settled(etcd::Lane lane, etcd::Lanes::Fate fate, const Error& error);
  Result<CommitResult> conflict(etcd::Lane lane, const etcd::TxnResponse& response);
  etcd::Compare same_epoch(Version epoch) const;
  // Servers with known faults leave out some of what a watch should tell.
  bool has_copy() const { return options_.copy_bytes_max > 0 && !options_.address.allow_old; }

  const EtcdOptions options_;
  const etcd::Keys keys_;
  const std::unique_ptr<etcd::Client> client_;
  const std::unique_ptr<etcd::Seen> seen_;
  mutable std::mutex mutex_;
  Epoch epoch_;
  Version epoch_modified_ = 0;
  std::optional<Error> corrupt_;
  etcd::Session session_;
  etcd::Lanes lanes_;
  // Of the newest answer to a transaction. What a later one reads from the copy is not older.
  std::atomic<Version> floor_ = 0;
  std::set<std::thread::id> ask_first_;
  std::unique_ptr<etcd::Feed> feed_;
};

}  // namespace lockkeeper::kv
