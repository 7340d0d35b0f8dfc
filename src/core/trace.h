// A trace says who changed a file last in a worktree. It excludes nobody. It is what an agent is
// told before it overwrites somebody's work, also after that one's edits have ended.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/types.h"

namespace lockkeeper::core {

// A file as stat() shows it. All zero: there is none.
struct FileMark {
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  std::uint64_t inode = 0;
  friend bool operator==(const FileMark&, const FileMark&) = default;
};

struct Change {
  std::string path;  // canonical, from the worktree's top
  FileMark mark;
  std::string content;  // a hash of it; empty: not known, or the file is gone
  // The file is as the last commit has it: nobody's uncommitted work is in it.
  bool clean = false;
};

struct Trace {
  std::string worktree;
  Change change;
  Owner owner;  // no agent: nobody knows who it was
  std::int64_t at_wall_ms = 0;
  std::int64_t at_mono_ms = 0;  // on the boot of `epoch`
  std::uint64_t epoch = 0;
  std::vector<Owner> told;  // who was told of this change, and may overwrite it
  // Who wrote the file before, and so has it in mind as it was. Of a clean file: all who did. Their
  // work may come back, out of a stash for instance.
  std::vector<Owner> earlier = {};
  // What each of them left, as in Change; empty: not known.
  std::vector<std::string> earlier_content = {};
  std::uint64_t clock = 0;  // by whose clock it was written: sightings.h
};

inline constexpr std::int64_t kTraceKeptMs = std::int64_t{14} * 24 * 3600 * 1000;
inline constexpr std::size_t kToldMax = 64;

}  // namespace lockkeeper::core
