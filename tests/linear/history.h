// A history: what several processes asked the lock table, what they were told, and when, on
// CLOCK_MONOTONIC. One record is one line of text; README.md describes the format.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/types.h"

namespace lockkeeper::linear {

inline constexpr std::int64_t kNever = INT64_MAX;

enum class Verb { kAcquire, kRelease, kRenew, kCheck, kBreak };

struct Wish {
  std::string resource;
  core::Mode mode = core::Mode::kExclusive;
};

struct Asked {
  Verb verb = Verb::kAcquire;
  std::vector<Wish> wishes;
  std::string lease;             // release, renew: by its id
  std::int64_t ttl_ms = kNoEnd;  // kNoEnd: no end; of renew, with `keep_ttl`: its own length
  bool keep_ttl = false;         // renew without a length
  bool wait = false;             // acquire
  std::string attach;  // acquire: the process that keeps it, empty: detached; release: who asks
  std::int64_t grace_ms = 0;           // acquire: how long it outlives its processes
  std::string request_id;              // acquire
  std::string under;                   // acquire, check: the lease that it works under,
  std::uint64_t under_fence = 0;       // with its fence
  bool only_own_hold = false;          // release
  std::optional<std::uint64_t> fence;  // check
};

struct Told {
  std::string word;  // granted, held, …; empty: no answer, so it may or may not have happened
  std::string lease;
  std::uint64_t fence = 0;
  std::optional<std::int64_t> until_ms;     // when it ends, milliseconds; kNoEnd: never
  std::optional<std::set<std::string>> by;  // owners in the way, or broken
  bool free = false, mine = false, current = false;
  std::vector<std::string> lost;  // leases it was told it had lost
};

struct Call {
  std::uint64_t number = 0;
  std::string process;
  std::string owner;  // "agent" or "agent@session"
  Asked asked;
  Told told;
  std::int64_t invoked = 0;
  std::int64_t queued = kNever;    // by when it is known to stand in the queue
  std::int64_t returned = kNever;  // kNever: no answer
  bool answered() const { return !told.word.empty(); }
  // Of an acquire: it may have been granted all the same, and nobody knows the lease.
  bool untold() const { return !answered() || told.word == "unknown" || told.word == "lost"; }
};

// Alive until `from`, gone by `to`.
struct Death {
  std::int64_t from = kNever;
  std::int64_t to = kNever;
};

struct History {
  std::vector<Call> calls;  // by invocation
  std::map<std::string, Death> deaths;
};

struct BadHistory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws BadHistory naming the line. Lines need not be in the order of time.
History parse_history(const std::string& text);

// The lines of one call: `>`, and `q`, `<` where there are any. As a recorder writes them.
std::string invocation_line(const Call& call);
std::string queued_line(const Call& call);
std::string return_line(const Call& call);
std::string death_line(const std::string& process, const Death& death);
std::string to_text(const History& history);

// For other checkers; README.md has an example for each.
std::string to_edn(const History& history);         // a Jepsen history
std::string to_json_lines(const History& history);  // one operation a line, as Porcupine wants them

const char* name_of(Verb verb);
core::Owner owner_of(const std::string& text);
std::string text_of(const core::Owner& owner);
// "S/x" is a part of "S" and "-/x" of its agent without a session; nullopt: a part of nothing.
std::optional<core::Owner> whole_of(const core::Owner& owner);

}  // namespace lockkeeper::linear
