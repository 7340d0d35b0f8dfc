#include "relay/rotation.h"

namespace lockkeeper::relay {

std::optional<Rotation::Next> Rotation::next(const std::vector<bool>& tried,
                                             std::int64_t now_ms) const {
  const std::lock_guard hold(mutex_);
  std::vector<std::size_t> awake;
  std::vector<std::size_t> resting;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const std::size_t at = (current_ + i) % all_.size();
    if (tried[at]) continue;
    const bool rests = all_[at].failed && now_ms < all_[at].until_ms;
    (rests ? resting : awake).push_back(at);
  }
  const std::vector<std::size_t>& left = awake.empty() ? resting : awake;
  if (left.empty()) return std::nullopt;
  return Next{left.front(), left.size() - 1};
}

void Rotation::answered(std::size_t at) {
  const std::lock_guard hold(mutex_);
  all_[at].failed = false;
  // Another call's answer may be older than that of the one that is asked now.
  if (all_[current_].failed) current_ = at;
}

void Rotation::failed(std::size_t at, std::int64_t now_ms) {
  const std::lock_guard hold(mutex_);
  all_[at] = {true, now_ms + kRestMs};
}

}  // namespace lockkeeper::relay
