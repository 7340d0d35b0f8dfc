#include "kv/etcd/doctor.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lockkeeper::kv::etcd {
namespace {

constexpr std::uint64_t kSoundCluster = 99;

// Three members, m1 to m3 on the ports 1 to 3, of which the first leads.
Survey sound() {
  Survey survey;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    Status status;
    status.header = {kSoundCluster, i, 100};
    status.version = "3.5.30";
    status.leader = 1;
    status.size = 20'000;
    status.size_in_use = 20'000;
    const std::string port = std::to_string(i);
    survey.asked.push_back(
        {{"127.0.0.1", static_cast<std::uint16_t>(i)}, std::nullopt, status, "3.5.30", 1 << 30});
    survey.members.push_back({i, "m" + port, {"http://127.0.0.1:" + port}, false});
  }
  survey.alarms.emplace();
  survey.epoch = "1 1 0";
  survey.header = {kSoundCluster, 1, 100};
  survey.commit_ms = 1.5;
  return survey;
}

EtcdOptions options(bool users = false) {
  EtcdOptions options;
  options.address.prefix = "/p/";
  if (users) options.address.user = "hub";
  return options;
}

using Known = Result<std::optional<Seen::State>>;
EtcdReport report(Survey survey, const Known& known = std::nullopt, bool users = false) {
  return judge(options(users), std::move(survey), known);
}

