// How much each person may have in each realm, whatever its agents are called. The table counts for
// each agent, and a client may invent agents.
//
// What a person has is read from the table only when it may be too much. Until then it is at most
// what it was when it was read, and what was granted since, less what was given back.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/error.h"

namespace lockkeeper::hub {

class Quotas {
 public:
  // So much is being asked for. It counts until this ends, and after that only if it was granted.
  class Asking {
   public:
    Asking(Quotas* quotas, std::string key, std::size_t more)
        : quotas_(quotas), key_(std::move(key)), more_(more) {}
    ~Asking();
    Asking(Asking&& other) noexcept
        : quotas_(std::exchange(other.quotas_, nullptr)),
          key_(std::move(other.key_)),
          more_(other.more_),
          granted_(other.granted_) {}
    Asking& operator=(Asking&&) = delete;
    void granted() { granted_ = true; }

   private:
    Quotas* quotas_;
    std::string key_;
    std::size_t more_;
    bool granted_ = false;
  };

  // `count` reads what the person has. limit_exceeded: with `more` it would be above `most`.
  Result<Asking> ask(const std::string& realm, const std::string& person, std::size_t more,
                     std::size_t most, std::int64_t now_mono_ms,
                     const std::function<Result<std::size_t>()>& count);

  // Before and after a release: so much was given back.
  std::uint64_t begin_release(const std::string& realm, const std::string& person);
  void end_release(const std::string& realm, const std::string& person, std::uint64_t begun,
                   std::size_t count);

 private:
  struct Known {
    std::size_t has = 0;  // at most; without what is being asked for
    std::size_t asking = 0;
    std::uint64_t reads = 0;  // ended so far
    int reading = 0;
    std::int64_t full_at_ms = 0;  // when it was read last and was too much; 0: never
  };
  // REQUIRES: `hold` is locked.
  Result<void> read(Known& known, std::unique_lock<std::mutex>& hold,
                    const std::function<Result<std::size_t>()>& count);

  std::mutex mutex_;
  std::map<std::string, Known> known_;
};

}  // namespace lockkeeper::hub
