// A store that is full or damaged in the middle of a conversation: each call of each tool has its
// answer, nothing is granted, and the server lives on (I9, I10, L9). See store_trouble_test.cc,
// too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "chaos/faults/small_disk.h"
#include "mcp/client.h"

namespace lockkeeper::proof {
namespace {

using testing::HasSubstr;

Json on(const std::string& resource) {
  return {{"resources", {resource}}};
}

std::string words(const Json& result) {
  return result["content"][0]["text"].get<std::string>();
}

// The code of the error that a call must have, in both halves.
std::string code_of(Client& client, const std::string& tool, const Json& arguments) {
  const Json result = client.call_tool(tool, arguments);
  EXPECT_TRUE(result.value("isError", false)) << result.dump();
  const Json& error = result["structuredContent"]["error"];
  EXPECT_EQ(result["structuredContent"]["message"], words(result));
  EXPECT_THAT(words(result), HasSubstr(". Next: "));
  return error.value("code", "");
}

TEST(ToolsTrouble, it_ends_at_once_though_the_store_is_busy) {
  stage::Stage stage;
  Client client(stage, {.agent = "amy"});
  client.call_tool("lock_acquire", on("a"));
  stage::Launch launch = stage.launch("bob", {"acquire", "b"});
  launch.env["LOCKKEEPER_TEST_FAULT"] = "stop@2";
  stage::Process stopped(std::move(launch));
  ASSERT_TRUE(stage::eventually([&] { return stage::state_of(stopped.pid()) == 'T'; }));
  client.kill(SIGTERM);
  EXPECT_EQ(client.finish(), 0);
}

TEST(ToolsTrouble, every_tool_tells_of_a_damaged_store) {
  stage::Stage stage;
  Client client(stage, {.agent = "amy"});
  client.call_tool("lock_acquire", on("a"));
  stage::write_text(stage.store() + "/data.mdb", std::string(65'536, 'x'));
  for (const char* const tool : {"lock_acquire", "lock_status", "lock_release"}) {
    EXPECT_EQ(code_of(client, tool, on("a")), "store_corrupt") << tool;
  }
  EXPECT_EQ(code_of(client, "lock_acquire", {{"resources", {"a"}}, {"wait_s", 45}}),
            "store_corrupt");
  EXPECT_EQ(code_of(client, "lock_renew", Json::object()), "store_corrupt");
  EXPECT_EQ(code_of(client, "lock_message", Json::object()), "store_corrupt");
  const Json error = client.ask_in_vain("resources/read", {{"uri", "lock://leases"}});
  EXPECT_EQ(error["data"]["code"], "store_corrupt");
  client.expect_alive();
}

// Who waits is told, too.
TEST(ToolsTrouble, a_store_that_is_damaged_while_somebody_waits) {
  stage::Stage stage;
  Client client(stage, {.agent = "amy"});
  client.call_tool("lock_acquire", {{"resources", {"a"}}, {"agent", "bob"}});
  const int waiting = client.start_tool("lock_acquire", {{"resources", {"a"}}, {"wait_s", 45}});
  EXPECT_TRUE(stage.queue_grows_to(1));
  stage::write_text(stage.store() + "/data.mdb", std::string(65'536, 'x'));
  const Json result = client.wait_for(waiting)["result"];
  EXPECT_TRUE(result.value("isError", false)) << result.dump();
  EXPECT_EQ(result["structuredContent"]["error"]["code"], "store_corrupt");
  client.expect_alive();
}

TEST(ToolsTrouble, F13_a_disk_that_is_full_and_has_space_again) {
  faults::FaultStage stage{stage::Stage::Git::kNo};
  faults::SmallDisk disk(stage);
  if (const std::string why = disk.mount(); !why.empty()) GTEST_SKIP() << why;
  Client client(stage, {.agent = "amy"});
  client.call_tool("lock_acquire", on("first"));
  disk.fill_but(0);
  const std::string reason(4'000, 'r');
  int granted = 0;
  Json last;
  for (; granted < 2'000; ++granted) {
    last = client.call_tool("lock_acquire",
                            {{"resources", {"f" + std::to_string(granted)}}, {"reason", reason}});
    if (last.value("isError", false)) break;
  }
  EXPECT_EQ(last["structuredContent"]["error"]["code"], "no_space") << last.dump();
  EXPECT_THAT(words(client.call_tool("lock_status", on("first"))), HasSubstr("Yours: first"));
  disk.make_space();
  EXPECT_THAT(words(client.call_tool("lock_acquire", on("after"))), HasSubstr("Locked after"));
  EXPECT_EQ(stage.list()["leases"].size(), static_cast<std::size_t>(granted) + 2);
}

}  // namespace
}  // namespace lockkeeper::proof
