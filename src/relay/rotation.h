// Which of a hub's addresses is asked next. A call stays with the one that answered last. One that
// did not answer rests for some seconds, as long as there are others.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace lockkeeper::relay {

class Rotation {
 public:
  static constexpr std::int64_t kRestMs = 5'000;

  explicit Rotation(std::size_t count) : all_(count) {}

  struct Next {
    std::size_t at = 0;
    std::size_t after = 0;  // so many are left after this one; that rest, only if this one does
  };
  // For a call that has asked those of `tried`. nullopt: all of them.
  std::optional<Next> next(const std::vector<bool>& tried, std::int64_t now_ms) const;

  void answered(std::size_t at);
  void failed(std::size_t at, std::int64_t now_ms);

 private:
  struct Address {
    bool failed = false;        // since it answered
    std::int64_t until_ms = 0;  // of its rest
  };

  mutable std::mutex mutex_;  // protects what is below
  std::vector<Address> all_;
  std::size_t current_ = 0;
};

}  // namespace lockkeeper::relay
