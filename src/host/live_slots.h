// Live slots: how every process sees the death of another one, at once and with certainty.
//
// A slot is one byte of a file, write-locked through an open file description of its own. The
// kernel drops the lock when the last descriptor of that description is closed, by whatever end of
// whatever process: no pid, so no pid reuse (F17); no pid namespace, so it works across containers
// (F18); no heartbeat, so it is seen in microseconds (L1). The file's content is never used.
//
// A slot's number is the byte's offset, 62 bits: 22 identify the file (device and inode), 40 are
// random. A live slot keeps its file's inode in use, so a file that replaces a deleted one has
// another inode and other numbers. A slot of a deleted file is kUnknown to processes that opened
// its successor, never kDead.
//
// Thread safety: LiveSlots may be shared if its Random may; a LiveSlot has one user at a time.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "base/random.h"
#include "host/alive.h"

namespace lockkeeper::host {

// Owns one slot. The slot lives until this object and every copy of its descriptor are gone, in all
// processes. Nothing else ends it.
class LiveSlot {
 public:
  std::uint64_t offset() const { return offset_; }

  // Another descriptor of the same slot that survives exec, for a command that must keep the slot
  // alive if this process is killed. The caller closes its own copy after the fork; until then
  // every child that is started inherits it. store_unavailable: no descriptors are left.
  Result<Fd> inheritable() const;

  // A forked child without exec holds the slot as its parent does. A child that should not calls
  // this first: it closes the child's copy and leaves the parent's alone. (To unlock would end the
  // slot for all, so nothing here unlocks.) An exec closes the copy by itself. Between fork and
  // exec a death may be seen later, never earlier.
  void close_in_child() { fd_.reset(); }

 private:
  friend class LiveSlots;
  LiveSlot(Fd fd, std::uint64_t offset) : fd_(std::move(fd)), offset_(offset) {}

  Fd fd_;
  std::uint64_t offset_;
};

class LiveSlots {
 public:
  // Opens the file; creates it with `mode` if there is none. Follows no symlink. `random` must
  // outlive this object. store_unavailable or no_space: it cannot be opened. store_corrupt: it is
  // not a regular file. `machine`: where several machines write down slots, the name of this one.
  static Result<LiveSlots> open(const std::string& path, Random& random, unsigned mode = 0600,
                                std::uint64_t machine = 0);

  // A new slot, alive from now on. store_unavailable: the file was deleted or replaced since it was
  // opened (open again, because others now open the new one), or no descriptors are left.
  Result<LiveSlot> take() const;

  // Does any process hold the slot? kUnknown: it belongs to another file or to none (0), or the
  // kernel does not say. Costs one system call. Also sees this process's own slots.
  Alive alive(std::uint64_t offset) const;

  // Does the path still name the opened file? store_unavailable: no, and processes that come now
  // get kUnknown for our slots.
  Result<void> check_identity() const;

 private:
  LiveSlots(Fd probe, std::string path, std::uint64_t file_tag, Random& random)
      : probe_(std::move(probe)), path_(std::move(path)), file_tag_(file_tag), random_(&random) {}

  Fd probe_;  // never holds a lock: a description does not see its own locks
  std::string path_;
  std::uint64_t file_tag_;
  Random* random_;
};

}  // namespace lockkeeper::host
