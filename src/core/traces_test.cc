#include "core/traces.h"

#include <gmock/gmock.h>

#include "core/sessions.h"
#include "core/testing.h"

namespace lockkeeper::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Traces : public OnBothFlavours {
 protected:
  static Change change(std::string path, std::uint64_t size) {
    return {std::move(path), {size, 5, 6, 7}, "hash"};
  }
  void report(const Owner& owner, std::vector<Change> changed, bool turn_begins = false) {
    ReportRequest request;
    request.owner = owner;
    request.worktree = "/w";
    request.changed = std::move(changed);
    request.turn_begins = turn_begins;
    const auto reply = realm_.run([&](Table& table) { return table.report(request); });
    EXPECT_TRUE(reply.has_value());
  }
  std::optional<Trace> unseen(const Owner& owner, const std::string& path) {
    return *realm_.run(
        [&](Table& table) { return unseen_change(table.state(), owner, "/w", path); });
  }
  std::vector<std::string> all(const std::string& worktree) {
    std::vector<std::string> paths;
    const auto read = realm_.run([&](Table& table) {
      return each_trace(table.state(), worktree,
                        [&](const Trace& trace) { paths.push_back(trace.change.path); });
    });
    EXPECT_TRUE(read.has_value());
    return paths;
  }
};
LOCKKEEPER_ON_BOTH_FLAVOURS(Traces);

TEST_P(Traces, SayWhoChangedAFileLast) {
  report(kAnn, {change("a", 1), change("b", 2)});
  report(kBob, {change("a", 3)});
  const auto trace = realm_.run([](Table& table) { return trace_of(table.state(), "/w", "a"); });
  ASSERT_TRUE(*trace);
  EXPECT_EQ((*trace)->owner, kBob);
  EXPECT_EQ((*trace)->change.mark.size, 3U);
  EXPECT_EQ((*trace)->change.content, "hash");
  EXPECT_THAT(all("/w"), ElementsAre("a", "b"));
  EXPECT_THAT(all("/v"), IsEmpty());
}

TEST_P(Traces, WhoWroteAFileThatIsAsCommittedStaysKnownInCaseItComesBack) {
  const auto written = [&](const std::string& content) {
    std::vector<std::string> names;
    const auto trace = realm_.run([](Table& table) { return trace_of(table.state(), "/w", "a"); });
    if (!*trace) return names;
    for (const Written& one : writers_in(**trace, content)) names.push_back(one.owner.agent);
    return names;
  };
  const auto changed = [](const char* content, bool clean = false) {
    return Change{"a", {1, 5, 6, 7}, content, clean};
  };
  report(kAnn, {changed("anns")});
  report(kBob, {changed("both")});
  EXPECT_THAT(written("both"), ElementsAre("ann", "bob"));
  report(kCat, {changed("head", true)});
  EXPECT_THAT(written("head"), IsEmpty());
  EXPECT_THAT(written("anns"), ElementsAre("ann")) << "before anybody has reported it";
  EXPECT_FALSE(unseen(kCat, "a")) << "its own doing";
  report(kCat, {changed("both")});
  EXPECT_THAT(written("both"), ElementsAre("ann", "bob")) << "cat brought it back";
  EXPECT_FALSE(unseen(kCat, "a")) << "its own doing";
  // As somebody found it.
  ASSERT_TRUE(realm_.run([&](Table& table) {
    return put_away_traces(table.state(), "/w", {changed("head"), {"other", {}, "head"}});
  }));
  EXPECT_THAT(written("head"), IsEmpty());
  EXPECT_THAT(all("/w"), ElementsAre("a"));
  report(kCat, {changed("cats")});
  EXPECT_THAT(written("cats"), ElementsAre("cat")) << "began with nobody's work";
  report(kCat, {changed("head", true)});
  report(kAnn, {changed("anns")});
  EXPECT_THAT(written("anns"), ElementsAre("ann"));
}

