// Feature pause: a lock that stops the line. Whoever holds the key `feature:X:pause` has
// paused feature X, however it was taken (`pause`, `acquire`, acquire_lock). Others check the gate
// before they start work and before they finish it, and wait while it is shut.
//
// A check takes nothing: no lease, no place in the queue, no permission. So waiters can neither
// take the pause from the orchestrator nor keep it from pausing again, and a killed waiter leaves
// nothing behind. A wait checks five times a second.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "service/locks.h"
#include "service/report.h"

namespace lockkeeper::service {

inline constexpr std::int64_t kGateLookMs = 200;

// "feature:X:pause" of X; of itself, too.
std::string pause_key(std::string_view feature);

struct Gate {
  std::string key;
  // Who else has paused it; never the asker. Its own subagents and parents are others here: a pause
  // is meant to stop them, although they do not lock each other out (rule 11).
  std::vector<core::Conflict> others;
  bool mine = false;  // the asker, exactly this agent and session, has paused it
  bool open() const { return others.empty(); }
};

// Changes nothing, creates nothing. invalid_resource if no feature can be called that.
Result<Gate> look_at_gate(Locks& locks, const std::string& feature);

struct PassGate {
  std::string feature;
  std::optional<std::int64_t> wait_ms;               // as in AcquireCommand
  std::function<bool(const WaitProgress&)> on_wait;  // likewise; the position is 0
};

struct Passed {
  core::Outcome outcome = core::Outcome::kHeld;  // kGranted: it is open
  Gate gate;
  std::int64_t waited_ms = 0;
};
Result<Passed> pass_gate(Locks& locks, const PassGate& how);

// "feature X is paused: feature:X:pause is held by …, reason …". REQUIRES: not open.
std::string paused_text(const Gate& gate, std::int64_t now_wall_ms);

// {"key","paused","mine","conflicts"}
Json gate_json(const Gate& gate);

}  // namespace lockkeeper::service
