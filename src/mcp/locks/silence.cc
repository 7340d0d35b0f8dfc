#include "mcp/locks/silence.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "realm/server.h"
#include "service/questions.h"

namespace lockkeeper::mcp::locks {
namespace {

constexpr auto kLookForSilenceEvery = std::chrono::milliseconds(200);
// A beat is overdue: perhaps the relay was killed, and whoever asks starts another. Not later,
// because an answer may take 9 s.
constexpr std::int64_t kOverdueMs = 12'000;
constexpr std::int64_t kTooLateMs = 20'000;

core::LostLease lost_by_silence(const core::Lease& lease, std::int64_t now_wall_ms) {
  core::LostLease lost;
  lost.id = lost.filed = lease.id;
  lost.owner = lease.owner;
  for (const core::Claim& claim : lease.claims) lost.resources.push_back(claim.resource.text());
  lost.cause = "silent";
  lost.fence = lease.fence();
  lost.at_wall_ms = now_wall_ms;
  return lost;
}

}  // namespace

Silence::Silence(service::Site& site, Visitors& visitors, std::function<void()> changed)
    : site_(site), visitors_(visitors), changed_(std::move(changed)) {
  if (site_.server() != nullptr) thread_ = std::thread([this] { loop(); });
}

Silence::~Silence() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ended_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool Silence::is_on() const {
  const std::lock_guard lock(mutex_);
  return on_;
}

std::vector<core::LostLease> Silence::take_losses(const core::Owner& owner) {
  const std::lock_guard lock(mutex_);
  const auto theirs =
      std::ranges::partition(losses_, [&](const auto& each) { return each.owner != owner; });
  std::vector<core::LostLease> taken(theirs.begin(), theirs.end());
  losses_.erase(theirs.begin(), theirs.end());
  return taken;
}

void Silence::loop() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (ended_.wait_for(lock, kLookForSilenceEvery, [this] { return ending_; })) return;
    }
    if (visitors_.slots().empty()) continue;  // it holds nothing, and nobody beats for it
    const std::int64_t age = site_.table().contact_age_ms().value_or(0);
    if (age >= kOverdueMs && age < kTooLateMs) static_cast<void>(service::newest_event(site_));
    const bool silent = site_.is_out_of_contact();
    const bool was = is_on();
    if (silent == was) continue;
    if (was && !give_back()) continue;
    {
      const std::lock_guard lock(mutex_);
      on_ = silent;
    }
    if (silent) changed_();
  }
}

bool Silence::give_back() {
  const auto given = visitors_.give_back(visitors_.slots());
  if (!given) return false;
  const std::lock_guard lock(mutex_);
  for (const core::Lease& lease : *given) {
    losses_.push_back(lost_by_silence(lease, site_.now().wall_ms));
  }
  return true;
}

}  // namespace lockkeeper::mcp::locks
