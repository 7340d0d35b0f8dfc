#include "dialect/coordinator/ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "service/local/test_site.h"

namespace lockkeeper::dialect::coordinator {
namespace {

using testing::HasSubstr;

class PortsTest : public testing::Test {
 protected:
  PortsTest() : site_(machine_site(realm_.service_runtime).value()) {}

  Ports ports() {
    return Ports(*site_, [this](std::uint16_t port) { return listening_.contains(port); });
  }
  std::uint64_t first(const std::string& session,
                      const PortRange& range = {10'000, 100, 20, 7'200'000}) {
    const auto taken = ports().allocate(session, range);
    EXPECT_TRUE(taken) << taken.error().message;
    return taken && *taken ? (*taken)->first : 0;
  }

  service::TestSite realm_;
  std::set<std::uint16_t> listening_;
  std::unique_ptr<service::Site> site_;
};

TEST_F(PortsTest, TheLowestFreeSlotAndTheSameAgainForWhoAsksAgain) {
  EXPECT_EQ(first("a"), 10'000U);
  EXPECT_EQ(first("b"), 10'100U);
  EXPECT_EQ(first("a"), 10'000U);
  EXPECT_EQ(first("c"), 10'200U);
  EXPECT_TRUE(ports().release("b").value());
  EXPECT_FALSE(ports().release("b").value());
  EXPECT_EQ(first("d"), 10'100U);
}

TEST_F(PortsTest, AskingAgainRefreshesAndKeepsWhenItWasAllocated) {
  const auto before = ports().allocate("a", {10'000, 100, 20, 7'200'000}).value().value();
  realm_.clock.ahead_ms = 7'000'000;
  const auto after = ports().allocate("a", {10'000, 100, 20, 7'200'000}).value().value();
  EXPECT_EQ(after.first, before.first);
  EXPECT_EQ(after.allocated_wall_ms, before.allocated_wall_ms);
  EXPECT_GE(after.expires_wall_ms, before.expires_wall_ms + 7'000'000);
  realm_.clock.ahead_ms = 14'000'000;
  EXPECT_EQ(ports().status().value().size(), 1U);
  realm_.clock.ahead_ms = 14'300'000;
  EXPECT_EQ(ports().status().value().size(), 0U) << "over";
  EXPECT_EQ(first("b"), 10'000U);
  EXPECT_EQ(first("a"), 10'100U);
}

TEST_F(PortsTest, SlotsWithAListenerAreSkippedButNotTakenFromTheirSession) {
  listening_ = {10'003, 10'101};
  EXPECT_EQ(first("a"), 10'200U);
  listening_.insert(10'200);  // its own database now runs
  EXPECT_EQ(first("a"), 10'200U);
  listening_ = {10'200};
  EXPECT_EQ(first("b"), 10'000U);
}

TEST_F(PortsTest, AFullRangeIsNoPortsAvailable) {
  const PortRange small{20'000, 4, 3, 60'000};
  for (const char* const session : {"a", "b", "c"}) EXPECT_NE(first(session, small), 0U);
  EXPECT_EQ(ports().allocate("d", small).value(), std::nullopt);
  EXPECT_EQ(service::dump(allocate_json(std::nullopt)),
            R"({"success":false,"error":"no_ports_available"})");
  EXPECT_EQ(first("b", small), 20'004U);
  realm_.clock.ahead_ms = 61'000;
  EXPECT_EQ(first("d", small), 20'000U);
  listening_ = {20'001, 20'005, 20'011};
  realm_.clock.ahead_ms = 200'000;
  EXPECT_EQ(ports().allocate("e", small).value(), std::nullopt);
}

TEST_F(PortsTest, I1_RangesThatOverlapDoNotShareAPort) {
  EXPECT_EQ(first("a", {20'000, 100, 20, 60'000}), 20'000U);
  EXPECT_EQ(first("b", {20'002, 4, 5, 60'000}), 20'006U) << "20002 and 20003 are taken";
  EXPECT_EQ(first("a", {30'000, 100, 20, 60'000}), 20'000U) << "it keeps what it has";
}

TEST_F(PortsTest, ASubagentsNameIsASessionOfItsOwn) {
  std::set<std::uint64_t> all;
  const std::vector<std::string> names = {"s", "s/x",   "s%2Fx", "s%252Fx", "s/x/y",   "/",
                                          "%", "../..", "true",  "123",     "a b,c&d", "é"};
  for (const std::string& name : names) all.insert(first(name));
  EXPECT_EQ(all.size(), names.size());
  std::set<std::string> told;
  const auto all_told = ports().status();
  for (const PortAllocation& one : all_told.value()) told.insert(one.session);
  EXPECT_EQ(told, std::set<std::string>(names.begin(), names.end()));
}

TEST_F(PortsTest, HostileSessionsAreRefused) {
  for (const std::string& bad : {std::string(), std::string(" a"), std::string("a "),
                                 std::string("a\nb"), std::string("\xff"), std::string("a\0b", 3),
                                 std::string(201, 'a'), std::string(200, '/')}) {
    const auto taken = ports().allocate(bad, {10'000, 100, 20, 60'000});
    ASSERT_FALSE(taken) << bad;
    EXPECT_EQ(taken.error().code, Code::kInvalidInput);
  }
  EXPECT_FALSE(std::filesystem::exists(site_->realm().store_folder));
}

TEST_F(PortsTest, LookingCreatesNothing) {
  EXPECT_TRUE(ports().status().value().empty());
  EXPECT_FALSE(ports().release("a").value());
  EXPECT_FALSE(std::filesystem::exists(site_->realm().store_folder));
}

TEST_F(PortsTest, WhatTheSessionIsTold) {
  const auto taken = ports().allocate("backend-1", {10'000, 100, 20, 7'200'000}).value();
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->compose_project_name(), "ac-4ca00a69");
  EXPECT_EQ(taken->env_snippet(),
            "export AGENT_COORDINATOR_DB_PORT=10000\n"
            "export AGENT_COORDINATOR_REST_PORT=10001\n"
            "export AGENT_COORDINATOR_REALTIME_PORT=10002\n"
            "export API_PORT=10003\n"
            "export COMPOSE_PROJECT_NAME=ac-4ca00a69\n"
            "export SUPABASE_URL=http://localhost:10001");
  const service::Json json = allocate_json(taken);
  EXPECT_EQ(service::dump(json["allocation"]),
            R"({"db_port":10000,"rest_port":10001,"realtime_port":10002,"api_port":10003,)"
            R"("compose_project_name":"ac-4ca00a69"})");
  EXPECT_EQ(json["session_id"], "backend-1");
  EXPECT_EQ(status_json(*taken, taken->expires_wall_ms - 60'001)["remaining_ttl_minutes"], 2);
  EXPECT_EQ(status_json(*taken, taken->expires_wall_ms + 5)["remaining_ttl_minutes"], 0);
}

class PortRangeTest : public testing::Test {
 protected:
  Result<PortRange> range(const std::map<std::string, std::string>& variables) {
    return port_range(settings_, realm::environment_of(variables));
  }
  realm::Settings settings_;
};

TEST_F(PortRangeTest, TheOriginalsVariablesComeBeforeTheSettings) {
  const PortRange usual = range({}).value();
  EXPECT_EQ(usual.base, 10'000U);
  EXPECT_EQ(usual.range, 100U);
  EXPECT_EQ(usual.sessions, 20U);
  EXPECT_EQ(usual.ttl_ms, 7'200'000);
  settings_.ports_base.value = 20'000;
  EXPECT_EQ(range({}).value().base, 20'000U);
  const PortRange set = range({{"PORT_ALLOC_BASE", "30000"},
                               {"PORT_ALLOC_RANGE", "10"},
                               {"PORT_ALLOC_MAX_SESSIONS", "5"},
                               {"PORT_ALLOC_TTL_MINUTES", "1"}})
                            .value();
  EXPECT_EQ(set.base, 30'000U);
  EXPECT_EQ(set.range, 10U);
  EXPECT_EQ(set.sessions, 5U);
  EXPECT_EQ(set.ttl_ms, 60'000);
}

TEST_F(PortRangeTest, BadValuesAreNamed) {
  for (const char* const name : {"PORT_ALLOC_BASE", "PORT_ALLOC_RANGE", "PORT_ALLOC_MAX_SESSIONS",
                                 "PORT_ALLOC_TTL_MINUTES"}) {
    for (const char* const value : {"0", "-1", "abc", "1e4", " 5", "5 ", "99999999999999999999"}) {
      const auto bad = range({{name, value}});
      ASSERT_FALSE(bad) << name << "=" << value;
      EXPECT_EQ(bad.error().code, Code::kInvalidConfig);
      EXPECT_THAT(bad.error().message, HasSubstr(name));
    }
  }
  EXPECT_FALSE(range({{"PORT_ALLOC_BASE", "1023"}}));
  EXPECT_FALSE(range({{"PORT_ALLOC_RANGE", "3"}}));
}

TEST_F(PortRangeTest, TheLastPortIsAPort) {
  const auto beyond = range({{"PORT_ALLOC_BASE", "65500"}});
  ASSERT_FALSE(beyond);
  EXPECT_THAT(beyond.error().message, HasSubstr("67403"));
  EXPECT_TRUE(range({{"PORT_ALLOC_BASE", "65500"}, {"PORT_ALLOC_MAX_SESSIONS", "1"}}));
  EXPECT_TRUE(range({{"PORT_ALLOC_BASE", "65532"}, {"PORT_ALLOC_MAX_SESSIONS", "1"}}));
  EXPECT_TRUE(range({{"PORT_ALLOC_BASE", "63632"}}));
  EXPECT_FALSE(range({{"PORT_ALLOC_BASE", "63633"}}));
}

}  // namespace
}  // namespace lockkeeper::dialect::coordinator
