// A nemesis at work while agents take locks: every few seconds something fails, and is healed. What
// everybody was told is recorded and judged (I1 I2 I3 I5 I6 I8 I9, L4, L9).
//
//   LOCKKEEPER_NEMESIS_SECONDS  how long; without it a minute with a fixed list of faults
//   LOCKKEEPER_NEMESIS_SEED     the same faults, and the same choices of those who ask
//   LOCKKEEPER_NEMESIS_ROUND    begins with that round of the seed
//   LOCKKEEPER_NEMESIS_STATE    a file that keeps what is done: a run that was stopped goes on
//   LOCKKEEPER_NEMESIS_HUBS     how many hubs; 2
//   LOCKKEEPER_NEMESIS_ONLY     only the faults whose name has this in it
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/bytes.h"
#include "linear/check.h"
#include "linear/door.h"
#include "nemesis/faults.h"
#include "nemesis/judge.h"
#include "nemesis/world.h"
#include "support/campaign.h"

namespace lockkeeper::nemesis {
namespace {

using stage::number_from;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr int kCalmMs = 1'500;
constexpr std::int64_t kRoundNs = 60 * kSecondNs;
// Then everything begins anew: what a table remembers for a day is not what etcd has to hold here.
constexpr std::uint64_t kRoundsOfAWorld = 6;
constexpr std::int64_t kPromisedMs = 5'000;
// A relay that was killed with those who asked it is known to be gone a minute later.
constexpr int kSilenceMs = 60'000 + stage::kPatienceMs;

// In a minute, without a seed.
const char* const kUsual[] = {"partition of the leader",       "a stopped leader",
                              "half-open connections to etcd", "kill -9 of a hub",
                              "kill -9 of the leader",         "kill -9 of a relay"};
constexpr int kShortMs = 3'000;

// What a run has come to, over all its rounds.
struct Sum {
  std::uint64_t rounds = 0, faults = 0, calls = 0, grants = 0, unknown = 0, resolved = 0;
  std::uint64_t conflicting = 0, in_queue_order = 0, late = 0;
  std::uint64_t highest_fence = 0;
  std::int64_t slowest_ms = 0;
  std::int64_t passed_ns = 0;
};

std::ostream& operator<<(std::ostream& out, const Sum& sum) {
  return out << sum.rounds << ' ' << sum.faults << ' ' << sum.calls << ' ' << sum.grants << ' '
             << sum.unknown << ' ' << sum.resolved << ' ' << sum.conflicting << ' '
             << sum.in_queue_order << ' ' << sum.late << ' ' << sum.highest_fence << ' '
             << sum.slowest_ms << ' ' << sum.passed_ns;
}

std::istream& operator>>(std::istream& in, Sum& sum) {
  return in >> sum.rounds >> sum.faults >> sum.calls >> sum.grants >> sum.unknown >> sum.resolved >>
         sum.conflicting >> sum.in_queue_order >> sum.late >> sum.highest_fence >> sum.slowest_ms >>
         sum.passed_ns;
}

void keep(const char* what, const std::string& text) {
  std::string path = lasting_folder() + "/lockkeeper-nemesis-XXXXXX";
  ::close(::mkstemp(path.data()));
  stage::write_text(path, text);
  std::printf("kept: %s, %s\n", path.c_str(), what);
}

class Nemesis : public testing::Test {
 protected:
  void SetUp() override {
    if (!why_not().empty()) GTEST_SKIP() << why_not();
    seed_ = number_from("LOCKKEEPER_NEMESIS_SEED", std::random_device{}());
    round_ = number_from("LOCKKEEPER_NEMESIS_ROUND", 0);
    seconds_ = number_from("LOCKKEEPER_NEMESIS_SECONDS", 0);
    if (const char* state = std::getenv("LOCKKEEPER_NEMESIS_STATE")) state_ = state;
    std::ifstream in(state_);
    if (!state_.empty() && in >> seed_ >> round_ >> sum_) {
      std::printf("goes on at round %llu\n", static_cast<unsigned long long>(round_));
    }
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed_));
    std::fflush(stdout);
  }

  bool is_long() const { return seconds_ != 0; }

