// Says what is wrong with an etcd that keeps locks, in plain words, and what to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "kv/etcd/etcd_store.h"
#include "kv/etcd/seen.h"
#include "kv/etcd/survey.h"

namespace lockkeeper::kv::etcd {

struct Finding {
  enum class Kind {
    kGood,
    kNote,  // worth knowing; locks work
    kBad
  };
  Kind kind = Kind::kGood;
  std::string about;  // a word
  Error error;        // kGood: its message alone; kNote: and the hint
};

struct EtcdReport {
  Survey survey;
  std::vector<Finding> findings;
  std::optional<EpochRow> epoch;     // as it is in etcd
  std::optional<Seen::State> known;  // what this machine's hub has seen; none: no hub has run here
  // store_corrupt: the cluster is in an older state than that. A repair begins a new epoch.
  std::optional<Error> went_back;
};

// Changes no row, and a hub may serve the store meanwhile. An etcd that does not answer is a
// finding. invalid_input: a file of the address cannot be used.
Result<EtcdReport> inspect(const EtcdOptions& options);

// The same from what was learnt before.
EtcdReport judge(const EtcdOptions& options, Survey survey,
                 const Result<std::optional<Seen::State>>& known);

}  // namespace lockkeeper::kv::etcd
