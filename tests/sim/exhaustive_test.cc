// Exhaustive small worlds: three actors, short programs, two resources that overlap, all schedules.
//
// LOCKKEEPER_SCHEDULES=long: the three-step programs, and the optimistic store for all of them.
// LOCKKEEPER_SHARD=2/8: of those worlds every eighth, from the second on.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "small_world.h"

namespace lockkeeper::sim {
namespace {

using Kind = Step::Kind;
using core::Mode;

bool is_long() {
  const char* text = std::getenv("LOCKKEEPER_SCHEDULES");
  return text != nullptr && std::strcmp(text, "long") == 0;
}

struct Shard {
  unsigned number = 1;
  unsigned of = 1;
};
Shard shard() {
  Shard shard;
  const char* text = std::getenv("LOCKKEEPER_SHARD");
  if (text == nullptr) return shard;
  char* rest = nullptr;
  shard.number = static_cast<unsigned>(std::strtoul(text, &rest, 10));
  shard.of = *rest == '/' ? static_cast<unsigned>(std::strtoul(rest + 1, nullptr, 10)) : 0;
  if (shard.of == 0 || shard.number == 0 || shard.number > shard.of) shard = {1, 1};
  return shard;
}

Step x(int resource) {
  return {.kind = Kind::kAcquire, .resources = {resource}};
}
Step s(int resource) {
  return {.kind = Kind::kAcquire, .resources = {resource}, .mode = Mode::kShared};
}
Step waiting(Step step) {
  step.wait = true;
  return step;
}
Step brief(Step step) {
  step.brief = true;
  return step;
}
Step attached(Step step, bool grace = false) {
  step.attached = true;
  step.grace = grace;
  return step;
}
Step both(int a, int b) {
  return {.kind = Kind::kAcquire, .resources = {a, b}};
}
Step just(Kind kind) {
  return {.kind = kind};
}
Step on(Kind kind, int resource) {
  return {.kind = kind, .resources = {resource}};
}

// What an actor may do with one resource, `r`, knowing of another that overlaps it, `q`. Two steps
// each; the long run adds a third.
std::vector<std::vector<Step>> programs(int r, int q, bool third) {
  std::vector<std::vector<Step>> all = {
      {x(r), just(Kind::kRelease)},
      {s(r), on(Kind::kGiveBack, r)},
      {s(r), waiting(x(r))},  // an upgrade
      {waiting(x(r)), just(Kind::kPoll)},
      {waiting(s(r)), just(Kind::kPoll)},
      {waiting(x(r)), just(Kind::kCancel)},
      {x(r), waiting(x(q))},  // holds and waits
      {x(r), just(Kind::kRenew)},
      {brief(x(r)), just(Kind::kExpire)},
      {attached(x(r)), just(Kind::kDie)},
      {waiting(x(r)), just(Kind::kDie)},
      {on(Kind::kBreak, r), waiting(x(r))},
      {waiting(both(r, q)), just(Kind::kPoll)},
      {waiting(x(r)), just(Kind::kRepeat)},
  };
  if (!third) return all;
  for (std::vector<Step>& program : all) {
    const Kind last = program.back().kind;
    const bool again = last == Kind::kRelease || last == Kind::kGiveBack || last == Kind::kCancel;
    program.push_back(again ? waiting(x(q)) : just(Kind::kRelease));
  }
  return all;
}

const core::Owner kAnn{"ann", "s"};
const core::Owner kBob{"bob", "t"};
const core::Owner kCat{"cat", ""};

struct Pair {
  const char* name;
  const char* first;
  const char* second;
};
constexpr Pair kPairs[] = {{"a file and its folder", "src/a.py", "src/"},
                           {"a file and a pattern", "src/lib/c.py", "**/c.py"}};

struct Counted {
  std::uint64_t worlds = 0;
  std::uint64_t schedules = 0;
};

// The name of the world and its schedule first, then what was broken, then all that happened.
std::string report(const World& world, const Story& story, kv::Flavour flavour,
                   const std::string& what) {
  std::string trace;
  Schedule schedule;
  for (std::size_t i = std::strlen("schedule "); i < what.size() && what[i] != '\n'; ++i) {
    schedule.push_back(what[i] - '0');
  }
  try {
    play_one(world, story, flavour, schedule, trace);
  } catch (const Violation&) {
  }
  return what + "\n" + describe(story, world) +
         (flavour == kv::Flavour::kOptimistic ? "\noptimistic" : "\npessimistic") + "\n" + trace;
}

void play(const World& world, const Story& story, kv::Flavour flavour, Counted& counted) {
  static Probes probes;
  try {
    counted.schedules += play_all(world, story, flavour, probes);
    ++counted.worlds;
  } catch (const Violation& violation) {
    FAIL() << report(world, story, flavour, violation.what());
  }
}

// All triples of programs, whoever runs which; the third actor's resource is either one.
Counted all_triples(const World& world, const Pair& pair, kv::Flavour flavour, bool third,
                    std::size_t most) {
  const int r = world.index_of(pair.first);
  const int q = world.index_of(pair.second);
  const auto on_first = programs(r, q, third);
  const auto on_second = programs(q, r, third);
  const Shard mine = shard();
  Counted counted;
  unsigned number = 0;
  for (std::size_t a = 0; a < std::min(most, on_first.size()); ++a) {
    for (std::size_t b = 0; b < std::min(most, on_first.size()); ++b) {
      for (std::size_t c = b; c < std::min(most, on_first.size()); ++c) {
        if (number++ % mine.of != mine.number - 1) continue;
        const Story story{
            pair.name, {}, {{kAnn, on_first[a]}, {kBob, on_second[b]}, {kCat, on_second[c]}}};
        play(world, story, flavour, counted);
        if (testing::Test::HasFatalFailure()) return counted;
      }
    }
  }
  return counted;
}

void say(const char* what, const Counted& counted) {
  std::printf("%s: %llu worlds, %llu schedules, all of them\n", what,
              static_cast<unsigned long long>(counted.worlds),
              static_cast<unsigned long long>(counted.schedules));
}

constexpr std::size_t kAll = 100;

TEST(Exhaustive, I1_I2_I5_I6_I8_L4_L5_L9_every_schedule_of_whole_operations) {
  const World world;
  for (const Pair& pair : kPairs) {
    const std::size_t most = is_long() || &pair == &kPairs[0] ? kAll : 6;
    say(pair.name, all_triples(world, pair, kv::Flavour::kPessimistic, is_long(), most));
    if (HasFatalFailure()) return;
  }
}

TEST(Exhaustive, I1_I2_I5_I6_I8_L4_L5_L9_every_schedule_of_reads_and_commits) {
  const World world;
  // 34,650 schedules for each triple, and more where commits are refused.
  const std::size_t most = is_long() ? 9 : 1;
  say("reads and commits", all_triples(world, kPairs[0], kv::Flavour::kOptimistic, false, most));
}

class Stories : public testing::TestWithParam<kv::Flavour> {
 protected:
  void tell(const Story& story) {
    Counted counted;
    play(world_, story, GetParam(), counted);
    say(story.name.c_str(), counted);
  }
  const World world_;
  const int file_ = world_.index_of("src/a.py");
  const int folder_ = world_.index_of("src/");
};
INSTANTIATE_TEST_SUITE_P(Exhaustive, Stories,
                         testing::Values(kv::Flavour::kPessimistic, kv::Flavour::kOptimistic),
                         [](const auto& one) {
                           return one.param == kv::Flavour::kOptimistic ? "optimistic"
                                                                        : "pessimistic";
                         });

TEST_P(Stories, F21_I5_two_reapers_and_the_holder_that_renews_and_releases) {
  tell({"two reapers, renewal and release of what has expired",
        {{0, brief(x(file_))}, {1, waiting(x(folder_))}, {1, just(Kind::kExpire)}},
        {{kAnn, {just(Kind::kRenew), just(Kind::kRelease)}},
         {kBob, {just(Kind::kMaintain), just(Kind::kPoll)}},
         {kCat, {just(Kind::kMaintain)}}}});
  tell({"two reapers and the holder, before and after the end",
        {{0, brief(x(file_))}},
        {{kAnn, {just(Kind::kRenew), just(Kind::kRelease)}},
         {kBob, {just(Kind::kExpire), just(Kind::kMaintain)}},
         {kCat, {waiting(x(folder_))}}}});
  tell({"two reapers and a break of an orphan",
        {{0, attached(x(file_), true)}, {0, just(Kind::kDie)}, {1, waiting(x(folder_))}},
        {{kAnn, {}},
         {kBob, {just(Kind::kExpire), just(Kind::kPoll)}},
         {kCat, {just(Kind::kMaintain), on(Kind::kBreak, file_)}}}});
}

TEST_P(Stories, F3_L6_a_waiter_dies_before_or_after_it_is_granted) {
  tell({"the first waiter dies, the second is next",
        {{0, x(file_)}, {1, waiting(x(folder_))}, {2, waiting(x(file_))}},
        {{kAnn, {just(Kind::kRelease)}},
         {kBob, {just(Kind::kPoll), just(Kind::kDie)}},
         {kCat, {just(Kind::kPoll), just(Kind::kPoll)}}}});
  tell({"both waiters of a dead holder die",
        {{0, attached(x(file_))}, {1, waiting(x(folder_))}, {2, waiting(x(file_))}},
        {{kAnn, {just(Kind::kDie)}},
         {kBob, {just(Kind::kPoll), just(Kind::kDie)}},
         {kCat, {just(Kind::kPoll), just(Kind::kDie)}}}});
}

TEST_P(Stories, F7_I8_a_request_is_repeated_while_others_come_and_go) {
  tell({"asked twice, in the queue and after it",
        {{0, x(file_)}},
        {{kAnn, {just(Kind::kRelease)}},
         {kBob, {waiting(x(folder_)), just(Kind::kRepeat)}},
         {kCat, {waiting(x(file_)), just(Kind::kRepeat)}}}});
}

TEST_P(Stories, A1_I1_two_processes_keep_one_lease) {
  tell({"the first dies, the second joins and lets go, a stranger waits",
        {{0, attached(x(file_))}},
        {{kAnn, {just(Kind::kDie)}},
         {kAnn, {attached(x(file_)), just(Kind::kLetGo)}},
         {kBob, {waiting(x(folder_)), just(Kind::kPoll)}}}});
  tell({"one lets go, one releases for both",
        {{0, attached(x(file_))}, {1, attached(x(file_))}, {2, waiting(x(folder_))}},
        {{kAnn, {just(Kind::kLetGo)}},
         {kAnn, {just(Kind::kRenew), just(Kind::kRelease)}},
         {kBob, {just(Kind::kPoll)}}}});
  tell({"orphaned while another asks for it again",
        {{0, attached(x(file_), true)}},
        {{kAnn, {just(Kind::kDie)}},
         {kAnn, {attached(x(file_), true), just(Kind::kLetGo)}},
         {kBob, {x(folder_), just(Kind::kMaintain)}}}});
}

TEST_P(Stories, A2_L4_parts_of_one_session) {
  const core::Owner one{"ann", "s/one"};
  const core::Owner two{"ann", "s/two"};
  std::vector<Step> whole = {just(Kind::kRelease)};
  if (is_long()) whole.push_back(waiting(x(folder_)));
  tell({"parts exclude each other inside what their session holds",
        {{0, x(folder_)}},
        {{kAnn, whole},
         {one, {waiting(x(file_)), just(Kind::kRelease)}},
         {two, {waiting(x(file_)), just(Kind::kPoll)}}}});
  tell({"a part passes those that wait for its session",
        {{0, x(folder_)}, {2, waiting(x(file_))}},
        {{kAnn, {just(Kind::kRelease)}},
         {one, {waiting(x(file_)), just(Kind::kRelease)}},
         {kBob, {just(Kind::kPoll), just(Kind::kPoll)}}}});
}

TEST_P(Stories, A1_L5_a_cycle_through_a_part) {
  const core::Owner part{"ann", "s/run"};
  const int other = world_.index_of("docs/x.md");
  tell({"a part waits for whoever waits for its session",
        {{0, x(file_)}, {2, x(other)}},
        {{kAnn, {just(Kind::kRelease)}},
         {part, {waiting(x(other)), just(Kind::kPoll)}},
         {kBob, {waiting(x(folder_)), just(Kind::kRelease)}}}});
}

TEST_P(Stories, L5_upgrades_and_cycles_of_three) {
  tell({"three holders of one thing want it alone",
        {{0, s(file_)}, {1, s(folder_)}, {2, s(file_)}},
        {{kAnn, {waiting(x(file_)), just(Kind::kRelease)}},
         {kBob, {waiting(x(folder_))}},
         {kCat, {waiting(x(file_))}}}});
}

TEST_P(Stories, L5_I4_a_cycle_through_who_is_let_in_under_a_lease) {
  Step inside = x(file_);
  inside.under = true;
  const int other = world_.index_of("docs/x.md");
  tell({"let in while waiting for one who waits for the host",
        {{0, x(folder_)}, {1, x(other)}},
        {{kAnn, {just(Kind::kRelease)}},
         {kBob, {waiting(x(folder_))}},
         {kCat, {waiting(x(other)), inside}}}});
}

}  // namespace
}  // namespace lockkeeper::sim
