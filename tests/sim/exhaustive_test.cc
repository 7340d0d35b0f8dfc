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
using Then = core::ReportRequest::Then;

bool is_long() {
  const char* text = std::getenv("LOCKKEEPER_SCHEDULES");
  return text != nullptr && std::strcmp(text, "long") == 0;
}

using Steps = std::vector<Step>;

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

Step in(const char* worktree, Step step) {
  step.worktree = worktree;
  return step;
}
Step edit(int resource, const char* call) {
  Step step = in("w", x(resource));
  step.call = call;
  step.lasting = true;
  return step;
}
Step lasting(Step step) {
  step.lasting = true;
  return step;
}
Step pass(std::int64_t ms) {
  return {.kind = Kind::kPass, .pass_ms = ms + 1};
}
Step done(const char* call, Then then = Then::kGoesOn) {
  Step step = just(Kind::kReport);
  step.report.done = {call};
  step.report.then = then;
  return step;
}
Step failed(const char* call) {
  Step step = just(Kind::kReport);
  step.report.failed = {call};
  return step;
}
Step begun(const char* call) {
  Step step = just(Kind::kReport);
  step.report.begun = {call};
  return step;
}
Step then(Then what, bool parts_go_on = false) {
  Step step = just(Kind::kReport);
  step.report.then = what;
  step.report.parts_go_on = parts_go_on;
  return step;
}
Step turn_begins() {
  Step step = just(Kind::kReport);
  step.report.turn_begins = true;
  return step;
}

