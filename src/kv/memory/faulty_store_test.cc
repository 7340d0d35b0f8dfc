#include "kv/memory/faulty_store.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "kv/memory/memory_store.h"

namespace lockkeeper::kv {
namespace {

using Kind = Decision::Kind;

Result<CommitResult> move_one(Store& store) {
  auto txn = store.begin(Access::kWrite);
  if (!txn) return fail(std::move(txn.error()));
  Txn& t = **txn;
  const auto all = [](const Row&) { return true; };
  const auto from = t.get("from");
  if (!from) return fail(from.error());
  if (auto ok = t.scan({"a", "z"}, all); !ok) return fail(ok.error());
  if (auto ok = t.scan_back({"a", "z"}, all); !ok) return fail(ok.error());
  if (auto ok = t.guard_absent("to"); !ok) return fail(ok.error());
  if (auto ok = t.put("to", "x"); !ok) return fail(ok.error());
  if (auto ok = t.erase("from"); !ok) return fail(ok.error());
  if (auto ok = t.append("log/", "moved"); !ok) return fail(ok.error());
  return t.commit();
}

// "from", "to" and the log, or "…" if they do not agree with each other.
std::string state(Store& store) {
  const auto txn = store.begin(Access::kRead);
  std::vector<std::string> keys;
  EXPECT_TRUE((*txn)->scan(
      {"a", "z"},
      [&](const Row& row) {
        keys.emplace_back(row.key.substr(0, 3));
        return true;
      },
      Read::kPeek));
  if (keys == std::vector<std::string>{"fro"}) return "before";
  if (keys == std::vector<std::string>{"log", "to"}) return "after";
  return "…";
}

class FaultyStoreTest : public testing::TestWithParam<Flavour> {
 protected:
  FaultyStoreTest() {
    const auto txn = inner_.begin(Access::kWrite);
    EXPECT_TRUE((*txn)->put("from", "x"));
    EXPECT_TRUE((*txn)->commit());
  }
  MemoryStore inner_{{.flavour = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(Flavours, FaultyStoreTest,
                         testing::Values(Flavour::kPessimistic, Flavour::kOptimistic));

TEST_P(FaultyStoreTest, CallsAreNumberedAndNamed) {
  std::vector<std::string> seen;
  FaultyStore store(inner_, [&](const CallInfo& info) {
    EXPECT_EQ(info.number, seen.size() + 1);
    seen.emplace_back(call_name(info.call));
    return Decision{};
  });
  EXPECT_TRUE(move_one(store));
  EXPECT_EQ(seen, (std::vector<std::string>{"begin", "get", "scan", "scan_back", "guard", "put",
                                            "erase", "append", "commit"}));
  EXPECT_EQ(store.calls(), 9U);
  EXPECT_EQ(store.budget().writes, inner_.budget().writes);
  EXPECT_EQ(store.epoch().id, inner_.epoch().id);
}

TEST_P(FaultyStoreTest, F14AFailureAtEachCallInTurnChangesNothing) {
  std::uint64_t number = 0;
  while (true) {
    FaultyStore store(inner_, fault_at(++number, {Kind::kFail, {Code::kNoSpace, "full", ""}}));
    const auto result = move_one(store);
    if (result) break;
    EXPECT_EQ(result.error().code, Code::kNoSpace);
    EXPECT_EQ(store.calls(), number);
    EXPECT_EQ(state(inner_), "before");
  }
  EXPECT_EQ(number, 10U);
  EXPECT_EQ(state(inner_), "after");
}

TEST_P(FaultyStoreTest, F1ACrashBeforeEachCallInTurnIsOldOrNew) {
  std::uint64_t number = 0;
  while (true) {
    FaultyStore store(inner_, fault_at(++number, {Kind::kDie, {}}));
    const auto result = move_one(store);
    if (result) break;
    EXPECT_EQ(result.error().code, Code::kStoreUnavailable);
    EXPECT_TRUE(store.crashed());
    EXPECT_EQ(store.begin(Access::kRead).error().code, Code::kStoreUnavailable);
    EXPECT_EQ(store.calls(), number);  // the dead make no calls
    EXPECT_EQ(state(inner_), "before");
  }
  EXPECT_EQ(number, 10U);
  EXPECT_EQ(state(inner_), "after");
}

TEST_P(FaultyStoreTest, F7ACrashAfterEachCallInTurnIsOldOrNew) {
  for (std::uint64_t number = 1; number <= 9; ++number) {
    FaultyStore store(inner_, fault_at(number, {Kind::kDieAfter, {}}));
    const auto result = move_one(store);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::kStoreUnavailable);
    EXPECT_EQ(state(inner_), number == 9 ? "after" : "before");
  }
}

TEST_P(FaultyStoreTest, F7ALostReplyIsUnknownAndTheCommitIsDone) {
  FaultyStore store(inner_, fault_at(9, {Kind::kLoseReply, {}}));
  EXPECT_EQ(move_one(store).error().code, Code::kUnknown);
  EXPECT_EQ(state(inner_), "after");
}

TEST_P(FaultyStoreTest, I9ALostRequestIsUnknownAndTheCommitIsNotDone) {
  FaultyStore store(inner_, fault_at(9, {Kind::kLoseRequest, {}}));
  EXPECT_EQ(move_one(store).error().code, Code::kUnknown);
  EXPECT_EQ(state(inner_), "before");
}

TEST_P(FaultyStoreTest, I9ALateCommitIsUnknownAndDecidedWhenItArrives) {
  if (GetParam() != Flavour::kOptimistic) GTEST_SKIP() << "it would keep everybody out";
  for (const bool too_late : {false, true}) {
    SCOPED_TRACE(too_late);
    FaultyStore store(inner_, [](const CallInfo& info) {
      return info.call == Call::kCommit ? Decision{Kind::kArriveLate, {}} : Decision{};
    });
    const auto sent = move_one(store);
    ASSERT_FALSE(sent.has_value());
    EXPECT_EQ(sent.error().code, Code::kUnknown);
    EXPECT_EQ(store.under_way(), 1U);
    EXPECT_EQ(state(inner_), "before");
    store.crash();  // whoever sent it need not live any more
    if (too_late) {
      const auto other = inner_.begin(Access::kWrite);
      EXPECT_TRUE((*other)->put("from", "changed") && (*other)->commit());
    }
    const auto done = store.arrive();
    ASSERT_TRUE(done.has_value());
    EXPECT_EQ(done->fate, too_late ? Fate::kConflict : Fate::kCommitted);
    EXPECT_EQ(state(inner_), too_late ? "before" : "after");
    const auto reset = inner_.begin(Access::kWrite);
    EXPECT_TRUE((*reset)->put("from", "x") && (*reset)->erase("to"));
    std::vector<std::string> keys;
    EXPECT_TRUE((*reset)->scan_appended("log/", 0, [&](const Appended& row) {
      keys.emplace_back(row.key);
      return true;
    }));
    for (const std::string& key : keys) EXPECT_TRUE((*reset)->erase(key));
    EXPECT_TRUE((*reset)->commit());
  }
}

// As kv/store.h promises. Without that promise it may arrive at any time.
TEST_P(FaultyStoreTest, I9ALateCommitNeverFollowsWhatItsStoreCommittedSince) {
  if (GetParam() != Flavour::kOptimistic) GTEST_SKIP() << "it would keep everybody out";
  const auto put = [](Store& store, std::string_view key) {
    const auto txn = store.begin(Access::kWrite);
    EXPECT_TRUE((*txn)->put(key, ""));
    return (*txn)->commit();
  };
  for (const bool settles : {true, false}) {
    bool late = true;
    FaultyStore store(inner_, [&](const CallInfo& info) {
      const bool now = late && info.call == Call::kCommit;
      return now ? Decision{Kind::kArriveLate, {}} : Decision{};
    });
    if (!settles) store.never_settle();
    const auto open = store.begin(Access::kWrite);  // before the answer: proves nothing
    ASSERT_EQ(put(store, "a").error().code, Code::kUnknown);
    ASSERT_EQ(put(store, "b").error().code, Code::kUnknown);
    late = false;
    EXPECT_TRUE((*open)->put("c", "") && (*open)->commit());
    EXPECT_EQ(store.arrive()->fate, Fate::kCommitted);
    EXPECT_TRUE(put(store, "d"));
    EXPECT_EQ(store.arrive()->fate, settles ? Fate::kConflict : Fate::kCommitted);
  }
}

// Another life of the process knows nothing of what the one before has sent.
TEST_P(FaultyStoreTest, I9ALateCommitMayFollowTheDeathOfItsProcess) {
  if (GetParam() != Flavour::kOptimistic) GTEST_SKIP() << "it would keep everybody out";
  bool late = true;
  FaultyStore store(inner_, [&](const CallInfo& info) {
    const bool now = late && info.call == Call::kCommit;
    return now ? Decision{Kind::kArriveLate, {}} : Decision{};
  });
  const auto commit = [&] {
    const auto txn = store.begin(Access::kWrite);
    EXPECT_TRUE((*txn)->put("a", ""));
    return (*txn)->commit().has_value();
  };
  EXPECT_FALSE(commit());
  store.crash();
  store.revive();
  late = false;
  EXPECT_TRUE(commit());
  EXPECT_EQ(store.arrive()->fate, Fate::kCommitted);
}

TEST_P(FaultyStoreTest, AConflictIsRefusedAndNothingIsDone) {
  FaultyStore store(inner_, fault_at(9, {Kind::kConflict, {}}));
  EXPECT_EQ(move_one(store)->fate, Fate::kConflict);
  EXPECT_EQ(state(inner_), "before");
  EXPECT_EQ(move_one(store)->fate, Fate::kCommitted);
}

TEST_P(FaultyStoreTest, OpenTransactionsStayDeadAfterAReviveAndLetGo) {
  FaultyStore store(inner_, [](const CallInfo&) { return Decision{}; });
  const auto open = store.begin(Access::kWrite);
  ASSERT_TRUE(open);
  EXPECT_TRUE((*open)->put("to", "half"));
  store.crash();
  store.revive();
  EXPECT_EQ((*open)->get("from").error().code, Code::kStoreUnavailable);
  EXPECT_EQ((*open)->left().writes, 0U);
  EXPECT_EQ(move_one(store)->fate, Fate::kCommitted);  // while the dead one still exists
  EXPECT_EQ((*open)->commit().error().code, Code::kStoreUnavailable);
  EXPECT_EQ(state(inner_), "after");
}

TEST_P(FaultyStoreTest, ACrashInsideAVisitorIsSafe) {
  FaultyStore store(inner_, fault_at(3, {Kind::kDie, {}}));
  const auto open = store.begin(Access::kWrite);
  const auto done = (*open)->scan({"a", "z"}, [&](const Row& row) {
    EXPECT_EQ((*open)->get("from").error().code, Code::kStoreUnavailable);
    EXPECT_EQ(row.value, "x");  // the scan's own row is still there
    return true;
  });
  EXPECT_EQ(done.error().code, Code::kStoreUnavailable);
}

TEST_P(FaultyStoreTest, SomethingElseThanACrashMayHappenInstead) {
  std::vector<std::string> died;
  FaultyStore store(inner_, fault_at(6, {Kind::kDie, {}}),
                    [&](const CallInfo& info) { died.emplace_back(call_name(info.call)); });
  EXPECT_EQ(move_one(store)->fate, Fate::kCommitted);  // as after SIGSTOP and SIGCONT
  EXPECT_EQ(died, std::vector<std::string>{"put"});
}

TEST(ProcessFault, PlansAreParsed) {
  const auto kill = parse_process_fault("kill@17");
  ASSERT_TRUE(kill);
  EXPECT_EQ(kill->number, 17U);
  EXPECT_EQ(kill->signal, SIGKILL);
  EXPECT_FALSE(kill->after);
  const auto stop = parse_process_fault("stop-after@1");
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->signal, SIGSTOP);
  EXPECT_TRUE(stop->after);
  const auto tstp = parse_process_fault("tstp@2");
  ASSERT_TRUE(tstp);
  EXPECT_EQ(tstp->signal, SIGTSTP);
  for (const char* bad : {"", "kill", "kill@", "kill@0", "kill@-1", "kill@1x", "term@1", "@1",
                          "-after@1", "kill@99999999999999999999"}) {
    const auto refused = parse_process_fault(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, Code::kInvalidInput);
  }
  EXPECT_EQ(parse_process_fault("\xdb\n").error().message, "not a fault plan: \"\\xdb\\x0a\"");
}

TEST(ProcessFaultDeathTest, F1TheProcessIsKilledAtThatCall) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [](const char* plan) {
    MemoryStore inner;
    const auto store = with_process_fault(inner, *parse_process_fault(plan));
    {
      const auto txn = store->begin(Access::kWrite);
      EXPECT_TRUE((*txn)->put("a", ""));
      EXPECT_TRUE((*txn)->commit());
    }
    std::_Exit(inner.version() == 1 ? 0 : 1);
  };
  EXPECT_EXIT(run("kill@3"), testing::KilledBySignal(SIGKILL), "");
  EXPECT_EXIT(run("kill-after@3"), testing::KilledBySignal(SIGKILL), "");
  EXPECT_EXIT(run("kill@4"), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace lockkeeper::kv