TEST_P(Traces, AWriterIsGoneWhenItsSessionIsOverOrForgotten) {
  const auto gone = [&](const Owner& owner) {
    return *realm_.run([&](Table& table) -> Result<bool> {
      LK_ASSIGN(const std::optional<Trace> trace, trace_of(table.state(), "/w", "a"));
      return is_gone(table.state(), *trace, owner);
    });
  };
  report(kAnn, {change("a", 1)});
  EXPECT_FALSE(gone(kAnn));
  ReportRequest over;
  over.owner = kAnn;
  over.then = ReportRequest::Then::kTurnOver;
  ASSERT_TRUE(realm_.run([&](Table& table) { return table.report(over); }));
  EXPECT_FALSE(gone(kAnn)) << "a turn";
  over.session_over = true;
  ASSERT_TRUE(realm_.run([&](Table& table) { return table.report(over); }));
  EXPECT_TRUE(gone(kAnn));
  EXPECT_TRUE(gone(part_of(kAnn, "sub")));
  report(kAnn, {}, true);
  EXPECT_FALSE(gone(kAnn)) << "it goes on";
  EXPECT_FALSE(gone(kBob)) << "nothing is known";
  realm_.pass(std::int64_t{25} * 3600 * 1000);
  EXPECT_TRUE(gone(kBob)) << "and was not heard of for a day";
}

TEST_P(Traces, ExcludeNobody) {
  report(kAnn, {change("a", 1)});
  EXPECT_EQ(realm_.outcome(Realm::ask(kBob, {x("a")})), Outcome::kGranted);
}

TEST_P(Traces, AChangeSinceTheTurnBeganIsUnseenUntilItIsTold) {
  report(kBob, {}, true);
  EXPECT_FALSE(unseen(kBob, "a"));
  realm_.pass(10);
  report(kAnn, {change("a", 1)});
  const std::optional<Trace> news = unseen(kBob, "a");
  ASSERT_TRUE(news);
  EXPECT_EQ(news->owner, kAnn);
  EXPECT_FALSE(unseen(kAnn, "a"));
  ASSERT_TRUE(realm_.run([&](Table& table) { return note_told(table.state(), kBob, *news); }));
  EXPECT_FALSE(unseen(kBob, "a"));
  EXPECT_TRUE(unseen(kCat, "a"));
  realm_.pass(10);
  report(kAnn, {change("a", 2)});
  EXPECT_TRUE(unseen(kBob, "a"));
}

TEST_P(Traces, AChangeBeforeTheTurnIsNoNews) {
  report(kAnn, {change("a", 1)});
  realm_.pass(10);
  report(kBob, {}, true);
  EXPECT_FALSE(unseen(kBob, "a"));
}

TEST_P(Traces, AChangeSinceItsOwnWriteIsUnseenInLaterTurnsToo) {
  report(kBob, {change("a", 1)});
  realm_.pass(10);
  report(kAnn, {change("a", 2)});
  realm_.pass(10);
  report(kBob, {}, true);
  const std::optional<Trace> news = unseen(kBob, "a");
  ASSERT_TRUE(news);
  EXPECT_EQ(news->owner, kAnn);
  ASSERT_TRUE(realm_.run([&](Table& table) { return note_told(table.state(), kBob, *news); }));
  EXPECT_FALSE(unseen(kBob, "a"));
  realm_.pass(10);
  report(kCat, {change("a", 3)});
  realm_.pass(10);
  report(kBob, {}, true);
  report(kAnn, {}, true);
  EXPECT_TRUE(unseen(kBob, "a"));
  EXPECT_TRUE(unseen(kAnn, "a"));
  EXPECT_FALSE(unseen(kCat, "a"));
  report(kBob, {change("a", 4)});
  EXPECT_FALSE(unseen(kBob, "a"));
}

TEST_P(Traces, ToldOfAnOlderChangeIsNotToldOfTheNewOne) {
  report(kAnn, {change("a", 1)});
  const Trace old = *unseen(kBob, "a");
  realm_.pass(10);
  report(kAnn, {change("a", 2)});
  ASSERT_TRUE(realm_.run([&](Table& table) { return note_told(table.state(), kBob, old); }));
  EXPECT_TRUE(unseen(kBob, "a"));
}

TEST_P(Traces, AreForgottenWhenTheirChangeIsSafe) {
  report(kAnn, {change("a", 1), change("b", 1)});
  ASSERT_TRUE(
      realm_.run([](Table& table) { return forget_traces(table.state(), "/w", {"a", "no"}); }));
  EXPECT_THAT(all("/w"), ElementsAre("b"));
}

TEST_P(Traces, AreForgottenAfterFourteenDays) {
  report(kAnn, {change("a", 1), change("b", 1)});
  realm_.pass(kTraceKeptMs - 10);
  report(kAnn, {change("b", 2)});
  realm_.pass(11);
  realm_.maintain();
  EXPECT_THAT(all("/w"), ElementsAre("b"));
  realm_.pass(kTraceKeptMs);
  realm_.maintain();
  EXPECT_THAT(all("/w"), IsEmpty());
}

}  // namespace
}  // namespace lockkeeper::core
