// The contract in its plainest form, as the oracle of the differential test: a map that is copied
// whole for each transaction. One transaction at a time; every guard is checked when it is made,
// because nothing can change before the commit. Too slow for anything else, and meant to be.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "kv/store.h"

namespace lockkeeper::contract {

class ModelStore final : public kv::Store {
 public:
  explicit ModelStore(kv::Version start) : version_(start) {}

  Result<std::unique_ptr<kv::Txn>> begin(kv::Access access) override;
  kv::Budget budget() const override { return {}; }
  kv::Epoch epoch() const override { return {.id = 1}; }

  struct Stored {
    std::string value;
    kv::Version created = 0;
    kv::Version modified = 0;
  };
  using Rows = std::map<std::string, Stored>;

 private:
  friend class ModelTxn;
  Rows rows_;
  kv::Version version_;
};

}  // namespace lockkeeper::contract
