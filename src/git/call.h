// One call of the real git: no shell, no terminal, bounded in time and in what it prints.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/error.h"
#include "host/spawn.h"

namespace lockkeeper::git {

inline constexpr std::size_t kAnswerBytesMax = 512U << 20;
inline constexpr std::int64_t kPatienceMs = 120'000;

struct Limits {
  std::size_t answer_bytes = kAnswerBytesMax;
  std::int64_t patience_ms = kPatienceMs;
};

// The only variables of git's that are passed on: as whom to commit.
inline constexpr const char* kIdentityVariables[] = {"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL",
                                                     "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"};

struct Answer {
  int status = 0;  // as a shell reports it
  std::string text;
};

// Called several times a second; false: git is asked to end.
using GoOn = std::function<bool()>;

// Starts `program` and reads what it prints (and its errors, with `errors`) to the end. timeout,
// limit_exceeded; failed if `go_on` said so: git and what it has started are then gone. What a hook
// of git leaves running is not waited for.
// REQUIRES: nobody else reaps our children.
Result<Answer> carry_out(host::Program program, const Limits& limits, bool errors = false,
                         const GoOn& go_on = {});

}  // namespace lockkeeper::git
