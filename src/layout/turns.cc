#include "layout/turns.h"

#include <utility>

namespace lockkeeper::layout {

Turns::Turn& Turns::Turn::operator=(Turn&& other) noexcept {
  end();
  turns_ = std::exchange(other.turns_, nullptr);
  key_ = other.key_;
  return *this;
}

void Turns::Turn::end() {
  if (Turns* const turns = std::exchange(turns_, nullptr)) turns->end(key_);
}

Turns::Turn Turns::take(std::uint64_t key, std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  Line& line = lines_[key];
  const auto own = line.emplace(line.end());
  Turn turn;
  if (own->wait_for(lock, most, [&] { return own == line.begin(); })) {
    turn.turns_ = this;
    turn.key_ = key;
  } else {
    line.erase(own);  // it was not the first, so somebody is left
  }
  return turn;
}

std::size_t Turns::in_line(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  const auto line = lines_.find(key);
  return line == lines_.end() ? 0 : line->second.size();
}

void Turns::end(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  const auto line = lines_.find(key);
  line->second.pop_front();
  if (line->second.empty()) {
    lines_.erase(line);
  } else {
    line->second.front().notify_one();
  }
}

}  // namespace lockkeeper::layout
