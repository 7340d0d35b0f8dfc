// What a transaction reads: the rows as they were at one moment, its snapshot. The first read fixes
// it and asks a quorum for the newest; the others may be answered by any member, at that revision.
//
// Thread safety: none; part of a transaction.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kv/etcd/client.h"
#include "kv/etcd/keys.h"
#include "kv/types.h"

namespace lockkeeper::kv::etcd {

// Rows in the order that was asked for. They are valid until the reader is destroyed.
struct Page {
  std::vector<Row> rows;
  bool more = false;
};

class Reader {
 public:
  virtual ~Reader() = default;

  virtual bool fixed() const = 0;  // is there a snapshot yet?
  // May the snapshot be older than the newest state at the first read?
  virtual bool may_be_old() const { return false; }
  virtual Result<Version> snapshot() = 0;  // fixes it
  virtual Result<std::optional<Row>> get(std::string_view key) = 0;
  // The first rows of [from, to), or the last ones, backwards; about `most`, at least one if any.
  virtual Result<Page> rows(const Range& range, bool forward, std::size_t most) = 0;
  // The same of those created in [first, last], in the order of their creation; whole commits.
  struct Created {
    Version first = 0;
    Version last = 0;  // 0: no end
  };
  virtual Result<Page> created(const Range& range, const Created& when, bool forward) = 0;
};

// Asks etcd for every row.
class RemoteReader final : public Reader {
 public:
  using Ask = std::function<Result<Held<RangeResponse>>(const RangeRequest& request)>;
  RemoteReader(const Keys& keys, Ask ask) : keys_(keys), ask_(std::move(ask)) {}

  bool fixed() const override { return snapshot_ != 0; }
  Result<Version> snapshot() override;
  Result<std::optional<Row>> get(std::string_view key) override;
  Result<Page> rows(const Range& range, bool forward, std::size_t most) override;
  Result<Page> created(const Range& range, const Created& when, bool forward) override;

 private:
  Result<const RangeResponse*> ask(RangeRequest request);
  Row to_row(const KeyValue& kv) const;
  Page to_page(const RangeResponse& response);

  const Keys& keys_;
  const Ask ask_;
  Version snapshot_ = 0;
  std::deque<Held<RangeResponse>> answers_;  // what rows point into
  std::map<std::string, std::optional<Row>, std::less<>> known_;
};

}  // namespace lockkeeper::kv::etcd
