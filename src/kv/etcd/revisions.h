// Puts together what a watch tells, and moves a copy on by whole revisions.
//
// etcd splits long messages, also in the middle of a revision: all parts but the last say
// `fragment`. A message's header can have a newer revision than the events that have been told, so
// only the events count, and messages without any: those say up to where nothing is missing.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kv/etcd/copy.h"
#include "kv/etcd/keys.h"
#include "kv/etcd/messages.h"

namespace lockkeeper::kv::etcd {

class Revisions {
 public:
  // Of a watch on Keys::watched() from the copy's next version.
  Revisions(const Keys& keys, std::shared_ptr<Copy> copy, std::size_t most_bytes)
      : keys_(keys), copy_(std::move(copy)), most_bytes_(most_bytes) {}

  enum class Next {
    kGoOn,
    kAgain,     // this watch tells nothing more, or not yet enough: begin another one
    kReload,    // the copy is of no use: something was missed, or another epoch has begun
    kTooLarge,  // neither, because there is too much
  };
  Next hear(const WatchResponse& message);

 private:
  struct Event {
    std::uint64_t revision = 0;
    bool of_epoch = false;
    Copy::Change change;  // its key is empty: of no row
  };
  Next take(const WatchResponse& message);
  Next apply();

  const Keys keys_;
  const std::shared_ptr<Copy> copy_;
  const std::size_t most_bytes_;
  bool created_ = false;
  std::vector<Event> events_;  // until all parts are there
  std::size_t bytes_ = 0;      // of them
};

}  // namespace lockkeeper::kv::etcd
