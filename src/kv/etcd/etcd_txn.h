// A transaction of the store on etcd: a reader at one snapshot, an overlay of its own writes, and
// its guards. See etcd_store.h and kv/store.h for what it promises.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kv/etcd/core.h"

namespace lockkeeper::kv {

class EtcdTxn final : public Txn {
 public:
  EtcdTxn(std::shared_ptr<EtcdStore::Core> core, Access access);

  Result<std::optional<Row>> get(std::string_view key, Read read) override;
  Result<void> scan(const Range& range, const Visit& visit, Read read) override;
  Result<void> scan_back(const Range& range, const Visit& visit) override;
  Result<void> scan_appended(std::string_view prefix, std::uint64_t after,
                             const VisitAppended& visit) override;
  Result<void> scan_appended_back(std::string_view prefix, const VisitAppended& visit) override;
  Result<void> guard_absent(std::string_view key) override;
  Result<void> guard_empty(const Range& range) override;
  Result<void> guard_unchanged(std::string_view key, Version modified) override;
  GuardMark guard_mark() const override { return guards_.size(); }
  void drop_guards(GuardMark since) override;
  Result<void> put(std::string_view key, std::string_view value, Lifetime lifetime) override;
  Result<void> erase(std::string_view key) override;
  Result<void> append(std::string_view prefix, std::string_view value) override;
  Budget left() const override;
  Result<bool> confirm_reads() override;
  Result<CommitResult> commit() override;

 private:
  struct Write {
    std::optional<std::string> value;  // none: erased
    Lifetime lifetime = kUntilErased;
  };
  using Writes = std::map<std::string, Write, std::less<>>;
  struct Append {
    std::string prefix;
    std::string value;
  };
  class Walk;

  Result<void> walk(const Range& range, const Visit& visit, Read read, bool forward);
  Result<void> walk_appended(std::string_view prefix, std::uint64_t after, bool forward,
                             const VisitAppended& visit);
  void remember(std::string_view from, std::string_view to, bool met_stored, Version snapshot,
                bool guarded);
  void remember(std::string_view key, Version modified, bool guarded);
  Result<bool> hold_now(const etcd::Guards& others);
  Result<CommitResult> commit_reads();
  Result<CommitResult> commit_writes();
  Result<void> room_for_write() const;
  Result<Write*> write_at(std::string_view key);
  Result<Row> own_row(const Writes::value_type& write);
  bool visit_row(const Visit& visit, const Row& row);

  const std::shared_ptr<EtcdStore::Core> core_;
  const Access access_;
  const Version epoch_;  // that of the epoch's row
  const std::unique_ptr<etcd::Reader> reader_;
  etcd::Guards guards_;
  // If the snapshot may be old: the guards that were dropped, and what was read without a guard.
  etcd::Guards dropped_;
  etcd::Guards unguarded_;
  int visiting_ = 0;
  bool put_ = false;  // or appended: the commit has a version in any case
  Writes writes_;
  std::vector<Append> appends_;
};

}  // namespace lockkeeper::kv
