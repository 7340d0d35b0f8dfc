#include "kv/etcd/session.h"

#include <algorithm>
#include <bit>

#include "base/clock.h"
#include "base/random.h"

namespace lockkeeper::kv::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A minute is promised from the last moment at which the store was alive, which may be that long
// after it was last said.
constexpr std::int64_t kKeptSeconds = 90;
constexpr seconds kSayEvery{20};
constexpr seconds kSayAgain{1};

constexpr milliseconds kShareFor{60'000};  // the least time in which rows may share a lease
constexpr std::int64_t kParts = 8;         // lifetimes are rounded up by at most an eighth

// Any but zero, and positive where etcd takes the number as signed.
std::uint64_t new_id() {
  return (SystemRandom().next() >> 1) | 1;
}

Lifetime rounded(Lifetime lifetime) {
  const auto top = std::bit_floor(static_cast<std::uint64_t>(lifetime));
  const auto step = std::max<Lifetime>(static_cast<Lifetime>(top) / kParts, 1);
  return (lifetime + step - 1) / step * step;
}

}  // namespace

Session::Session(Client& client, std::shared_ptr<std::atomic<std::int64_t>> kept_ms,
                 std::function<void()> lost)
    : client_(client), kept_ms_(std::move(kept_ms)), lost_(std::move(lost)) {}

void Session::note_kept(std::int64_t sent_ms) {
  if (kept_ms_) *kept_ms_ = sent_ms;
}

Session::~Session() {
  close();
}

void Session::close() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (keeper_.joinable()) keeper_.join();
}

Result<std::uint64_t> Session::lease_for(Lifetime lifetime) {
  return lifetime == kWhileOpen ? kept_lease() : shared_lease(rounded(lifetime));
}

Result<std::uint64_t> Session::kept_lease() {
  {
    const std::lock_guard lock(mutex_);
    if (kept_ != 0) return kept_;
  }
  const std::lock_guard turn(granting_);
  {
    const std::lock_guard lock(mutex_);
    if (kept_ != 0) return kept_;
  }
  const std::uint64_t id = new_id();
  const std::int64_t sent_ms = SystemClock().now().mono_ms;
  LK_CHECK(client_.grant_lease(id, kKeptSeconds));
  note_kept(sent_ms);
  const std::lock_guard lock(mutex_);
  kept_ = id;
  if (!keeper_.joinable()) keeper_ = std::thread([this] { keep_alive(); });
  return id;
}

Result<std::uint64_t> Session::shared_lease(Lifetime lifetime) {
  // The row is put after this call, within the time that a transaction may take.
  const auto needed = milliseconds(lifetime) + client_.patience().all;
  const auto found = [&]() -> std::uint64_t {
    const std::lock_guard lock(mutex_);
    const auto at = shared_.find(lifetime);
    return at != shared_.end() && Clock::now() + needed <= at->second.ends ? at->second.id : 0;
  };
  if (const std::uint64_t id = found(); id != 0) return id;
  const std::lock_guard turn(granting_);
  if (const std::uint64_t id = found(); id != 0) return id;
  const auto length = needed + std::max(kShareFor, milliseconds(lifetime / kParts));
  // Clocks of two machines do not run equally fast; a thousandth is far more than they differ.
  const auto ttl_s = std::chrono::ceil<seconds>(length + length / 1000);
  const auto before = Clock::now();  // it is granted later than that, so it ends later
  const std::uint64_t id = new_id();
  LK_CHECK(client_.grant_lease(id, ttl_s.count()));
  const std::lock_guard lock(mutex_);
  std::erase_if(shared_, [&](const auto& each) { return each.second.ends < before; });
  shared_[lifetime] = {id, before + length};
  return id;
}

void Session::doubt_leases() {
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    shared_.clear();
    id = kept_;
  }
  if (id != 0) static_cast<void>(ask(id));
}

void Session::keep_alive() {
  std::unique_lock lock(mutex_);
  milliseconds pause = kSayEvery;
  while (true) {
    changed_.wait_for(lock, pause, [this] { return stopping_; });
    if (stopping_) return;
    const std::uint64_t id = kept_;
    if (id == 0) continue;
    lock.unlock();
    const bool said = ask(id);
    lock.lock();
    pause = said ? milliseconds(kSayEvery) : milliseconds(kSayAgain);
  }
}

bool Session::ask(std::uint64_t id) {
  const std::int64_t sent_ms = SystemClock().now().mono_ms;
  const auto left = client_.keep_lease(id);
  if (!left) return false;
  if (*left > 0) {
    note_kept(sent_ms);
    return true;
  }
  {
    const std::lock_guard lock(mutex_);
    if (kept_ != id) return true;  // another thread has heard it too
    kept_ = 0;                     // the next row that needs one gets a new one
  }
  lost_();
  return true;
}

}  // namespace lockkeeper::kv::etcd
