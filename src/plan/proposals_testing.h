// For tests only: applies every proposal of a plan and checks the result.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "plan/edit.h"
#include "plan/proposals.h"

namespace lockkeeper::plan {

inline LoadOptions loose() {
  LoadOptions options;
  options.opaque_keys = true;
  return options;
}

inline ProposeOptions propose_options() {
  ProposeOptions options;
  options.children = [](const std::string& folder) -> std::optional<std::vector<std::string>> {
    if (folder != "a/") return std::nullopt;
    return std::vector<std::string>{"sub/", "x", "y", "z"};
  };
  return options;
}

struct Made {
  Plan plan;
  Analysis analysis;
  Proposals proposals;
};

inline Made made(const std::string& text) {
  Made all;
  Loaded loaded = load_plan(text, loose());
  EXPECT_TRUE(loaded.usable()) << text << loaded.findings.front().message;
  all.plan = std::move(loaded.plan);
  all.analysis = *analyse(all.plan, {});
  auto proposals = propose(all.plan, all.analysis, propose_options());
  EXPECT_TRUE(proposals) << proposals.error().message;
  all.proposals = std::move(*proposals);
  return all;
}

inline std::multiset<std::string> texts(const std::vector<key::Resource>& resources) {
  std::multiset<std::string> all;
  for (const key::Resource& each : resources) {
    all.insert(std::to_string(static_cast<int>(each.kind())) + each.text());
  }
  return all;
}

inline std::set<std::string> needs(const Plan& plan, const Job& job) {
  std::set<std::string> names;
  for (const std::size_t need : job.needs) names.insert(plan.jobs[need].id);
  return names;
}

// Compares two plans by name.
inline void expect_same(const Plan& expected, const Plan& actual) {
  ASSERT_EQ(expected.jobs.size(), actual.jobs.size());
  for (std::size_t i = 0; i < expected.jobs.size(); ++i) {
    const Job& a = expected.jobs[i];
    const Job& b = actual.jobs[i];
    ASSERT_EQ(a.id, b.id);
    EXPECT_EQ(texts(a.locks), texts(b.locks)) << a.id;
    EXPECT_EQ(texts(a.writes), texts(b.writes)) << a.id;
    EXPECT_EQ(texts(a.denies), texts(b.denies)) << a.id;
    EXPECT_EQ(needs(expected, a), needs(actual, b)) << a.id;
    EXPECT_EQ(a.minutes, b.minutes) << a.id;
    EXPECT_EQ(a.command, b.command) << a.id;
  }
}

// Applies every proposal to the file: it can be read again, is as announced, leaves other jobs
// alone, and the conflict is gone.
inline void expect_all_apply(const std::string& text, bool in_place) {
  const Made before = made(text);
  for (const Proposal& proposal : before.proposals.list) {
    SCOPED_TRACE(resolution_text(proposal.resolution));
    const auto written = apply_change(text, before.plan, proposal.change, {});
    ASSERT_TRUE(written);
    SCOPED_TRACE(written->text);
    EXPECT_FALSE(in_place && written->whole);
    const Loaded after = load_plan(written->text, loose());
    ASSERT_TRUE(after.usable()) << after.findings.front().message;
    expect_same(changed(before.plan, proposal.change), after.plan);
    const Conflict& conflict = before.analysis.conflicts.listed[proposal.conflict];
    const auto analysis = analyse(after.plan, {});
    ASSERT_TRUE(analysis);
    const std::set<std::string> pair = {before.plan.jobs[conflict.a].id,
                                        before.plan.jobs[conflict.b].id};
    for (const Conflict& each : analysis->conflicts.listed) {
      EXPECT_NE(pair,
                (std::set<std::string>{after.plan.jobs[each.a].id, after.plan.jobs[each.b].id}));
    }
    if (proposal.change.merge) continue;
    for (std::size_t i = 0; i < before.plan.jobs.size(); ++i) {
      if (i == conflict.a || i == conflict.b) continue;
      EXPECT_EQ(texts(before.plan.jobs[i].locks), texts(after.plan.jobs[i].locks));
      EXPECT_EQ(texts(before.plan.jobs[i].writes), texts(after.plan.jobs[i].writes));
      EXPECT_EQ(needs(before.plan, before.plan.jobs[i]), needs(after.plan, after.plan.jobs[i]));
    }
  }
}

}  // namespace lockkeeper::plan
