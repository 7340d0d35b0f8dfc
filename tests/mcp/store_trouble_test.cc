// A store that is busy, or broken, while the server runs: told as what it is, never as free, and
// the server lives on.
#include <csignal>
#include <filesystem>

#include "mcp/crowd.h"

namespace lockkeeper::proof {
namespace {

class StoreTrouble : public Crowd {
 protected:
  void SetUp() override {
    come(2);
    ASSERT_TRUE(is_granted(client(0).tool("lock_acquire", wanted("a"))));
  }

  // Every tool that looks at the table says so, in both eras.
  void told(const std::string& code) {
    for (auto& each : clients_) {
      for (const char* const tool : {"lock_acquire", "lock_release", "lock_renew", "lock_status"}) {
        Json arguments = Json::object();
        if (tool == std::string("lock_acquire")) arguments = wanted("b");
        const Json answer = each->call_tool(tool, arguments);
        EXPECT_TRUE(answer.value("isError", false)) << tool << ": " << answer;
        EXPECT_EQ(answer["structuredContent"]["error"]["code"], code) << tool << ": " << answer;
      }
      each->expect_alive();
    }
  }
};

TEST_F(StoreTrouble, I10_a_store_that_is_damaged_meanwhile) {
  const std::string data = stage_.store() + "/data.mdb";
  std::filesystem::resize_file(data, 5'000);
  told("store_corrupt");
}

TEST_F(StoreTrouble, I10_a_store_that_is_gone_meanwhile) {
  std::filesystem::remove(stage_.store() + "/data.mdb");
  told("store_corrupt");
}

TEST_F(StoreTrouble, a_store_that_is_busy_is_told_and_when_it_is_not_all_is_well) {
  STAGE_IS_LOCAL("the table is kept busy");
  // Stops inside its transaction: its first call has the gate, its second finds it there.
  stage_.env["LOCKKEEPER_TEST_FAULT"] = "stop@2";
  stage::Process stopped = stage_.start("stopped", {"acquire", "c"});
  stage_.env.erase("LOCKKEEPER_TEST_FAULT");
  ASSERT_TRUE(stage::eventually([&] { return stage::state_of(stopped.pid()) == 'T'; }));
  const int id = client(0).start_tool("lock_acquire", wanted("b"));
  client(0).ask("tools/list");  // what needs no store does not wait for it
  const Json answer = client(0).wait_for(id)["result"];
  EXPECT_TRUE(answer.value("isError", false)) << answer;
  EXPECT_EQ(answer["structuredContent"]["error"]["code"], "store_busy") << answer;
  stopped.signal(SIGCONT);
  EXPECT_EQ(stopped.wait(), 0);
  EXPECT_TRUE(is_granted(client(0).tool("lock_acquire", wanted("b"))));
}

}  // namespace
}  // namespace lockkeeper::proof
