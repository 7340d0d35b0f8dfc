// Git's log of HEAD: how a worktree came from one commit to the next.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "guard/notebook.h"
#include "guard/repository.h"

namespace lockkeeper::guard {

struct Move {
  enum class How {
    kCommit,   // somebody made a commit
    kAmended,  // the same, in the place of the last one
    kReplay,   // git brought in or replayed something, or went to a branch
    kOther,    // a reset, update-ref, …
  };
  std::string from;
  std::string to;
  std::int64_t at_s = 0;
  How how = How::kOther;
  bool rewrites = false;  // a rebase: other commits have the same changes
};

// Oldest first.
std::vector<Move> moves_in(std::string_view log);
// Those after the last one that came to `known`. None if there is no such one.
std::vector<Move> moves_after(const std::vector<Move>& moves, std::string_view known);

struct HeadLog {
  std::uint64_t bytes = 0;  // of the whole log
  std::vector<Move> moves;  // at its end
};

HeadLog read_head_log(const Repository& repository);
// What came after a place that is known; by the commit alone if git has written the log anew.
std::vector<Move> moves_since(const Repository& repository, const KnownHead& known);

}  // namespace lockkeeper::guard