// What an actor may do with one resource, `r`, knowing of another that overlaps it, `q`. Two steps
// each; the long run adds a third.
std::vector<Steps> programs(int r, int q, bool third) {
  std::vector<Steps> all = {
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
  for (Steps& program : all) {
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

// Those of this shard.
Counted play_each(const World& world, const std::vector<Story>& stories, kv::Flavour flavour) {
  const Shard mine = shard();
  Counted counted;
  for (std::size_t i = mine.number - 1; i < stories.size(); i += mine.of) {
    play(world, stories[i], flavour, counted);
    if (testing::Test::HasFatalFailure()) break;
  }
  return counted;
}

// All triples of programs, whoever runs which; the third actor's resource is either one.
std::vector<Story> all_triples(const World& world, const Pair& pair, bool third, std::size_t most) {
  const int r = world.index_of(pair.first);
  const int q = world.index_of(pair.second);
  const auto on_first = programs(r, q, third);
  const auto on_second = programs(q, r, third);
  most = std::min(most, on_first.size());
  std::vector<Story> stories;
  for (std::size_t a = 0; a < most; ++a) {
    for (std::size_t b = 0; b < most; ++b) {
      for (std::size_t c = b; c < most; ++c) {
        stories.push_back(
            {pair.name, {}, {{kAnn, on_first[a]}, {kBob, on_second[b]}, {kCat, on_second[c]}}});
      }
    }
  }
  return stories;
}

// Rules 15 and 16: whoever edits `r`, perhaps once more.
std::vector<Steps> edits_of(int r, int q) {
  return {
      {edit(r, "c1"), done("c1")},
      {edit(r, "c1"), failed("c1")},
      {begun("make"), done("make")},
      {edit(r, "c1"), then(Then::kIdle)},
      {edit(r, "c1"), then(Then::kTurnOver)},
      {waiting(edit(r, "c1")), just(Kind::kPoll)},
      {then(Then::kIdle), waiting(edit(r, "c1"))},
      {attached(edit(r, "c1")), just(Kind::kDie)},
      {waiting(edit(q, "c1")), done("c1")},
      {turn_begins(), waiting(x(q))},
  };
}

// Whoever asks for what it edits.
std::vector<Steps> requests_for(int r, int q) {
  return {
      {waiting(x(q)), just(Kind::kPoll)},
      {in("v", x(q)), just(Kind::kRelease)},  // never in its way
      {waiting(edit(q, "d1")), done("d1")},
      {waiting(both(q, r)), just(Kind::kPoll)},
      {lasting(x(q)), waiting(edit(r, "d1"))},
      {waiting(in("v", s(q))), waiting(s(r))},
      {edit(q, "d1"), failed("d1")},
  };
}

// And whoever lets time pass, or the machine reboot, and comes across both.
std::vector<Steps> changes_around(int r, int q) {
  return {
      {pass(core::kUnreportedMs), x(q)},
      {pass(core::kUntouchedMs), waiting(x(r))},
      {waiting(x(r)), pass(core::kUntouchedMs)},
      {just(Kind::kReboot), waiting(in("w", x(q)))},
      {waiting(in("v", x(q))), just(Kind::kReboot)},
      {pass(core::kCallCountsMs), just(Kind::kMaintain)},
      {on(Kind::kCheck, r), on(Kind::kBreak, q)},
  };
}

std::vector<Story> all_edits(const World& world, const Pair& pair, bool third, std::size_t most) {
  const int r = world.index_of(pair.first);
  const int q = world.index_of(pair.second);
  std::vector<Steps> edits = edits_of(r, q);
  std::vector<Steps> requests = requests_for(r, q);
  std::vector<Steps> changes = changes_around(r, q);
  if (third) {
    for (Steps& steps : edits) steps.push_back(then(Then::kTurnOver));
    for (Steps& steps : requests) steps.push_back(just(Kind::kPoll));
    for (Steps& steps : changes) steps.push_back(just(Kind::kPoll));
  }
  const std::vector<std::vector<std::pair<int, Step>>> befores = {
      {}, {{0, edit(r, "c0")}, {0, done("c0")}}};
  std::vector<Story> stories;
  for (std::size_t a = 0; a < std::min(most, edits.size()); ++a) {
    for (std::size_t b = 0; b < std::min(most, requests.size()); ++b) {
      for (std::size_t c = 0; c < std::min(most, changes.size()); ++c) {
        for (const auto& before : befores) {
          stories.push_back(
              {pair.name, before, {{kAnn, edits[a]}, {kBob, requests[b]}, {kCat, changes[c]}}});
        }
      }
    }
  }
  return stories;
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
    const std::vector<Story> stories = all_triples(world, pair, is_long(), most);
    say(pair.name, play_each(world, stories, kv::Flavour::kPessimistic));
    if (HasFatalFailure()) return;
  }
}

TEST(Exhaustive, I1_I2_I5_I6_I8_L4_L5_L9_every_schedule_of_reads_and_commits) {
  const World world;
  // 34,650 schedules for each triple, and more where commits are refused.
  const std::size_t most = is_long() ? 9 : 1;
  const std::vector<Story> stories = all_triples(world, kPairs[0], false, most);
  say("reads and commits", play_each(world, stories, kv::Flavour::kOptimistic));
}

TEST(Exhaustive, I1_I2_I5_I7_I8_L4_L5_L9_every_schedule_of_edits_and_worktrees) {
  const World world;
  for (const Pair& pair : kPairs) {
    const std::size_t most = is_long() ? kAll : &pair == &kPairs[0] ? 4 : 2;
    const std::vector<Story> stories = all_edits(world, pair, is_long(), most);
    say((std::string("edits: ") + pair.name).c_str(),
        play_each(world, stories, kv::Flavour::kPessimistic));
    if (HasFatalFailure()) return;
  }
  if (!is_long()) return;
  const std::vector<Story> stories = all_edits(world, kPairs[0], false, 5);
  say("edits: reads and commits", play_each(world, stories, kv::Flavour::kOptimistic));
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

TEST_P(Stories, L4_I1_worktrees_and_whoever_waits_for_all_of_them) {
  tell({"one waits for all worktrees, others come to theirs",
        {{0, in("w", x(file_))}},
        {{kAnn, {just(Kind::kRelease)}},
         {kBob, {waiting(x(folder_)), just(Kind::kPoll)}},
         {kCat, {waiting(in("v", x(file_))), just(Kind::kRelease)}}}});
  tell({"what covers one worktree does not pass those who wait for all",
        {{0, in("w", s(file_))}, {2, in("v", s(file_))}},
        {{kAnn, {waiting(s(file_)), just(Kind::kPoll)}},
         {kBob, {waiting(in("v", x(folder_)))}},
         {kCat, {just(Kind::kRelease), in("w", x(file_))}}}});
}

TEST_P(Stories, L5_an_edit_that_is_firm_again_closes_a_cycle) {
  const int other = world_.index_of("docs/x.md");
  const int third = world_.index_of("foo");
  std::vector<Step> cat = {just(Kind::kRelease)};
  if (is_long()) cat.push_back(waiting(x(file_)));
  tell({"touched again while its owner waits for whoever waits for it",
        {{0, edit(file_, "c0")},
         {0, done("c0")},
         {1, lasting(x(other))},
         {2, lasting(x(third))},
         {0, lasting(waiting(x(other)))},
         {0, pass(core::kUntouchedMs)},
         {1, lasting(waiting(both(folder_, third)))}},
        {{kAnn, {begun("make"), just(Kind::kPoll)}}, {kBob, {just(Kind::kPoll)}}, {kCat, cat}}});
}

TEST_P(Stories, I1_L4_a_part_passes_its_edit_on) {
  const core::Owner one{"ann", "s/one"};
  const core::Owner two{"ann", "s/two"};
  tell({"a sibling may take it, a stranger waits, and the turn ends",
        {{1, edit(file_, "c0")}, {1, done("c0")}},
        {{kAnn, {then(Then::kTurnOver)}},
         {one, {then(Then::kPassedOn)}},
         {two, {waiting(edit(folder_, "d")), then(Then::kPassedOn)}}}});
  tell({"passed on while a stranger waits and time passes",
        {{1, edit(file_, "c0")}, {1, done("c0")}},
        {{kAnn, {waiting(edit(file_, "c")), then(Then::kIdle)}},
         {one, {then(Then::kPassedOn)}},
         {kBob, {waiting(x(folder_)), pass(core::kUntouchedMs)}}}});
  tell({"passed on to a session that has the same, undone or not",
        {{0, edit(file_, "c0")}, {0, done("c0")}},
        {{kAnn, {turn_begins()}},
         {one, {edit(file_, "c1"), done("c1", Then::kPassedOn)}},
         {kBob, {waiting(x(folder_)), just(Kind::kPoll)}}}});
}

TEST_P(Stories, L9_parts_that_go_on_and_parts_that_do_not) {
  const core::Owner one{"ann", "s/one"};
  tell({"the turn ends, its part goes on",
        {{1, edit(file_, "c0")}},
        {{kAnn, {then(Then::kTurnOver, true), then(Then::kTurnOver)}},
         {one, {done("c0")}},
         {kBob, {waiting(x(folder_)), just(Kind::kPoll)}}}});
  tell({"a part edits after a reboot, and the turn of its session ends",
        {{1, edit(file_, "c0")}},
        {{kAnn, {then(Then::kTurnOver)}},
         {one, {done("c0"), edit(file_, "c1")}},
         {kBob, {just(Kind::kReboot), waiting(x(folder_))}}}});
}

}  // namespace
}  // namespace lockkeeper::sim
