// Which contents were lost or overwritten, as the versions of a file tell it.
//
// A content is lost if another party, or nobody known, put something else in its place, and it has
// not come back since. What its own writer replaced is not lost, nor what a restore replaced:
// whoever restores chose that, and was told its version. If nobody knows who wrote it, it is lost
// if an agent replaced it, or if it was in danger: a person's work, or what git has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "snapshot/version.h"

namespace lockkeeper::snapshot {

struct Loss {
  Version version;              // the last one with that content
  Who writer;                   // of the content; unknown: a person, or a program without hooks
  Who changed_by;               // who put something else there
  std::int64_t at_wall_ms = 0;  // when that was noticed
  bool deleted = false;         // nothing was put there
};

// `versions`: of one file, oldest first. `now`: what is on disk; its time is when it was changed.
// Oldest first.
std::vector<Loss> losses_of(const std::vector<Version>& versions, const Version& now);

// Who wrote the content of versions[at]: the first who is known to have. Whoever brings it back, by
// a restore or `git stash pop`, did not write it.
Who writer_of(const std::vector<Version>& versions, std::size_t at);

}  // namespace lockkeeper::snapshot
