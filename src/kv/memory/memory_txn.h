// A transaction of the memory store: a pinned version to read, an overlay of its own writes, and
// the guards of the optimistic flavour. See memory_store.h and kv/store.h for what it promises.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "kv/memory/guards.h"
#include "kv/memory/memory_store.h"

namespace lockkeeper::kv {

class MemoryTxn final : public Txn {
 public:
  // REQUIRES: the caller holds the store's mutex, has its turn and has counted this transaction.
  // `opened`: the Store that begins it, and its epoch.
  MemoryTxn(MemoryStore& store, Access access, std::uint64_t opened, std::uint64_t epoch);
  ~MemoryTxn() override;
  MemoryTxn(const MemoryTxn&) = delete;
  MemoryTxn& operator=(const MemoryTxn&) = delete;

  Result<std::optional<Row>> get(std::string_view key, Read read) override;
  Result<void> scan(const Range& range, const Visit& visit, Read read) override;
  Result<void> scan_back(const Range& range, const Visit& visit) override;
  Result<void> guard_absent(std::string_view key) override;
  Result<void> guard_empty(const Range& range) override;
  Result<void> guard_unchanged(std::string_view key, Version modified) override;
  GuardMark guard_mark() const override { return guards_.size(); }
  void drop_guards(GuardMark since) override { guards_.cut(since); }
  Result<void> put(std::string_view key, std::string_view value, Lifetime lifetime) override;
  Result<void> erase(std::string_view key) override;
  Result<void> append(std::string_view prefix, std::string_view value) override;
  Budget left() const override;
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

  bool optimistic() const { return store_.flavour_ == Flavour::kOptimistic; }
  bool guards_reads(Read read) const { return read == Read::kGuarded && optimistic(); }

  // store_unavailable: the store crashed since begin(). REQUIRES: the store's mutex is held.
  Result<void> alive() const;
  Result<void> guard_point(std::string_view key, Version modified);
  Result<void> room_for_write() const;
  bool wrote_in(std::string_view from, std::string_view to) const;
  Row own_row(const Writes::value_type& write) const;  // REQUIRES: the store's mutex is held
  internal::Life life_of(Lifetime lifetime) const;
  Version apply();  // the version after it

  // Both scans. `forward` says from which end.
  Result<void> walk(const Range& range, const Visit& visit, Read read, bool forward);

  MemoryStore& store_;
  const Access access_;
  const std::uint64_t opened_;
  const std::uint64_t epoch_;
  const std::uint64_t life_;
  const Version snapshot_;
  const std::thread::id thread_;
  internal::Guards guards_;
  bool broken_ = false;  // pessimistic: an explicit guard does not hold
  bool ended_ = false;   // commit() was called
  bool put_ = false;     // or appended: the commit will have a version in any case
  bool pinned_ = true;
  int visiting_ = 0;
  Writes writes_;
  std::vector<Append> appends_;
};

}  // namespace lockkeeper::kv
