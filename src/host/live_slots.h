// Live slots: how the death of a process is seen by every other one, at once and without doubt.
//
// A slot is one byte of a file, write-locked through an open file description of its own. The
// kernel drops the lock when the last descriptor of that description is closed, by whatever end of
// whatever process: no pid, so no pid reuse (F17); no pid namespace, so it works across containers
// (F18); no heartbeat, so it is seen in microseconds (L1). The file's content is never used.
//
// A slot's number is the byte's offset, 62 bits: 22 that tell the file (device and inode) and 40
// drawn at random. A live slot keeps its file's inode in use, so a file that took the place of a
// deleted one has another inode, hence other numbers: a slot of a deleted file is kUnknown to
// those who opened its successor, never kDead.
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

// Owns one slot: it lives until this object and every copy of its descriptor are gone, in all
// processes. Nothing else ends it; in particular nobody can end it by mistake for another process.
class LiveSlot {
 public:
  std::uint64_t offset() const { return offset_; }

  // Another descriptor of the same slot that survives exec, for a command that is to keep the slot
  // alive when this process is killed. The caller closes its own copy after the fork; until then
  // every child that is started inherits it. store_unavailable if descriptors ran out.
  Result<Fd> inheritable() const;

  // A child made by fork without exec holds the slot as its parent does. One that should not calls
  // this first: it closes the child's copy and leaves the parent's alone. (Unlocking would end the
  // slot for all, which is why nothing here unlocks.) An exec closes the copy by itself; the moment
  // between fork and exec makes a death seen later, never earlier.
  void close_in_child() { fd_.reset(); }

 private:
  friend class LiveSlots;
  LiveSlot(Fd fd, std::uint64_t offset) : fd_(std::move(fd)), offset_(offset) {}

  Fd fd_;
  std::uint64_t offset_;
};

class LiveSlots {
 public:
  // Opens the file, creating it with `mode` if there is none; no symlink is followed. `random` is
  // borrowed and must outlive this object. store_unavailable or no_space if it cannot be opened,
  // store_corrupt if the path is no regular file.
  static Result<LiveSlots> open(const std::string& path, Random& random, unsigned mode = 0600);

  // A new slot, alive from now on. store_unavailable if the file was deleted or replaced since it
  // was opened (open again: whoever comes now opens the new one), or descriptors ran out.
  Result<LiveSlot> take() const;

  // Whether any process holds the slot. kUnknown if it is of another file, of none (0), or if the
  // kernel does not say. Costs one system call. Sees this process's own slots, too.
  Alive alive(std::uint64_t offset) const;

  // Whether the path still names the opened file. If not, nobody who comes now can see our slots:
  // they get kUnknown. store_unavailable says so.
  Result<void> check_identity() const;

 private:
  LiveSlots(Fd probe, std::string path, std::uint64_t file_tag, Random& random)
      : probe_(std::move(probe)), path_(std::move(path)), file_tag_(file_tag), random_(&random) {}

  Fd probe_;  // never holds a lock: a description does not see its own
  std::string path_;
  std::uint64_t file_tag_;
  Random* random_;
};

}  // namespace lockkeeper::host
