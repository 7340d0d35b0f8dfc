// The page of the gate's file that every process maps: what each transaction must know at its start
// without asking the disk. It is a cache, never the only copy of anything: it is not synced, and
// after a boot it is written again.
#pragma once

#include <atomic>
#include <cstdint>

namespace lockkeeper::kv::internal {

// "lkgate" and the format's number. Another number: the page is written again under a new epoch.
inline constexpr std::uint64_t kGateMagic = 0x6c6b676174650001;
inline constexpr std::uint32_t kSeats = 1024;

// Who has this seat; written only by that process.
struct SeatRow {
  std::atomic<std::uint32_t> pid;  // as its own PID namespace numbers it
  std::uint32_t unused;
  std::atomic<std::uint64_t> pid_namespace;  // inode; 0: cannot tell
  std::atomic<std::uint64_t> name[2];        // the process's name, at most 15 bytes
};

struct GatePage {
  std::atomic<std::uint64_t> magic;
  std::atomic<std::uint64_t> generation;  // the epoch's id: another one means "open again"
  std::atomic<std::uint64_t> boot;        // hash of the boot id under which this was written
  std::atomic<std::uint64_t> version;     // of the last commit; never above the data file's
  std::atomic<std::uint64_t> turns;       // grows with each writer that passes: progress
  std::atomic<std::uint32_t> writer;      // seat of the last writer that got the turnstile
  // A writer waits for the readers inside, so later readers go through the turnstile. Only fairness
  // depends on it. A writer that dies waiting leaves it set until the next one comes.
  std::atomic<std::uint32_t> waiting;
  // The data file as the last commit left it: another time means that somebody else wrote to it. A
  // file written through the map gets its time when the kernel sees a page become dirty. Then this
  // is a time by which all our own writes were done, and only a later time is somebody else's.
  std::atomic<std::uint64_t> data_inode;
  std::atomic<std::uint64_t> data_mtime_ns;
  // How far the data file certainly has blocks, if it is written through the map; 0: unknown.
  std::atomic<std::uint64_t> data_reserved;
  // Where the epoch's copy was kept when this was written (a hash). A store that was moved keeps it
  // elsewhere.
  std::atomic<std::uint64_t> epoch_copy;
  std::uint64_t reserved[502];
  SeatRow seats[kSeats];
};
static_assert(sizeof(GatePage) == 4096 + kSeats * sizeof(SeatRow));
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace lockkeeper::kv::internal
