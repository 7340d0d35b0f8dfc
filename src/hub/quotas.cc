#include "hub/quotas.h"

#include <algorithm>

namespace lockkeeper::hub {
namespace {

// Whoever is at the limit and asks on does not make the hub read all of its table each time.
constexpr std::int64_t kReadAgainMs = 1'000;

std::string key_of(const std::string& realm, const std::string& person) {
  return realm + '\n' + person;
}

}  // namespace

Quotas::Asking::~Asking() {
  if (quotas_ == nullptr) return;
  const std::lock_guard hold(quotas_->mutex_);
  Known& known = quotas_->known_[key_];
  known.asking -= more_;
  if (granted_) known.has += more_;
}

// What is granted meanwhile may be counted twice, never not at all.
Result<void> Quotas::read(Known& known, std::unique_lock<std::mutex>& hold,
                          const std::function<Result<std::size_t>()>& count) {
  ++known.reading;
  const std::size_t before = known.has;
  hold.unlock();
  const auto has = count();
  hold.lock();
  --known.reading;
  if (!has) return fail(has.error());
  const std::size_t granted_meanwhile = known.has - std::min(before, known.has);
  known.has = *has + granted_meanwhile;
  ++known.reads;
  return {};
}

Result<Quotas::Asking> Quotas::ask(const std::string& realm, const std::string& person,
                                   std::size_t more, std::size_t most, std::int64_t now_mono_ms,
                                   const std::function<Result<std::size_t>()>& count) {
  std::string key = key_of(realm, person);
  std::unique_lock hold(mutex_);
  Known& known = known_[key];  // stays where it is
  const auto fits = [&] { return known.has + known.asking + more <= most; };
  const bool full = known.full_at_ms != 0 && now_mono_ms - known.full_at_ms < kReadAgainMs;
  if (known.reads == 0 || (!fits() && !full)) {
    LK_CHECK(read(known, hold, count));
    known.full_at_ms = fits() ? 0 : now_mono_ms;
  }
  if (!fits()) {
    return fail(Code::kLimitExceeded,
                person + " has " + std::to_string(known.has + known.asking) +
                    " resources here and asks for " + std::to_string(more) +
                    " more; the limit is " + std::to_string(most),
                "release some, or ask for a folder or a pattern");
  }
  known.asking += more;
  return Asking(this, std::move(key), more);
}

std::uint64_t Quotas::begin_release(const std::string& realm, const std::string& person) {
  const std::lock_guard hold(mutex_);
  return known_[key_of(realm, person)].reads;
}

// A read that goes on at the same time may have seen it already.
void Quotas::end_release(const std::string& realm, const std::string& person, std::uint64_t begun,
                         std::size_t count) {
  const std::lock_guard hold(mutex_);
  Known& known = known_[key_of(realm, person)];
  if (known.reading > 0 || known.reads != begun) return;
  known.has -= std::min(known.has, count);
}

}  // namespace lockkeeper::hub
