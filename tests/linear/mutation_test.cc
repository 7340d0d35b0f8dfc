// A history of the real table, one call after the other, so that every answer is the only right
// one. Spread over time it stays good; with any answer changed it must not.
#include <gtest/gtest.h>

#include <random>

#include "linear/check.h"
#include "linear/door.h"
#include "support/campaign.h"
#include "support/stage.h"

namespace lockkeeper::linear {
namespace {

constexpr std::size_t kCalls = 240;

class Mutation : public testing::Test {
 protected:
  void SetUp() override {
    random_.seed(campaign_.seed());
    stage_.file("lockkeeper.toml", "[store]\ndurability = \"process\"\n");
    door_ = library_door(stage_.repo(), stage_.env);
    while (history_.calls.size() < kCalls) record();
  }

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  void record() {
    static const char* const kPlaces[] = {"src/a", "src/b", "src/*", "src/", "src/d/c"};
    static const char* const kOwners[] = {"a@s", "a@s", "a@s/x", "a@s/y", "b", "c"};
    Call call;
    call.number = history_.calls.size() + 1;
    call.process = "p1";
    call.owner = kOwners[below(std::size(kOwners))];
    const std::uint64_t dice = below(20);
    call.asked.verb = dice < 9    ? Verb::kAcquire
                      : dice < 13 ? Verb::kRelease
                      : dice < 17 ? Verb::kCheck
                      : dice < 19 ? Verb::kRenew
                                  : Verb::kBreak;
    if (call.asked.verb == Verb::kRenew && grants_.empty()) call.asked.verb = Verb::kCheck;
    const bool by_id = call.asked.verb == Verb::kRenew ||
                       (call.asked.verb == Verb::kRelease && !grants_.empty() && below(3) != 0);
    if (by_id) {
      const Call& grant = grants_[below(grants_.size())];
      call.asked.lease = grant.told.lease;
      if (below(3) != 0) call.owner = grant.owner;
    } else {
      const core::Mode mode = below(3) == 0 ? core::Mode::kShared : core::Mode::kExclusive;
      call.asked.wishes.push_back({kPlaces[below(std::size(kPlaces))], mode});
    }
    call.asked.keep_ttl = call.asked.verb == Verb::kRenew;
    choose_terms(call, by_id);
    call.invoked = monotonic_ns();
    door_->ask(call, 0, [] {});
    call.returned = monotonic_ns();
    if (call.told.word == "granted") grants_.push_back(call);
    if (!call.asked.request_id.empty()) repeatable_.push_back(call);
    history_.calls.push_back(std::move(call));
  }

  // Who keeps it, under which lease, and asked before or not.
  void choose_terms(Call& call, bool by_id) {
    Asked& asked = call.asked;
    const bool acquires = asked.verb == Verb::kAcquire;
    if ((acquires || asked.verb == Verb::kRelease) && below(2) == 0) asked.attach = "p1";
    asked.only_own_hold = by_id && !asked.attach.empty() && below(2) == 0;
    if (asked.verb == Verb::kCheck && !grants_.empty() && below(2) == 0) {
      asked.fence = grants_[below(grants_.size())].told.fence;
    }
    if ((acquires || asked.verb == Verb::kCheck) && !grants_.empty() && below(5) == 0) {
      const Call& host = grants_[below(grants_.size())];
      asked.under = host.told.lease;
      asked.under_fence = host.told.fence;
    }
    if (!acquires || below(3) != 0) return;
    if (!repeatable_.empty() && below(2) == 0) {
      const Call& first = repeatable_[below(repeatable_.size())];
      call.owner = first.owner;
      asked.request_id = first.asked.request_id;
      if (below(4) != 0) asked.wishes = first.asked.wishes;
    } else {
      asked.request_id = "r" + std::to_string(call.number);
    }
  }

