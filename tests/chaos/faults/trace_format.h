// One record of what the preloaded library saw: a head, then `size` bytes. Plain: read and written
// on both sides of a process boundary.
#pragma once

#include <stdint.h>

namespace lockkeeper::faults {

enum class TraceKind : uint32_t {
  kMade = 1,   // inode, name: a new file
  kWrote,      // inode, offset, bytes
  kResized,    // inode, offset: the new length
  kSynced,     // inode, name: a file or a folder
  kMovedFrom,  // name; followed by
  kMovedTo,    // name
  kRemoved,    // name
  kMark,       // bytes: what the test says at this point
};

struct TraceHead {
  TraceKind kind;
  uint32_t reserved;
  uint64_t inode;
  uint64_t offset;
  uint64_t size;  // of what follows; 0 for kResized
};

}  // namespace lockkeeper::faults