std::vector<std::string> told(const EtcdReport& report, Finding::Kind kind) {
  std::vector<std::string> all;
  for (const Finding& finding : report.findings) {
    if (finding.kind == kind) {
      all.push_back(finding.about + ": " + finding.error.message + " -> " + finding.error.hint);
    }
  }
  return all;
}
std::vector<std::string> bad(const EtcdReport& report) {
  return told(report, Finding::Kind::kBad);
}
// The one note beside that of a machine without a hub.
std::string only_note(const EtcdReport& report) {
  EXPECT_TRUE(bad(report).empty()) << bad(report).front();
  auto notes = told(report, Finding::Kind::kNote);
  std::erase_if(notes, [](const std::string& note) { return note.starts_with("epoch: no hub"); });
  EXPECT_EQ(notes.size(), 1U);
  return notes.empty() ? "" : notes.front();
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(EtcdDoctor, ASoundClusterHasNothingToDo) {
  const Seen::State seen{kSoundCluster, 90, {1, 1, 0}};
  const EtcdReport all = report(sound(), std::optional(seen));
  EXPECT_TRUE(bad(all).empty());
  EXPECT_TRUE(told(all, Finding::Kind::kNote).empty());
  const auto good = told(all, Finding::Kind::kGood);
  ASSERT_EQ(good.size(), 9U);
  EXPECT_TRUE(has(good[0], "m1 at 127.0.0.1:1: leader, etcd 3.5.30")) << good[0];
  EXPECT_TRUE(has(good[1], "follower")) << good[1];
  EXPECT_TRUE(has(good[3], "3 members, of which 2 must run")) << good[3];
  EXPECT_TRUE(has(good[5], "20 KiB of 1.0 GiB")) << good[5];
  EXPECT_TRUE(has(good[7], "takes 1.5 ms")) << good[7];
  EXPECT_TRUE(has(good[8], "epoch 1, revision 100; the hub here has seen 90")) << good[8];
}

TEST(EtcdDoctor, EachMemberThatIsTooOldIsNamedAndAMixtureIsToldOnce) {
  Survey survey = sound();
  survey.asked[1].version = "3.5.16";
  survey.asked[2].version = "3.4.23";
  const auto problems = bad(report(survey));
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_TRUE(has(problems[0], "127.0.0.1:2 has version \"3.5.16\", which is too old"));
  EXPECT_TRUE(has(problems[1], "3.4.23"));
  EXPECT_EQ(bad(report(sound(), std::nullopt, true)).size(), 3U) << "with users 3.5.33 is needed";
  survey = sound();
  survey.asked[1].version = "3.6.9";
  EXPECT_TRUE(has(only_note(report(survey)), "different versions: 3.5.30, 3.6.9"));
}

TEST(EtcdDoctor, WhatIsWrongWithTheMembersIsTold) {
  Survey survey = sound();
  survey.asked[2].status->header.cluster_id = 1;
  EXPECT_TRUE(has(bad(report(survey)).at(0), "127.0.0.1:1 and 127.0.0.1:3 belong to different"));
  survey = sound();
  survey.asked[1].status->leader = 0;
  EXPECT_TRUE(has(bad(report(survey)).at(0), "m2 at 127.0.0.1:2: runs, but reaches too few"));
  survey = sound();
  survey.asked.pop_back();
  EXPECT_TRUE(has(only_note(report(survey)), "m3 (http://127.0.0.1:3) is not in the address"));
  survey.members.pop_back();
  EXPECT_TRUE(has(only_note(report(survey)), "2 members, of which 2 must run: no safer than 1"));
  survey.asked.pop_back();
  survey.members.pop_back();
  EXPECT_TRUE(has(only_note(report(survey)), "run three"));
  survey = sound();
  survey.members.push_back({10, "m4", {"http://127.0.0.1:4"}, true});
  EXPECT_TRUE(has(only_note(report(survey)), "etcdctl member promote a"));
  survey = sound();
  survey.members.push_back({10, "", {}, false});
  survey.members.push_back({11, "m5", {"http://127.0.0.1:5"}, false});
  survey.asked.push_back(survey.asked.back());
  survey.asked.back().status->header.member_id = 11;
  EXPECT_TRUE(has(only_note(report(survey)), "etcdctl member remove a"));
}

TEST(EtcdDoctor, NoQuorumIsOneProblemWithTheNumbers) {
  Survey survey = sound();
  for (const std::size_t gone : {1U, 2U}) {
    survey.asked[gone].status.reset();
    survey.asked[gone].version.clear();
    survey.asked[gone].error = {Code::kStoreUnavailable, "gone", "start it"};
  }
  survey.asked[0].status->leader = 0;
  survey.alarms.reset();
  survey.epoch = fail(Code::kStoreUnavailable, "no leader", "");
  const auto problems = bad(report(survey));
  ASSERT_EQ(problems.size(), 4U);
  EXPECT_TRUE(has(problems[3], "no quorum: 1 of 3 members answers, and 2 are needed"))
      << problems[3];
  survey.members.clear();
  survey.asked.erase(survey.asked.begin());
  EXPECT_TRUE(has(bad(report(survey)).back(), "no member answers"));
}

TEST(EtcdDoctor, SpaceIsToldBeforeItIsUsedUpAndAfter) {
  Survey survey = sound();
  survey.asked[1].status->size = 900U << 20;
  survey.asked[1].status->size_in_use = 800U << 20;
  std::string note = only_note(report(survey));
  EXPECT_TRUE(has(note, "900 MiB of 1.0 GiB at m2 at 127.0.0.1:2")) << note;
  EXPECT_TRUE(has(note, "--quota-backend-bytes")) << note;
  survey.asked[1].status->size_in_use = 1U << 20;
  note = only_note(report(survey));
  EXPECT_TRUE(has(note, "etcdctl defrag")) << note;
  survey.alarms->push_back({2, Alarm::Kind::kNoSpace});
  survey.commit_ms = fail(Code::kNoSpace, "database space exceeded", "");
  const EtcdReport full = report(survey);
  ASSERT_EQ(bad(full).size(), 1U) << "and not once more for the commit";
  EXPECT_TRUE(has(bad(full)[0], "m2 has raised the alarm NOSPACE"));
  survey.alarms = {{3, Alarm::Kind::kCorrupt}};
  EXPECT_TRUE(has(bad(report(survey)).at(0), "m3 has raised the alarm CORRUPT"));
}

TEST(EtcdDoctor, ASlowCommitIsANote) {
  Survey survey = sound();
  survey.commit_ms = 250;
  EXPECT_TRUE(has(only_note(report(survey)), "takes 250 ms"));
}

TEST(EtcdDoctor, I3_WhatTheHubHereHasSeenIsCompared) {
  const auto went_back = [](const Seen::State& seen) {
    return report(sound(), std::optional(seen)).went_back;
  };
  EXPECT_FALSE(went_back({kSoundCluster, 100, {1, 1, 0}}));
  EXPECT_TRUE(went_back({kSoundCluster, 101, {1, 1, 0}})) << "an older revision";
  EXPECT_TRUE(went_back({kSoundCluster, 50, {1, 2, 0}})) << "an older epoch";
  EXPECT_TRUE(went_back({kSoundCluster + 1, 50, {1, 1, 0}})) << "another cluster";
  const EtcdReport damaged = report(sound(), fail(Code::kStoreCorrupt, "the file", ""));
  EXPECT_TRUE(damaged.went_back);
  Survey survey = sound();
  survey.epoch = "rubbish";
  EXPECT_TRUE(has(bad(report(survey)).at(0), "\"/p/epoch\" is damaged"));
  survey.epoch = "7 1 0";
  EXPECT_TRUE(has(bad(report(survey)).at(0), "have schema 7"));
}

TEST(EtcdDoctor, WhatAUserMayNotSeeIsToldOnce) {
  Survey survey = sound();
  for (Asked& asked : survey.asked) {
    asked.status.reset();
    asked.version = "3.5.33";
  }
  survey.hidden = true;
  survey.members.clear();
  survey.alarms.reset();
  EXPECT_TRUE(has(only_note(report(survey, std::nullopt, true)), "may not see all of it"));
}

}  // namespace
}  // namespace lockkeeper::kv::etcd