  // Every other answer that the verb could have given.
  static std::vector<Told> others(const Call& call, std::uint64_t first_fence) {
    static const std::map<Verb, std::vector<std::string>> kWords{
        {Verb::kAcquire, {"granted", "held", "renewed", "deadlock", "lost", "misused"}},
        {Verb::kRelease, {"released", "kept", "not_held", "not_owner", "not_found", "lost"}},
        {Verb::kRenew, {"renewed", "not_owner", "not_found", "lost"}},
        {Verb::kCheck, {"checked", "lost"}},
        {Verb::kBreak, {"broken", "not_found"}}};
    const Told& told = call.told;
    std::vector<Told> list;
    for (const std::string& word : kWords.at(call.asked.verb)) {
      if (word == told.word) continue;
      list.push_back(told);
      list.back().word = word;
      if (told.by) list.back().by.reset();
    }
    const auto with = [&](const auto& change) {
      list.push_back(told);
      change(list.back());
    };
    if (told.word == "checked") {
      with([](Told& t) { t.free = !t.free; });
      with([](Told& t) { t.mine = !t.mine; });
      with([](Told& t) { t.current = !t.current; });
    }
    if (told.by) with([](Told& t) { t.by->insert("somebody"); });
    // Of several that are broken one may lie in another: in which order they end, so that both are
    // named or one ends with the other, is not promised.
    const bool all_named =
        told.by && !told.by->empty() && (told.word != "broken" || told.by->size() == 1);
    if (all_named) with([](Told& t) { t.by->erase(t.by->begin()); });
    if (told.word == "renewed") with([](Told& t) { t.fence += 1; });
    if (told.fence > first_fence) with([&](Told& t) { t.fence = first_fence; });
    return list;
  }

  stage::Stage stage_;
  stage::Campaign campaign_;
  std::mt19937_64 random_;
  std::unique_ptr<Door> door_;
  History history_;
  std::vector<Call> grants_;
  std::vector<Call> repeatable_;
};

TEST_F(Mutation, SpreadOverTimeAGoodHistoryStaysGood) {
  const Verdict first = check(history_);
  ASSERT_EQ(first.outcome, Outcome::kLinearizable) << campaign_.repeat() << first.why;
  for (int round = 0; round < 20; ++round) {
    History spread = history_;
    for (std::size_t i = 0; i < spread.calls.size(); ++i) {
      const std::size_t later = std::min(i + below(5), spread.calls.size() - 1);
      spread.calls[i].returned = history_.calls[later].returned;
    }
    const Verdict verdict = check(spread);
    EXPECT_EQ(verdict.outcome, Outcome::kLinearizable) << campaign_.repeat() << verdict.why;
  }
}

TEST_F(Mutation, EveryChangedAnswerIsFound) {
  std::size_t tried = 0;
  const std::uint64_t first_fence = grants_.empty() ? 0 : grants_.front().told.fence;
  for (std::size_t i = 0; i < history_.calls.size(); ++i) {
    const Told right = history_.calls[i].told;
    for (const Told& wrong : others(history_.calls[i], first_fence)) {
      history_.calls[i].told = wrong;
      const Verdict verdict = check(history_);
      EXPECT_EQ(verdict.outcome, Outcome::kViolated)
          << campaign_.repeat() << invocation_line(history_.calls[i])
          << return_line(history_.calls[i]) << "instead of " << right.word;
      ++tried;
    }
    history_.calls[i].told = right;
  }
  EXPECT_GT(tried, 2 * kCalls);
}

// A call that was answered, put to another time: before the one it depended on.
TEST_F(Mutation, AGrantBeforeTheReleaseThatMadeWayIsFound) {
  std::size_t tried = 0;
  for (std::size_t i = 0; i + 1 < history_.calls.size(); ++i) {
    const Call& first = history_.calls[i];
    const Call& second = history_.calls[i + 1];
    const bool made_way = first.told.word == "released" && second.told.word == "granted" &&
                          first.owner != second.owner;
    History moved = history_;
    std::swap(moved.calls[i], moved.calls[i + 1]);
    std::swap(moved.calls[i].invoked, moved.calls[i + 1].invoked);
    std::swap(moved.calls[i].returned, moved.calls[i + 1].returned);
    if (!made_way) continue;
    // It made way only if it was in the way: without it the second is refused.
    History without = history_;
    without.calls.erase(without.calls.begin() + static_cast<std::ptrdiff_t>(i));
    without.calls.resize(i + 1);
    if (check(without).outcome == Outcome::kLinearizable) continue;
    EXPECT_EQ(check(moved).outcome, Outcome::kViolated) << campaign_.repeat();
    ++tried;
  }
  RecordProperty("swapped", static_cast<int>(tried));
}

}  // namespace
}  // namespace lockkeeper::linear
