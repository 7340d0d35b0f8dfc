// What is where in etcd, below the prefix of the address:
//
//   PREFIXepoch              the epoch: "SCHEMA ID FENCE_OFFSET"
//   PREFIXlane/STORE/N       one for each transaction on its way (lanes.h)
//   PREFIXrow/KEY            the rows
#pragma once

#include <string>
#include <string_view>

#include "kv/types.h"

namespace lockkeeper::kv::etcd {

class Keys {
 public:
  explicit Keys(std::string prefix) : prefix_(std::move(prefix)), rows_(prefix_ + "row/") {}

  std::string epoch() const { return prefix_ + "epoch"; }
  std::string lanes() const { return prefix_ + "lane/"; }
  const std::string& rows() const { return rows_; }
  // From the epoch to the last row: every revision that a store makes changes something there.
  Range watched() const { return {epoch(), end_of_prefix(rows_)}; }
  std::string row(std::string_view key) const {
    std::string whole;
    whole.reserve(rows_.size() + key.size());
    whole.append(rows_).append(key);
    return whole;
  }
  // The key of a row, without what is before it. REQUIRES: it is the key of a row
  std::string_view key_of(std::string_view row) const { return row.substr(rows_.size()); }

 private:
  const std::string prefix_;
  const std::string rows_;
};

}  // namespace lockkeeper::kv::etcd