  std::string repeat() const {
    return "seed " + std::to_string(seed_) + ", round " + std::to_string(round_) +
           "\nto repeat: LOCKKEEPER_NEMESIS_SEED=" + std::to_string(seed_) +
           " LOCKKEEPER_NEMESIS_ROUND=" + std::to_string(round_) +
           " LOCKKEEPER_NEMESIS_SECONDS=60 nemesis_test\n";
  }

  // Lets the world be as it is.
  void let_pass(int ms) {
    const std::int64_t until = linear::monotonic_ns() + ms * (kSecondNs / 1'000);
    while (linear::monotonic_ns() < until) {
      world_->hubs().tend();
      stage::pause_ms(20);
    }
  }

  void suffer(const Fault& fault, int ms) {
    std::printf("  %s, %d ms", fault.name.c_str(), ms);
    std::fflush(stdout);
    fault.begin();
    let_pass(ms);
    fault.end();
    world_->members().wait_until_sound();
    const std::int64_t took = world_->wait_for_progress();
    std::printf(": goes on after %lld ms\n", static_cast<long long>(took));
    std::fflush(stdout);
    ++sum_.faults;
    if (took > kPromisedMs) ++sum_.late;
    sum_.slowest_ms = std::max(sum_.slowest_ms, took);
    EXPECT_FALSE(HasFailure()) << fault.name << "\n" << repeat();
  }

  std::vector<const Fault*> usual(const std::vector<Fault>& all) const {
    std::vector<const Fault*> some;
    for (const char* const name : kUsual) {
      const auto found = std::ranges::find(all, name, &Fault::name);
      if (found != all.end()) some.push_back(&*found);
    }
    return some;
  }

  void begin_world() {
    world_.reset();
    world_ = std::make_unique<World>(number_from("LOCKKEEPER_NEMESIS_HUBS", 2));
    sum_.highest_fence = 0;
  }

  // One round: its history.
  std::string record() {
    std::mt19937_64 random(hash64(std::to_string(seed_), std::to_string(round_)));
    std::vector<Fault> all = all_faults(*world_, random);
    if (const char* only = std::getenv("LOCKKEEPER_NEMESIS_ONLY")) {
      std::erase_if(all, [&](const Fault& f) { return f.name.find(only) == std::string::npos; });
    }
    world_->begin_round(round_, random());
    world_->wait_for_progress();
    const std::int64_t began = linear::monotonic_ns();
    if (!is_long()) {
      for (const Fault* fault : usual(all)) {
        if (HasFailure()) break;
        suffer(*fault, std::min(kShortMs, fault->most_ms));
      }
    }
    for (int i = 0; is_long() && linear::monotonic_ns() - began < kRoundNs && !HasFailure(); ++i) {
      if (i == 2) world_->members().save(snapshot());
      const Fault& fault = all[random() % all.size()];
      const auto span = static_cast<std::uint64_t>(fault.most_ms - fault.least_ms) + 1;
      suffer(fault, fault.least_ms + static_cast<int>(random() % span));
      let_pass(kCalmMs);
    }
    return world_->end_round();
  }

  void judge_it(const std::string& text) {
    const Judged judged = judge(text);
    for (const std::string& violation : judged.violations) ADD_FAILURE() << violation;
    EXPECT_GT(judged.grants, 0U);
    EXPECT_TRUE(sum_.highest_fence == 0 || judged.lowest_fence > sum_.highest_fence)
        << "I3: a fence of this round is not above those of the rounds before";
    sum_.highest_fence = std::max(sum_.highest_fence, judged.highest_fence);
    sum_.grants += judged.grants;
    sum_.conflicting += judged.conflicting;
    sum_.in_queue_order += judged.in_queue_order;
    const linear::History history = settled(text);
    sum_.calls += history.calls.size();
    const linear::Verdict verdict = linear::check(history);
    std::printf("  %zu calls, %zu grants, %zu parts, %zu configurations\n", history.calls.size(),
                judged.grants, verdict.parts, verdict.configurations);
    std::fflush(stdout);
    EXPECT_EQ(verdict.outcome, linear::Outcome::kLinearizable) << verdict.why;
    if (HasFailure()) {
      keep("what was asked and told", text);
      keep("the same for linear_tool", linear::to_text(history));
      keep("the history of the table", world_->ask(0, {"log"}).out);
    }
    EXPECT_FALSE(HasFailure()) << repeat();
  }

  // What is held, and nobody knows of it. Of earlier rounds there may be anything: a restored
  // cluster also brings back what was given back since.
  std::string unknown_in(const stage::Json& list, const std::set<std::string>& known) const {
    const std::string of_this_round = "n" + std::to_string(round_) + ".";
    std::string unknown;
    for (const stage::Json& lease : list["leases"]) {
      const std::string session = lease["session"];
      const std::string resource = lease["resources"][0]["key"];
      if (resource.starts_with("n") && !resource.starts_with(of_this_round)) continue;
      if (known.contains(session.substr(0, session.find('@')))) continue;
      unknown += lease.dump() + "\n";
    }
    return unknown;
  }

  // Once all processes have ended, nobody holds what nobody knows of, and nobody waits.
  void look_at_what_is_left(const std::string& text) {
    const std::set<std::string> known = may_be_left(text);
    std::string unknown, waiting;
    const auto is_clean = [&] {
      world_->tend();
      const stage::Answer answer = world_->ask(0, {"list"});
      if (answer.status != 0) return false;
      unknown = unknown_in(answer.json(), known);
      waiting = answer.json()["waiters"].dump();
      return unknown.empty() && waiting == "[]";
    };
    EXPECT_TRUE(stage::eventually(is_clean, kSilenceMs))
        << "held, and nobody knows of it:\n"
        << unknown << "waiting, and nobody is there:\n"
        << waiting;
  }

  // The cluster comes back as it was some time before, in one of the two ways.
  void restore(bool bumped) {
    std::printf("  restored %s\n", bumped ? "with a greater revision" : "as it was, and repaired");
    world_->hubs().shut_down();
    world_->members().restore(snapshot(), bumped ? Restore::kBumped : Restore::kPlain);
    if (!bumped) {
      const stage::Answer repaired = world_->hubs().doctor({"--repair"});
      EXPECT_EQ(repaired.status, 0) << repaired.all();
    }
    world_->hubs().start();
    world_->hubs().wait_until_ready();
    ++sum_.faults;
  }
  std::string snapshot() const { return world_->folder() + "/snapshot"; }

  void add_up() {
    ++sum_.rounds;
    sum_.unknown += world_->campaign().unknown;
    sum_.resolved += world_->campaign().resolved;
  }

  std::uint64_t seed_ = 0, round_ = 0, seconds_ = 0;
  std::string state_;
  Sum sum_;
  std::unique_ptr<World> world_;
};

TEST_F(Nemesis, F24_F25_F26_F27_I1_I2_I3_I5_I6_I8_I9_L4_L9_NothingThatFailsBreaksAPromise) {
  const auto enough = [&] {
    return sum_.passed_ns >= static_cast<std::int64_t>(seconds_) * kSecondNs;
  };
  do {
    const std::int64_t began = linear::monotonic_ns();
    if (sum_.rounds % kRoundsOfAWorld == 0 || !world_) begin_world();
    std::printf("round %llu\n", static_cast<unsigned long long>(round_));
    const std::string text = record();
    look_at_what_is_left(text);
    judge_it(text);
    add_up();
    const std::uint64_t choice = hash64(std::to_string(seed_), std::to_string(round_) + "!") % 6;
    if (is_long() && choice < 2 && !HasFailure()) restore(choice == 0);
    sum_.passed_ns += linear::monotonic_ns() - began;
    ++round_;
    if (!state_.empty()) {
      std::ostringstream line;
      line << seed_ << ' ' << round_ << ' ' << sum_ << '\n';
      stage::write_text(state_, line.str());
    }
  } while (!HasFailure() && !enough());
  std::ostringstream line;
  line << sum_.passed_ns / kSecondNs << " s, " << sum_.rounds << " rounds, " << sum_.faults
       << " faults, " << sum_.calls << " calls, " << sum_.grants << " grants, " << sum_.conflicting
       << " pairs that conflict, " << sum_.in_queue_order << " in the queue in a known order, "
       << sum_.unknown << " answers unknown, " << sum_.resolved
       << " requests resolved; goes on after " << sum_.slowest_ms << " ms at most, " << sum_.late
       << " times after more than " << kPromisedMs << " ms";
  std::printf("%s\n", line.str().c_str());
}

}  // namespace
}  // namespace lockkeeper::nemesis
