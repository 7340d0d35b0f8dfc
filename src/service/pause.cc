#include "service/pause.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/text.h"
#include "service/questions.h"

namespace lockkeeper::service {
namespace {

constexpr std::string_view kPrefix = "feature:";
constexpr std::string_view kPurpose = ":pause";
constexpr std::int64_t kBusyPatienceMs = 30'000;  // as every wait has it

}  // namespace

std::string pause_key(std::string_view feature) {
  const bool whole = feature.starts_with(kPrefix) && feature.ends_with(kPurpose);
  if (whole && feature.size() > kPrefix.size() + kPurpose.size()) return std::string(feature);
  return std::string(kPrefix) + std::string(feature) + std::string(kPurpose);
}

Result<Gate> look_at_gate(Locks& locks, const std::string& feature) {
  LK_ASSIGN(const key::Parsed parsed, key::parse(pause_key(feature), locks.site().key_rules()));
  Gate gate;
  gate.key = parsed.resource.text();
  LK_ASSIGN(const std::vector<OverlappingClaim> claims,
            overlapping_claims(locks.site(), {&parsed.resource, 1}));
  for (const OverlappingClaim& one : claims) {
    if (one.lease.held_by(locks.owner())) {
      gate.mine = true;
      continue;
    }
    core::Conflict other;
    other.requested = {parsed.resource, core::Mode::kShared, 0};
    other.held = one.claim;
    other.witness = one.witness;
    other.holder = one.lease;
    other.alive = one.condition.alive;
    gate.others.push_back(std::move(other));
  }
  return gate;
}

Result<Passed> pass_gate(Locks& locks, const PassGate& how) {
  const auto now_ms = [&] { return locks.site().now().mono_ms; };
  const std::int64_t began = now_ms();
  std::int64_t seen = began;  // when it was last looked at in vain or not
  Passed passed;
  for (;;) {
    auto gate = look_at_gate(locks, how.feature);
    const std::int64_t now = now_ms();
    passed.waited_ms = now - began;
    const bool busy = !gate && gate.error().code == Code::kStoreBusy;
    if (!gate && (!busy || !how.wait_ms || now - seen > kBusyPatienceMs)) {
      return fail(std::move(gate.error()));
    }
    if (gate) {
      passed.gate = std::move(*gate);
      seen = now;
      if (passed.gate.open()) {
        passed.outcome = core::Outcome::kGranted;
        return passed;
      }
    }
    if (!how.wait_ms) return passed;
    const bool ever = *how.wait_ms == kWaitForever;
    if (!ever && passed.waited_ms >= *how.wait_ms) {
      passed.outcome = core::Outcome::kTimeout;
      return passed;
    }
    if (how.on_wait && !how.on_wait({passed.gate.others, 0, passed.waited_ms})) {
      passed.outcome = core::Outcome::kInterrupted;
      return passed;
    }
    const std::int64_t left = ever ? kGateLookMs : *how.wait_ms - passed.waited_ms;
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min(kGateLookMs, left)));
  }
}

std::string paused_text(const Gate& gate, std::int64_t now_wall_ms) {
  const std::string_view key = gate.key;
  const std::string_view feature =
      key.substr(kPrefix.size(), key.size() - kPrefix.size() - kPurpose.size());
  std::string text = "feature " + shown(feature) + " is paused";
  for (const core::Conflict& other : gate.others) {
    text += (&other == &gate.others.front() ? ": " : "; ") + holder_text(other, now_wall_ms);
  }
  return text;
}

Json gate_json(const Gate& gate) {
  Json json;
  json["key"] = gate.key;
  json["paused"] = gate.mine || !gate.open();
  json["mine"] = gate.mine;
  json["conflicts"] = Json::array();
  for (const core::Conflict& other : gate.others) json["conflicts"].push_back(conflict_json(other));
  return json;
}

}  // namespace lockkeeper::service
