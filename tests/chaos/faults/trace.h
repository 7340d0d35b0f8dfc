// What a disk may hold after a power cut, from the record of what was written to it and synced.
//
// A sync keeps all that was written before it. Of what was written to a file since, any 512-byte
// sectors may have arrived and others not, in any order, and so may its length. Names (made, moved,
// removed) arrive in their order, as far as they got, per folder; a folder's sync keeps them all.
// This is less than journalling filesystems promise.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "chaos/faults/trace_format.h"

namespace lockkeeper::faults {

inline constexpr std::size_t kSector = 512;  // what a disk writes whole

struct TraceRecord {
  TraceKind kind = TraceKind::kMark;
  std::uint64_t inode = 0;
  std::uint64_t offset = 0;
  std::string bytes;
};

// The records of a file that the preloaded library wrote.
std::vector<TraceRecord> read_trace(const std::string& path);

// Adds a mark behind everything that has happened so far.
void mark_trace(const std::string& path, const std::string& words);

// A file of which only the first bytes are there; the rest, up to its size, are holes.
struct Content {
  std::string bytes;
  std::uint64_t size = 0;

  void resize(std::uint64_t to);
  void put(std::uint64_t offset, std::string_view what);
};

class Disk {
 public:
  using Image = std::map<std::string, Content>;  // by name

  void apply(const TraceRecord& record);

  // What may be found after a cut at this point.
  Image cut(Random& random) const;

 private:
  struct Change {
    bool resize = false;
    std::uint64_t offset = 0;
    std::string bytes;
  };
  struct File {
    Content kept;
    std::vector<Change> since;
  };
  struct NameChange {
    std::string removed;  // either may be empty
    std::string made;
    std::uint64_t inode = 0;
  };
  using Names = std::map<std::string, std::uint64_t>;

  static void rename(Names& names, const NameChange& change);
  static Content after_cut(const File& file, Random& random);
  void sync(const TraceRecord& record);
  void add(NameChange change);

  std::map<std::uint64_t, File> files_;
  Names kept_;  // names that are surely there
  Names now_;
  std::map<std::string, std::vector<NameChange>> since_;  // by folder
  std::string moved_from_;
};

}  // namespace lockkeeper::faults
