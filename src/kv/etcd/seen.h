// The newest state of an etcd that this hub has seen, kept in a small file. A cluster that was
// restored from an older snapshot looks sound, but has forgotten grants and counts its versions
// again. So an older state than the one seen is refused, until a repair has begun a new epoch.
//
// The file survives the death of the process at once, and a power cut about half a minute later.
//
// Thread safety: any thread may call.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "kv/etcd/messages.h"
#include "kv/types.h"

namespace lockkeeper::kv::etcd {

// What the epoch's row says.
struct EpochRow {
  std::uint64_t schema = 1;  // of the rows
  std::uint64_t id = 0;
  std::int64_t fence_offset = 0;
};
std::string format_epoch(const EpochRow& row);
std::optional<EpochRow> parse_epoch(std::string_view text);

class Seen {
 public:
  struct State {
    std::uint64_t cluster = 0;
    Version revision = 0;
    EpochRow epoch;
  };

  // No path: remembered in memory alone. The file is created (0600) if there is none.
  // store_unavailable: it cannot be. store_corrupt: it is damaged.
  // With `forget_damaged` a damaged file counts as an empty one.
  static Result<std::unique_ptr<Seen>> open(const std::string& path, bool forget_damaged = false);

  // In memory alone, from then on.
  static std::unique_ptr<Seen> of(const State& state);
  // What the file says, without touching it. store_corrupt: it is damaged.
  static Result<State> look(const std::string& path);

  State state() const;
  Version floor() const { return state().revision; }  // before a question is sent
  // store_corrupt: the answer to it is older than what was seen before, or another cluster's.
  Result<void> saw(const Header& header, Version floor);
  // The epoch's row as it was read, or none. A newer epoch is believed whatever else has changed.
  Result<void> saw_epoch(const Header& header, const std::optional<EpochRow>& row, Version floor);

 private:
  explicit Seen(std::string path) : path_(std::move(path)) {}
  Result<void> write();

  const std::string path_;
  mutable std::mutex mutex_;
  Fd file_;
  State state_;
};

}  // namespace lockkeeper::kv::etcd
