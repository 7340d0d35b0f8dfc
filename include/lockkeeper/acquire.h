// What you ask for, and the answer: a lease, a refusal that names who is in the way, or an error.
//
// Thread safety: plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lockkeeper/error.h"
#include "lockkeeper/lease.h"

namespace lockkeeper {

enum class Mode {
  kExclusive,  // nobody else may hold anything that overlaps
  kShared,     // others may hold it too, if they hold it shared
};

struct AcquireOptions {
  Mode mode = Mode::kExclusive;
  // How long to wait in the queue. nullopt: do not wait. kForever: without a limit.
  std::optional<std::chrono::milliseconds> wait = std::nullopt;
  // How long the lease lasts after each renewal. nullopt: the realm's default, which is an hour
  // unless configured. kForever: it never ends by time. With a short ttl, others can go on sooner
  // if this process hangs; less than a few seconds is lost on a loaded machine.
  std::optional<std::chrono::milliseconds> ttl = std::nullopt;
  std::string reason = {};  // shown to callers that are refused
  std::string task = {};    // a label, for `lockkeeper list` and `lockkeeper release --task`
  // Repeating a call with the same id and the same arguments has the effect of one call. Give an id
  // if you want to ask again after an error of kUnknown.
  std::string request_id = {};
  // Called once if the lease is lost, with the cause, by a thread of the realm. By then lost() is
  // true and a stop is requested on lost_token(). It is not called after release() or the
  // destructor has returned. It may release or destroy the lease and the realm. It must not throw.
  // The realm's other losses are reported after it returns, so be brief.
  std::function<void(const Error&)> on_lost = {};
  // A requested stop ends the wait with kCancelled. If the lock is granted first, it stays granted.
  std::stop_token cancel = {};
};

inline constexpr std::chrono::milliseconds kForever = std::chrono::milliseconds::max();

enum class Alive { kYes, kNo, kUnknown };

// One lease or waiting request that is in the way.
struct Conflict {
  std::string requested;  // what was asked for, in canonical form
  std::string held;       // which resource of the other conflicts with it
  std::string common;     // a name that both cover
  Mode mode = Mode::kExclusive;
  bool waiting = false;  // true: it is not held, but an earlier request in the queue
  std::string agent;
  std::string session;  // empty: none
  std::string lease_id;
  std::uint64_t fence = 0;  // 0 if it is waiting
  std::string reason;
  std::string task;
  std::chrono::system_clock::time_point since = {};
  std::optional<std::chrono::system_clock::time_point> until = std::nullopt;  // nullopt: no end
  Alive alive = Alive::kUnknown;  // the holder's process; kUnknown also if it is bound to none
};

struct Refusal {
  enum class Why {
    kHeld,       // another owner holds it, and you did not ask to wait
    kTimeout,    // not granted within the wait
    kDeadlock,   // the wait would never end; release something first
    kCancelled,  // options.cancel was requested, or the realm was destroyed
  };
  Why why = Why::kHeld;
  std::vector<Conflict> conflicts;  // all of them; for kTimeout and kCancelled, as last seen
  Error error;                      // the same in words, with one hint
};

// Granted, refused or failed. A grant is committed as durably as the realm is configured. After a
// refusal or an error nothing is held; only after the error kUnknown it may be.
class [[nodiscard]] Acquired {
 public:
  Acquired(Lease lease, std::vector<std::string> warnings = {})  // NOLINT: meant to be implicit,
      : outcome_(std::move(lease)), warnings_(std::move(warnings)) {}
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
  // Why it was refused or failed. REQUIRES: not granted.
  const Error& error() const {
    return refusal() != nullptr ? refusal()->error : std::get<Error>(outcome_);
  }
  // Warnings about the request, such as an unknown purpose in a key; usually empty.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::variant<Lease, Refusal, Error> outcome_;
  std::vector<std::string> warnings_;
};

}  // namespace lockkeeper
