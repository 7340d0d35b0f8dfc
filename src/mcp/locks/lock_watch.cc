#include "mcp/locks/lock_watch.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "base/clock.h"
#include "base/sha256.h"
#include "mcp/locks/resources.h"
#include "service/questions.h"
#include "service/report.h"

namespace lockkeeper::mcp::locks {
namespace {

constexpr auto kWatchTick = std::chrono::milliseconds(100);
constexpr std::int64_t kWatchEveryMs = 1'000;
constexpr std::int64_t kSameEndMs = 1'000;
constexpr std::int64_t kComesWithinMs = 10'000;
constexpr std::size_t kExpectedMax = 10'000;

std::int64_t steady_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

void take_ends(Json& json, std::vector<std::int64_t>& ends) {
  if (!json.is_structured()) return;
  for (const auto& [name, value] : json.items()) {
    if (name == "expires_at" && value.is_string()) {
      ends.push_back(parse_time(value.get_ref<const std::string&>()).value_or(0));
      value = "later";
    }
    take_ends(value, ends);
  }
}

}  // namespace

Shown Shown::in(Json json) {
  Shown shown;
  take_ends(json, shown.ends);
  shown.digest = sha256_hex(service::dump(json));
  return shown;
}

bool Shown::is_same(const Shown& other) const {
  return digest == other.digest &&
         std::ranges::equal(ends, other.ends, [](std::int64_t a, std::int64_t b) {
           return std::abs(a - b) < kSameEndMs;
         });
}

LockWatch::LockWatch(service::Locks locks, std::function<std::set<std::string>()> watched,
                     std::function<void(const std::string& uri)> changed)
    : locks_(std::move(locks)), watched_(std::move(watched)), changed_(std::move(changed)) {
  thread_ = std::thread([this] { loop(); });
}

LockWatch::~LockWatch() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  woken_.notify_all();
  thread_.join();
}

// The content when the client began to watch. If it cannot be read, the first successful read
// counts as a change.
void LockWatch::expect(const std::string& uri) {
  const auto content = content_of(uri);
  const std::lock_guard lock(mutex_);
  const auto [found, first] = known_.try_emplace(uri);
  if (first) found->second.content = content;
  found->second.expected_ms = steady_ms();
  if (known_.size() > kExpectedMax) known_.erase(found);
  woken_.notify_all();
}

std::optional<Shown> LockWatch::content_of(const std::string& uri) {
  service::Locks locks(locks_.site(), locks_.owner());
  const auto json = lock_resource(locks, uri);
  if (!json) return std::nullopt;
  return *json ? Shown::in(**json) : Shown();
}

// Drops what is no longer watched. REQUIRES: the lock is not held.
bool LockWatch::any_watched(std::set<std::string>& uris) {
  const std::set<std::string> wanted = watched_();
  const std::lock_guard lock(mutex_);
  const std::int64_t now = steady_ms();
  std::erase_if(known_, [&](const auto& entry) {
    return !wanted.contains(entry.first) && now - entry.second.expected_ms > kComesWithinMs;
  });
  uris.clear();
  for (const auto& [uri, seen] : known_) uris.insert(uri);
  return !uris.empty();
}

void LockWatch::look(const std::set<std::string>& uris) {
  for (const std::string& uri : uris) {
    const auto content = content_of(uri);
    if (!content) continue;  // unknown
    {
      const std::lock_guard lock(mutex_);
      const auto found = known_.find(uri);
      if (found == known_.end()) continue;
      if (found->second.content && found->second.content->is_same(*content)) continue;
      found->second.content = content;
    }
    changed_(uri);
  }
}

void LockWatch::loop() {
  std::set<std::string> uris;
  std::uint64_t newest = 0;
  std::int64_t looked_ms = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (known_.empty()) {
        woken_.wait(lock, [this] { return ending_ || !known_.empty(); });
      } else {
        woken_.wait_for(lock, kWatchTick, [this] { return ending_; });
      }
      if (ending_) return;
    }
    if (!any_watched(uris)) continue;
    const auto now = service::newest_event(locks_.site());
    const bool moved = now && *now != newest;
    if (!moved && steady_ms() - looked_ms < kWatchEveryMs) continue;
    if (now) newest = *now;
    looked_ms = steady_ms();
    look(uris);
  }
}

}  // namespace lockkeeper::mcp::locks
