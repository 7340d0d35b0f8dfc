#include "relay/tenants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/test_folder.h"
#include "host/process.h"

namespace lockkeeper::relay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class TenantsTest : public testing::Test {
 protected:
  std::unique_ptr<Tenants> open() {
    auto opened = Tenants::open(folder_.path(), random_);
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }
  host::LiveSlot slot() {
    const auto slots = host::LiveSlots::open(folder_.file("live"), random_);
    EXPECT_TRUE(slots);
    return *slots->take();
  }
  static core::Attachment attached(const host::LiveSlot& slot) { return {slot.offset(), 0, 0, 0}; }
  TestFolder folder_;
  SystemRandom random_;
};

TEST_F(TenantsTest, AProcessHasOneNumberWithItsPersonsMark) {
  const auto tenants = open();
  const host::LiveSlot one = slot();
  const host::LiveSlot two = slot();
  const auto first = tenants->number_of(attached(one), 0xabcd);
  ASSERT_TRUE(first);
  EXPECT_EQ(*first >> 48U, 0xabcdU);
  EXPECT_EQ(*tenants->number_of(attached(one), 0xabcd), *first);
  EXPECT_NE(*tenants->number_of(attached(two), 0xabcd), *first);
  EXPECT_FALSE(tenants->look());
}

TEST_F(TenantsTest, AnAnswerNamesTheProcessesOfThisMachineAsTheyAreKnownHere) {
  const auto tenants = open();
  const host::LiveSlot one = slot();
  const std::uint64_t number = *tenants->number_of(attached(one), 1);
  const Json hub{{"reply",
                  {{"holds",
                    {json_of(core::Attachment::remote(number)),
                     json_of(core::Attachment::remote(number + 1)), json_of({7, 0, 0, 0})}}}}};
  const Json here = Json::parse(tenants->with_processes(hub.dump()));
  EXPECT_EQ(here["reply"]["holds"][0], json_of(attached(one)));
  EXPECT_EQ(here["reply"]["holds"][1], hub["reply"]["holds"][1]) << "another machine's";
  EXPECT_EQ(here["reply"]["holds"][2], hub["reply"]["holds"][2]);
  for (const char* const odd : {"", "{", "\"pid_namespace\":", "[1,2]"}) {
    EXPECT_EQ(tenants->with_processes(odd), odd);
  }
}

