// Two, then fifty clients at once over real processes.
#include "mcp/crowd.h"

#include <gmock/gmock.h>

#include <csignal>

namespace lockkeeper::proof {
namespace {

class CrowdOf : public Crowd, public testing::WithParamInterface<std::size_t> {
 protected:
  void SetUp() override { come(GetParam()); }
  std::size_t count() const { return GetParam(); }
};

// Each adds one to a number in a file: read, then written, with nothing but the lock around it.
TEST_P(CrowdOf, I1_I3_exclude_each_other_and_fences_only_grow) {
  const std::size_t rounds = count() > 10 ? 2 : 20;
  const std::string file = stage_.path("counter");
  const std::string fences = stage_.path("fences");
  stage::write_text(file, "0");
  std::vector<std::thread> threads;
  for (auto& each : clients_) {
    threads.emplace_back([&, client = each.get()] {
      for (std::size_t i = 0; i < rounds; ++i) {
        const Json told = lock(*client, "counter");
        ASSERT_TRUE(is_granted(told)) << told;
        const int number = std::stoi(stage::read_text(file));
        std::this_thread::yield();
        std::ofstream(fences, std::ios::app) << fence_of(told) << "\n";
        stage::write_text(file, std::to_string(number + 1));
        unlock(*client);
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(stage::read_text(file), std::to_string(count() * rounds));
  std::ifstream stream(fences);
  std::uint64_t last = 0;
  std::size_t seen = 0;
  for (std::uint64_t fence = 0; stream >> fence; ++seen, last = fence) EXPECT_GT(fence, last);
  EXPECT_EQ(seen, count() * rounds);
  EXPECT_TRUE(stage_.list()["leases"].empty());
  EXPECT_TRUE(stage_.list()["waiters"].empty());
}

TEST_P(CrowdOf, are_served_in_the_order_in_which_they_came) {
  ASSERT_TRUE(is_granted(client(0).tool("lock_acquire", wanted("a"))));
  std::vector<int> waiting(count());
  for (std::size_t i = 1; i < count(); ++i) waiting[i] = queue(i, "a", i);
  unlock(client(0));
  std::uint64_t last = 0;
  for (std::size_t i = 1; i < count(); ++i) {
    const std::uint64_t fence = fence_of(granted(client(i), waiting[i]));
    EXPECT_GT(fence, last) << i;
    last = fence;
    for (std::size_t later = i + 1; later < std::min(count(), i + 3); ++later) {
      EXPECT_FALSE(client(later).has_answer(waiting[later])) << later << " came before " << i;
    }
    unlock(client(i));
  }
}

TEST_P(CrowdOf, all_hear_of_what_they_watch) {
  const std::string uri = "lock://leases";
  for (auto& each : clients_) each->watch(uri);
  ASSERT_TRUE(is_granted(client(0).tool("lock_acquire", wanted("a"))));
  for (auto& each : clients_) {
    const Json told = each->wait_for_notification("notifications/resources/updated");
    EXPECT_EQ(told["params"]["uri"], uri);
    const Json contents = each->ask("resources/read", {{"uri", uri}})["contents"];
    const Json leases = Json::parse(contents[0]["text"].get<std::string>())["leases"];
    ASSERT_EQ(leases.size(), 1U);
    EXPECT_EQ(leases[0]["agent"], "agent-0");
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, CrowdOf, testing::Values(2, 50), testing::PrintToStringParamName());

// --- in mid-wait -------------------------------------------------------------------------------

class MidWait : public Crowd {
 protected:
  // The first holds, all others wait, in order.
  void stand_in_line(std::size_t count) {
    come(count);
    ASSERT_TRUE(is_granted(client(0).tool("lock_acquire", wanted("a"))));
    for (std::size_t i = 1; i < count; ++i) waiting_.push_back(queue(i, "a", i));
  }
  bool queue_is(std::size_t count) {
    return stage::eventually([&] { return stage_.waiters() == count; });
  }
  int id(std::size_t number) const { return waiting_[number - 1]; }

  std::vector<int> waiting_;
};

TEST_F(MidWait, cancelled_it_leaves_the_queue_at_once_and_the_others_keep_their_order) {
  stand_in_line(5);
  client(2).cancel(id(2));
  EXPECT_TRUE(queue_is(3));
  client(3).cancel(id(3));
  EXPECT_TRUE(queue_is(2));
  unlock(client(0));
  granted(client(1), id(1));
  unlock(client(1));
  granted(client(4), id(4));
  // Who has left may ask again, and stands at the end.
  const int again = queue(2, "a", 1);
  unlock(client(4));
  granted(client(2), again);
}

TEST_F(MidWait, a_killed_server_leaves_the_queue) {
  stand_in_line(4);
  client(1).kill(SIGKILL);
  EXPECT_EQ(client(1).finish(), 128 + SIGKILL);
  unlock(client(0));
  granted(client(2), id(2));
  client(2).kill(SIGKILL);  // and one that holds: its grace, then the next
  EXPECT_EQ(client(2).finish(), 128 + SIGKILL);
  drop(2);
  // The same agent in the same session has it back, and nobody else.
  clients_[2] = std::make_unique<Client>(stage_, agent_options(2));
  EXPECT_EQ(client(0).tool("lock_acquire", wanted("a"))["outcome"], "held");
  EXPECT_NE(client(2).tool("lock_acquire", wanted("a"))["outcome"], "held");
  unlock(client(2));
  granted(client(3), id(3));
}

TEST_F(MidWait, a_client_that_closes_its_pipe_leaves_the_queue_at_once) {
  stand_in_line(4);
  EXPECT_EQ(client(1).finish(), 0);
  EXPECT_TRUE(queue_is(2));
  client(2).kill(SIGTERM);
  EXPECT_EQ(client(2).finish(), 0);
  EXPECT_TRUE(queue_is(1));
  unlock(client(0));
  granted(client(3), id(3));
}

TEST_F(MidWait, other_calls_of_the_connection_do_not_wait) {
  stand_in_line(2);
  for (int i = 0; i < 20; ++i) client(1).tool("lock_status", Json::object());
  EXPECT_TRUE(is_granted(client(1).tool("lock_acquire", wanted("b"))));
  EXPECT_FALSE(client(1).has_answer(id(1)));
  const Json told = client(1).wait_for_notification("notifications/progress");
  EXPECT_EQ(told["params"]["progressToken"], "progress");
  unlock(client(0));
  granted(client(1), id(1));
}

TEST_F(MidWait, several_agents_on_one_connection_exclude_each_other) {
  come(1);
  const auto as = [](const std::string& agent, int wait_s) {
    Json arguments = wanted("a", wait_s);
    arguments["agent"] = agent;
    return arguments;
  };
  EXPECT_TRUE(is_granted(client(0).tool("lock_acquire", as("left", 0))));
  EXPECT_EQ(client(0).tool("lock_acquire", as("right", 0))["outcome"], "held");
  const int waiting = client(0).start_tool("lock_acquire", as("right", 45));
  ASSERT_TRUE(stage_.queue_grows_to(1));
  client(0).tool("lock_release", {{"agent", "left"}});
  granted(client(0), waiting);
}

}  // namespace
}  // namespace lockkeeper::proof
