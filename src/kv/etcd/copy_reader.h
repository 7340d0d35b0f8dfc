// Reads from the local copy, if that is in step; else it asks etcd.
//
// Thread safety: none; part of a transaction.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "kv/etcd/copy.h"
#include "kv/etcd/reader.h"

namespace lockkeeper::kv::etcd {

class CopyReader final : public Reader {
 public:
  // Views of the copy as it is, or at the newest revision that a quorum knows. Null: none can be
  // had.
  using Take = std::function<Result<std::unique_ptr<Copy::View>>()>;
  // `newest`: is `take` for the newest?
  CopyReader(Take take, bool newest, std::unique_ptr<Reader> remote)
      : take_(std::move(take)), newest_(newest), remote_(std::move(remote)) {}

  bool fixed() const override { return view_ != nullptr || remote_->fixed(); }
  bool may_be_old() const override { return view_ != nullptr && !newest_; }
  Result<Version> snapshot() override;
  Result<std::optional<Row>> get(std::string_view key) override;
  Result<Page> rows(const Range& range, bool forward, std::size_t most) override;
  Result<Page> created(const Range& range, const Created& when, bool forward) override;

 private:
  Result<const Copy::View*> view();  // null: ask etcd

  const Take take_;
  const bool newest_;
  const std::unique_ptr<Reader> remote_;
  bool tried_ = false;
  std::unique_ptr<Copy::View> view_;
};

}  // namespace lockkeeper::kv::etcd