// A beat may be faster than the call that brings the number.
TEST_F(TenantsTest, OnlyWhatTheHubHasKnownCanBeDeadThere) {
  const auto tenants = open();
  const host::LiveSlot one = slot();
  const std::uint64_t number = *tenants->number_of(attached(one), 1);
  tenants->drop({number}, 1'000);
  EXPECT_THAT(tenants->report().living, ElementsAre(number));
  tenants->confirm({number}, 1'000);
  tenants->drop({number}, 1'000);
  EXPECT_THAT(tenants->report().living, ElementsAre(number));
  tenants->drop({number}, 1'001);
  EXPECT_THAT(tenants->report().living, IsEmpty());
  EXPECT_NE(*tenants->number_of(attached(one), 1), number);
}

TEST_F(TenantsTest, ADeathIsReportedUntilTheHubHasHeardOfIt) {
  const auto tenants = open();
  std::uint64_t number = 0;
  {
    const host::LiveSlot held = slot();
    number = *tenants->number_of(attached(held), 1);
    EXPECT_THAT(tenants->report().living, ElementsAre(number));
  }
  EXPECT_TRUE(tenants->look());
  EXPECT_FALSE(tenants->look());
  EXPECT_THAT(tenants->report().living, IsEmpty());
  EXPECT_THAT(tenants->report().gone, ElementsAre(number));
  EXPECT_FALSE(tenants->empty());
  tenants->acknowledge({number});
  EXPECT_TRUE(tenants->empty());
}

TEST_F(TenantsTest, AnotherRelayKnowsThem) {
  const host::LiveSlot lives = slot();
  std::string session;
  std::uint64_t number = 0;
  std::uint64_t dead = 0;
  {
    const auto tenants = open();
    session = tenants->session();
    number = *tenants->number_of(attached(lives), 1);
    const host::LiveSlot dies = slot();
    dead = *tenants->number_of(attached(dies), 1);
  }
  const auto tenants = open();
  EXPECT_EQ(tenants->session(), session);
  EXPECT_TRUE(tenants->look());
  EXPECT_THAT(tenants->report().living, ElementsAre(number));
  EXPECT_THAT(tenants->report().gone, ElementsAre(dead));
}

TEST_F(TenantsTest, AProcessThatHasNoSlotIsKnownByItsPid) {
  const auto tenants = open();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char byte = 0;
    ::close(ends[1]);
    static_cast<void>(!::read(ends[0], &byte, 1));
    ::_exit(0);
  }
  const auto process = host::identify(child);
  ASSERT_TRUE(process);
  const core::Attachment attachment{0, process->pid_namespace, process->pid, process->start_ticks};
  ASSERT_TRUE(tenants->number_of(attachment, 1));
  EXPECT_FALSE(tenants->look());
  ::close(ends[1]);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(tenants->look());
  ::close(ends[0]);
}

// So that a hub which keeps a row for each session never makes one for what it has lost.
TEST_F(TenantsTest, I5_ASessionBeginsUntilABeatIsAnsweredAndNeverAgain) {
  std::string session;
  {
    const auto tenants = open();
    session = tenants->session();
    EXPECT_TRUE(tenants->report().begins);
    EXPECT_TRUE(open()->report().begins) << "another relay knows no more";
    ASSERT_TRUE(tenants->begun(std::string(32, '0')));
    EXPECT_TRUE(tenants->must_begin()) << "that was another session";
    ASSERT_TRUE(tenants->begun(session));
    EXPECT_FALSE(tenants->must_begin());
    EXPECT_FALSE(tenants->report().begins);
  }
  const auto tenants = open();
  EXPECT_EQ(tenants->session(), session);
  EXPECT_FALSE(tenants->report().begins);
}

TEST_F(TenantsTest, I5_I7_ALostSessionTakesAlongWhatTheHubHasKnown) {
  const auto tenants = open();
  const std::string lost = tenants->session();
  ASSERT_TRUE(tenants->begun(lost));
  const host::LiveSlot known = slot();
  const host::LiveSlot just_now = slot();
  const host::LiveSlot on_its_way = slot();
  tenants->confirm({*tenants->number_of(attached(known), 1)}, 999);
  const std::uint64_t later = *tenants->number_of(attached(just_now), 1);
  tenants->confirm({later}, 1'000);
  const std::uint64_t moves = *tenants->number_of(attached(on_its_way), 1);
  ASSERT_TRUE(tenants->lose_session(std::string(32, '0'), 1'000));
  EXPECT_EQ(tenants->session(), lost) << "that was another session";
  ASSERT_TRUE(tenants->lose_session(lost, 1'000));
  const std::string session = tenants->session();
  EXPECT_EQ(session.size(), 32U);
  EXPECT_NE(session, lost);
  const Tenants::Report report = tenants->report();
  EXPECT_EQ(report.session, session);
  EXPECT_TRUE(report.begins);
  EXPECT_THAT(report.living, UnorderedElementsAre(later, moves));
  ASSERT_TRUE(tenants->lose_session(lost, 2'000));
  EXPECT_EQ(tenants->session(), session) << "an answer that comes twice";
  // It is on record.
  const auto next = open();
  EXPECT_EQ(next->session(), session);
  EXPECT_TRUE(next->report().begins);
  EXPECT_THAT(next->report().living, UnorderedElementsAre(later, moves));
}

// What an earlier relay brought is not on its way any more.
TEST_F(TenantsTest, I5_I7_ALostSessionTakesAlongWhatAnEarlierRelayHasBrought) {
  const host::LiveSlot lives = slot();
  std::uint64_t number = 0;
  {
    const auto tenants = open();
    ASSERT_TRUE(tenants->begun(tenants->session()));
    number = *tenants->number_of(attached(lives), 1);
  }
  const auto tenants = open();
  EXPECT_THAT(tenants->report().living, ElementsAre(number));
  ASSERT_TRUE(tenants->lose_session(tenants->session(), 1'000));
  EXPECT_THAT(tenants->report().living, IsEmpty());
  EXPECT_NE(*tenants->number_of(attached(lives), 1), number);
}

TEST_F(TenantsTest, I5_TheFileOfAnEarlierVersionHasBegunIfSomebodyIsAttached) {
  const std::string session = R"({"session":"0123456789abcdef0123456789abcdef","attached":)";
  std::ofstream(folder_.file("attached")) << session << "[]}";
  EXPECT_TRUE(open()->report().begins);
  std::ofstream(folder_.file("attached")) << session << "[[7,64,0,0,0]]}";
  EXPECT_FALSE(open()->report().begins);
  std::ofstream(folder_.file("attached")) << session << "[],\"begun\":true}";
  EXPECT_FALSE(open()->report().begins);
}

// Then the old one goes on.
TEST_F(TenantsTest, I5_ASessionThatCannotBeSavedIsNotUsed) {
  const auto tenants = open();
  const std::string session = tenants->session();
  const host::LiveSlot one = slot();
  const std::uint64_t number = *tenants->number_of(attached(one), 1);
  tenants->confirm({number}, 1);
  ASSERT_TRUE(std::filesystem::remove_all(folder_.path()));
  EXPECT_FALSE(tenants->begun(session));
  EXPECT_TRUE(tenants->must_begin());
  EXPECT_FALSE(tenants->lose_session(session, 1'000));
  EXPECT_EQ(tenants->session(), session);
  EXPECT_THAT(tenants->report().living, ElementsAre(number));
}

TEST_F(TenantsTest, WhatCannotBeReadIsASessionOfItsOwn) {
  const std::string session = open()->session();
  for (const char* const text :
       {"", "{", "[]", R"({"session":1,"attached":[]})", R"({"session":"x","attached":[[1,2]]})",
        R"({"session":"x","attached":[["1",2,3,4,5]]})"}) {
    std::ofstream(folder_.file("attached")) << text;
    const auto tenants = open();
    EXPECT_EQ(tenants->session().size(), 32U) << text;
    EXPECT_NE(tenants->session(), session) << text;
    EXPECT_TRUE(tenants->empty()) << text;
  }
}

}  // namespace
}  // namespace lockkeeper::relay
