// Messages of the shipped program: what was answered as sent is there, whoever is killed.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <random>
#include <set>
#include <thread>

#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

TEST(Message, I9_F1WhatWasAnsweredAsSentIsKeptWhoeverIsKilled) {
  Stage stage;
  std::mt19937 chance(3);
  std::set<std::string> answered;
  for (int round = 0; round < 30; ++round) {
    const std::string text = "note " + std::to_string(round);
    Process sender(stage.launch("bob", {"message", "send", "ann", text}));
    if (round % 2 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(chance() % 8'000));
      sender.signal(SIGKILL);
    }
    if (sender.wait() == 0) answered.insert(text);
  }
  EXPECT_GE(answered.size(), 15U);
  std::set<std::string> kept;
  const Json list = stage.expect(0, "ann", {"message", "list"}).json();
  for (const Json& message : list["messages"]) {
    kept.insert(message["text"].get<std::string>());
    EXPECT_EQ(message["from"], "bob");
  }
  for (const std::string& text : answered) EXPECT_TRUE(kept.contains(text)) << text;
  // Nobody else sees any of it.
  EXPECT_EQ(stage.expect(0, "eve", {"message", "list", "--all"}).json()["messages"].size(), 0U);
  EXPECT_FALSE(stage.expect(0, "eve", {"check", "a"}).json().contains("messages"));
}

TEST(Message, AHolderIsWrittenToByWhatItHolds) {
  Stage stage;
  stage.file("src/a.py");
  stage.expect(0, "ann", {"acquire", "src/a.py", "--session", "one"});
  stage.expect(0, "bob", {"message", "send", "--holder", "src/a.py", "please", "hurry"});
  const Answer other = stage.expect(0, "ann", {"check", "x", "--session", "two"});
  EXPECT_FALSE(other.json().contains("messages"));
  const Answer holder = stage.expect(0, "ann", {"release", "--all", "--session", "one"});
  EXPECT_EQ(holder.json()["messages"][0]["text"], "please hurry");
}

TEST(Message, WithoutATextIsAMistakeInTheCommand) {
  Stage stage;
  for (const auto& words : {Words{"message", "send", "ann"}, {"message", "send", "--all"}}) {
    const Answer refused = stage.expect(64, "bob", words);
    EXPECT_NE(refused.out.find("needs a text"), std::string::npos) << refused.out;
  }
}

TEST(Message, B7_ANameThatNobodyHasUsedIsAWarning) {
  Stage stage;
  stage.expect(0, "ann", {"acquire", "a"});
  EXPECT_FALSE(
      stage.expect(0, "bob", {"message", "send", "ann", "hello"}).json().contains("warnings"));
  const Json doubted = stage.expect(0, "bob", {"message", "send", "nan", "hello"}).json();
  ASSERT_EQ(doubted["warnings"].size(), 1U) << doubted;
  EXPECT_NE(doubted["warnings"][0].get<std::string>().find("nobody called nan"), std::string::npos)
      << doubted;
  // It is kept, for whoever comes.
  const Json kept = stage.expect(0, "nan", {"message", "list"}).json();
  EXPECT_EQ(kept["messages"].size(), 1U);
}

TEST(Message, WhoChecksWhereThereIsNoStoreMakesNone) {
  STAGE_IS_LOCAL("the hub has made the table");
  Stage stage;
  stage.expect(0, "ann", {"check", "a"});
  stage.expect(0, "ann", {"message", "list"});
  EXPECT_NE(::access(stage.store().c_str(), 0), 0);
}

}  // namespace
}  // namespace lockkeeper::stage
