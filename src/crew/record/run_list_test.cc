// A run is found by those who know only the realm, also after another run has taken its place.
#include "crew/record/run_list.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/test_folder.h"

namespace lockkeeper::crew {
namespace {

class RunList : public testing::Test {
 protected:
  RunList() { std::filesystem::create_directory(temporary_.file("out")); }
  std::string store() const { return temporary_.path(); }
  std::string output() const { return temporary_.file("out"); }
  void begin(const std::string& folder, const std::string& id) const {
    RunState state;
    state.record.id = id;
    ASSERT_TRUE(Journal::begin(*open_run_files(folder), state));
  }
  const TestFolder temporary_;
};

TEST_F(RunList, NothingIsListedAtFirst) {
  EXPECT_TRUE(listed_runs(store())->empty());
}

TEST_F(RunList, AListedRunIsRead) {
  ASSERT_TRUE(list_run(store(), "r1", output()));
  begin(output(), "r1");
  const auto runs = listed_runs(store());
  ASSERT_EQ(runs->size(), 1U);
  EXPECT_EQ(runs->front().id, "r1");
  const auto found = read_run(runs->front());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->state.record.id, "r1");
  EXPECT_TRUE(found->is_last);
}

TEST_F(RunList, ARunThatAnotherHasFollowedIsReadWhereItWasMoved) {
  ASSERT_TRUE(list_run(store(), "r1", output()));
  std::filesystem::create_directories(output() + "/earlier/r1");
  begin(output() + "/earlier/r1", "r1");
  begin(output(), "r2");
  const auto found = read_run({"r1", output()});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->state.record.id, "r1");
  EXPECT_FALSE(found->is_last);
}

TEST_F(RunList, WhoWorksAndWhoWaitsIsToldWhileTheRunIsAtWork) {
  begin(output(), "r1");
  const Folder folder = *open_run_files(output());
  RunState state;
  state.record.id = "r1";
  state.record.agents.resize(1);
  state.record.agents[0].id = "api";
  state.record.agents[0].standing = Standing::kRunning;
  {
    NowFile now(folder);
    now.tell(state, 1'000);
    const auto found = read_run({"r1", output()});
    ASSERT_TRUE(found);
    ASSERT_EQ(found->state.record.agents.size(), 1U);
    EXPECT_EQ(found->state.record.agents[0].standing, Standing::kRunning);
    state.record.agents[0].standing = Standing::kDone;
    now.tell(state, 1'100);  // too soon
    EXPECT_EQ(read_run({"r1", output()})->state.record.agents[0].standing, Standing::kRunning);
    now.tell(state, 1'600);
    EXPECT_EQ(read_run({"r1", output()})->state.record.agents[0].standing, Standing::kDone);
  }
  EXPECT_TRUE(read_run({"r1", output()})->state.record.agents.empty()) << "it goes with the run";
}

TEST_F(RunList, WhatAnotherRunToldIsNotThisOnes) {
  begin(output(), "r2");
  const Folder folder = *open_run_files(output());
  RunState other;
  other.record.id = "r1";
  other.record.agents.resize(1);
  NowFile now(folder);
  now.tell(other, 1'000);
  EXPECT_TRUE(read_run({"r2", output()})->state.record.agents.empty());
}

TEST_F(RunList, ARunWhoseFilesWereRemovedIsNotFound) {
  EXPECT_EQ(read_run({"r1", output()}).error().code, Code::kNotFound);
  EXPECT_EQ(read_run({"r1", output() + "/none"}).error().code, Code::kNotFound);
}

TEST_F(RunList, WhoeverMayUseTheStoreSeesItsRuns) {
  const auto mode_of = [&](const std::string& name) {
    return static_cast<unsigned>(std::filesystem::status(store() + name).permissions());
  };
  ASSERT_TRUE(list_run(store(), "r1", output()));
  EXPECT_EQ(mode_of("/runs"), mode_of(""));
  std::filesystem::permissions(store(), std::filesystem::perms(02770));
  ASSERT_TRUE(list_run(store(), "r2", output()));
  EXPECT_EQ(mode_of("/runs"), 02770U);
  EXPECT_EQ(mode_of("/runs/r2"), 0660U);
}

TEST_F(RunList, OnlyTheLastRunsAreKept) {
  for (std::size_t i = 0; i < kRunsListed + 5; ++i) {
    ASSERT_TRUE(list_run(store(), "r" + std::to_string(1000 + i), output()));
  }
  EXPECT_EQ(listed_runs(store())->size(), kRunsListed);
}

}  // namespace
}  // namespace lockkeeper::crew
