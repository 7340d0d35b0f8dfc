#include "hub/sessions.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/parse.h"
#include "base/text.h"
#include "realm/server.h"

namespace lockkeeper::hub {
namespace {

constexpr std::size_t kSessionsMax = 10'000;
constexpr std::size_t kNumbersMax = 10'000;  // of one session
constexpr std::size_t kGoneMax = 100'000;
constexpr std::size_t kSessionDigits = 32;
constexpr int kMissedMax = 2;

std::unexpected<Error> too_many() {
  return fail(Code::kLimitExceeded,
              "a session has at most " + std::to_string(kNumbersMax) + " processes",
              "end some of them");
}

Error not_yours() {
  return {Code::kInvalidInput, "the number of the process is not one of this session's",
          "stop the relay on this machine and ask again"};
}

bool is_over(std::int64_t beat_ms, std::int64_t now) {
  return now - beat_ms >= realm::kSessionMs;
}

struct RelayMark {
  std::string session;
  std::int64_t at_ms = 0;
  bool meets = false;
};

RelayMark mark_in(std::string relay) {
  RelayMark mark;
  mark.meets = relay.ends_with(realm::kMeetsFirst);
  if (mark.meets) relay.resize(relay.size() - std::string_view(realm::kMeetsFirst).size());
  const std::size_t at = relay.find('@');
  mark.session = relay.substr(0, at);
  if (at != std::string::npos) {
    mark.at_ms = number_in<std::int64_t>(relay.substr(at + 1)).value_or(0);
  }
  return mark;
}

}  // namespace

std::uint64_t Sessions::mark_of(const std::string& person) {
  return hash64(person) >> kOwnBits;
}

Result<void> Sessions::check_mark(const std::string& person, std::uint64_t number) {
  if (number >> kOwnBits == mark_of(person)) return {};
  return fail(not_yours());
}

std::string Sessions::session_in(const std::string& relay) {
  return mark_in(relay).session;
}

bool Sessions::meets_first(const std::string& relay) {
  return mark_in(relay).meets;
}

bool Sessions::is_first_minute(std::int64_t now) const {
  return now - started_ms_ < realm::kSessionMs;
}

bool Sessions::may_take(const std::string& person, std::uint64_t number) const {
  return number >> kOwnBits == mark_of(person) && !owners_.contains(number) &&
         !gone_.contains(number);
}

void Sessions::note_death(const Session::Number& number) {
  deaths_.realms.insert(number.realms.begin(), number.realms.end());
  deaths_.anywhere = deaths_.anywhere || number.realms.empty();
}

Sessions::Deaths Sessions::take_deaths() {
  const std::lock_guard hold(mutex_);
  forget_over(now_ms());
  return std::exchange(deaths_, {});
}

void Sessions::drop(All::iterator session) {
  for (const auto& [number, known] : session->second.numbers) {
    owners_.erase(number);
    note_death(known);
  }
  session->second.numbers.clear();
}

void Sessions::forget_over(std::int64_t now) {
  std::erase_if(gone_, [&](const auto& each) { return now >= each.second; });
  for (auto each = all_.begin(); each != all_.end();) {
    if (!is_over(each->second.beat_ms, now)) {
      ++each;
      continue;
    }
    drop(each);
    each = all_.erase(each);
  }
}

Result<Sessions::All::iterator> Sessions::open(const std::string& person,
                                               const std::string& session, std::int64_t now) {
  if (session.size() != kSessionDigits || from_hex(session).size() != kSessionDigits / 2) {
    return fail(Code::kInvalidInput, quote(session) + " is not the name of a relay's session",
                "use 32 hexadecimal digits, drawn at random");
  }
  forget_over(now);
  const auto found = all_.try_emplace(person + '/' + session).first;
  if (all_.size() > kSessionsMax) {
    all_.erase(found);
    return fail(Code::kLimitExceeded,
                "the hub has " + std::to_string(kSessionsMax) + " sessions of relays",
                "try again in a minute");
  }
  found->second.beat_ms = now;
  return found;
}

Result<std::vector<std::uint64_t>> Sessions::beat(const Beat& beat) {
  const std::lock_guard hold(mutex_);
  const std::int64_t now = now_ms();
  LK_ASSIGN(const auto session, open(beat.person, beat.session, now));
  auto& numbers = session->second.numbers;
  if (std::max(beat.living.size(), beat.gone.size()) > kNumbersMax) return too_many();
  for (auto& [number, known] : numbers) {
    if (beat.at_ms > known.since_ms || known.since_ms == 0) ++known.missed;
  }
  std::vector<std::uint64_t> lost;
  for (const std::uint64_t number : beat.living) {
    const auto known = numbers.find(number);
    if (known != numbers.end()) {
      known->second.missed = 0;
    } else if ((beat.kept || is_first_minute(now)) && may_take(beat.person, number)) {
      numbers[number] = {0, beat.at_ms, {}};
      owners_[number] = session->first;
    } else {
      lost.push_back(number);
    }
  }
  std::vector<std::uint64_t> gone = beat.gone;
  for (const auto& [number, known] : numbers) {
    if (known.missed >= kMissedMax) gone.push_back(number);
  }
  for (const std::uint64_t number : gone) {
    const auto known = numbers.find(number);
    if (known != numbers.end()) {
      note_death(known->second);
      owners_.erase(number);
      numbers.erase(known);
    } else if (!may_take(beat.person, number)) {
      continue;
    } else if (beat.kept || is_first_minute(now)) {
      deaths_.anywhere = true;
    }
    if (gone_.size() < kGoneMax) gone_[number] = now + realm::kSessionMs;
  }
  return lost;
}

void Sessions::lose(const std::string& person, const std::string& session) {
  const std::lock_guard hold(mutex_);
  const auto known = all_.find(person + '/' + session);
  if (known == all_.end()) return;
  drop(known);
  all_.erase(known);
}

Result<void> Sessions::attach(const std::string& person, const std::string& relay,
                              const std::string& realm, std::uint64_t number) {
  const std::lock_guard hold(mutex_);
  const RelayMark mark = mark_in(relay);
  LK_ASSIGN(const auto mine, open(person, mark.session, now_ms()));
  auto& numbers = mine->second.numbers;
  if (const auto known = numbers.find(number); known != numbers.end()) {
    known->second.realms.insert(realm);
    return {};
  }
  if (gone_.contains(number)) {
    return fail(Code::kLost, "the process has ended", "ask again from a process that lives");
  }
  if (!may_take(person, number)) {
    return fail(not_yours());
  }
  if (numbers.size() >= kNumbersMax) return too_many();
  numbers[number] = {0, mark.at_ms, {realm}};
  owners_[number] = mine->first;
  return {};
}

std::optional<core::Alive> Sessions::alive(std::uint64_t number) const {
  const std::lock_guard hold(mutex_);
  if (gone_.contains(number)) return core::Alive::kDead;
  const auto owner = owners_.find(number);
  if (owner == owners_.end()) return std::nullopt;
  const bool over = is_over(all_.at(owner->second).beat_ms, now_ms());
  return over ? core::Alive::kDead : core::Alive::kAlive;
}

std::size_t Sessions::count() const {
  const std::lock_guard hold(mutex_);
  return all_.size();
}

}  // namespace lockkeeper::hub
