// What is asked for, and what is answered: a lease, a refusal that says who is in the way, or an
// error. Plain values, but for the lease.
//
// Thread safety: plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "lockkeeper/error.h"
#include "lockkeeper/lease.h"

namespace lockkeeper {

enum class Mode {
  kExclusive,  // nobody else may hold anything that overlaps
  kShared,     // others may hold it shared, too
};

struct AcquireOptions {
  Mode mode = Mode::kExclusive;
  // How long to stand in the queue: nullopt does not wait; kForEver has no bound.
  std::optional<std::chrono::milliseconds> wait = std::nullopt;
  // What each renewal extends it to; nullopt is the realm's default (an hour, if not configured),
  // kForEver never ends by time. A short one is missed sooner by others if this process hangs. Less
  // than a few seconds asks for trouble on a loaded machine.
  std::optional<std::chrono::milliseconds> length = std::nullopt;
  std::string reason = {};  // shown to those who are refused
  std::string task = {};    // a label, for `lockkeeper list` and `release --task`
  // Repeating a call with the same id and arguments has the effect of one (I8). Give one if an
  // answer of kUnknown is to be settled by asking again.
  std::string request_id = {};
  // Called once if the lease is lost, with why, by a thread of the realm; lost() is true and the
  // token's stop requested by then. Never called once release() or the destructor has returned. It
  // may release or destroy the lease, and the realm. It must not throw, and while it runs the
  // realm's other losses wait, so be brief.
  std::function<void(const Error&)> on_lost = {};
  // Requested: the wait ends with kCancelled. A grant that came first is the answer all the same.
  std::stop_token cancel = {};
};

inline constexpr std::chrono::milliseconds kForEver = std::chrono::milliseconds::max();

enum class Alive { kYes, kNo, kUnknown };

// One thing that stands in the way.
struct Conflict {
  std::string requested;  // what was asked for, in canonical form
  std::string held;       // what of it is held
  std::string common;     // a name that both cover
  Mode mode = Mode::kExclusive;
  bool waiting = false;  // not held: an earlier request in the queue
  std::string agent;
  std::string session;  // empty: none
  std::string lease_id;
  std::uint64_t fence = 0;  // 0 for a waiter
  std::string reason;
  std::string task;
  std::chrono::system_clock::time_point since = {};
  std::optional<std::chrono::system_clock::time_point> until = std::nullopt;  // nullopt: no end
  Alive alive = Alive::kUnknown;  // of its processes; kUnknown also if it is bound to none
};

struct Refusal {
  enum class Why {
    kHeld,       // another holds it, and no wait was asked for
    kTimeout,    // not granted within the wait
    kDeadlock,   // waiting would never end; release something first
    kCancelled,  // options.cancel was requested, or the realm was destroyed
  };
  Why why = Why::kHeld;
  std::vector<Conflict> conflicts;  // every one; for kTimeout and kCancelled as last seen
  Error error;                      // the same in words, with one next step
};

// Granted, refused or failed. Granted means committed as durably as the realm is configured;
// refused and failed mean that nothing is held, but for the error kUnknown (I9).
class [[nodiscard]] Acquired {
 public:
  Acquired(Lease lease) : outcome_(std::move(lease)) {}        // NOLINT: meant to be implicit,
  Acquired(Refusal refusal) : outcome_(std::move(refusal)) {}  // NOLINT: like
  Acquired(Error error) : outcome_(std::move(error)) {}        // NOLINT: these

  explicit operator bool() const { return std::holds_alternative<Lease>(outcome_); }
  // REQUIRES: granted. `Lease lease = *std::move(acquired);` takes it out.
  Lease& operator*() & { return std::get<Lease>(outcome_); }
  Lease&& operator*() && { return std::get<Lease>(std::move(outcome_)); }
  Lease* operator->() { return &std::get<Lease>(outcome_); }
  const Lease* operator->() const { return &std::get<Lease>(outcome_); }

  // Null: it was not refused.
  const Refusal* refusal() const { return std::get_if<Refusal>(&outcome_); }
  // Of a refusal, or the failure. REQUIRES: not granted.
  const Error& error() const {
    return refusal() != nullptr ? refusal()->error : std::get<Error>(outcome_);
  }

 private:
  std::variant<Lease, Refusal, Error> outcome_;
};

}  // namespace lockkeeper
