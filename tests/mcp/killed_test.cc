// The server killed in mid-grant, at every call to its store, and started again with the same
// session: never two holders, nothing lost, nothing held forever.
#include <csignal>

#include "mcp/crowd.h"

namespace lockkeeper::proof {
namespace {

constexpr int kKilled = 128 + SIGKILL;
constexpr int kPlacesMost = 500;

class Killed : public Crowd, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override { come(1); }

  ClientOptions victim(const std::string& fault = "") {
    ClientOptions options = agent_options(7);
    options.agent = "victim";
    options.session = "the-same";
    if (!fault.empty()) options.env["LOCKKEEPER_TEST_FAULT"] = fault;
    options.opens = fault.empty();
    return options;
  }

  // At most one holds it, and that is whom `mine` and `other` believe.
  void at_most_one_holder() {
    const Json leases = stage_.list()["leases"];
    EXPECT_LE(leases.size(), 1U) << leases;
  }

  // Comes again as the same session, has the lock, and gives it back; then it is anybody's.
  void comes_again() {
    Client again(stage_, victim());
    EXPECT_TRUE(is_ours(lock(again, "a")));
    EXPECT_EQ(stage_.list()["leases"].size(), 1U);
    EXPECT_EQ(client(0).tool("lock_acquire", wanted("a"))["outcome"], "held");
    unlock(again);
    EXPECT_TRUE(is_granted(client(0).tool("lock_acquire", wanted("a"))));
    unlock(client(0));
    EXPECT_TRUE(stage_.list()["leases"].empty());
  }
  static bool is_ours(const Json& told) {
    const std::string outcome = told.value("outcome", "");
    EXPECT_TRUE(outcome == "granted" || outcome == "renewed") << told;
    return outcome == "granted" || outcome == "renewed";
  }

  // Did it live to answer? Whether or not, it is dead now, and nothing is amiss.
  bool survived(Client& dying, int id) {
    const bool answered = dying.answered_before_end(id);
    if (answered) dying.kill(SIGKILL);
    EXPECT_EQ(dying.finish(), kKilled);
    at_most_one_holder();
    comes_again();
    return answered;
  }

  ClientOptions victim_at(int place) {
    ClientOptions options = victim(std::string(GetParam()) + "@" + std::to_string(place));
    options.revision = "2025-06-18";
    return options;
  }

  // Opens in the legacy era by hand, since it may die at any point of it.
  static int ask_for_it(Client& client, int wait_s) {
    client.request("initialize", {{"protocolVersion", "2025-06-18"},
                                  {"capabilities", Json::object()},
                                  {"clientInfo", {{"name", "v"}, {"version", "1"}}}});
    client.notify("notifications/initialized");
    return client.start_tool("lock_acquire", wanted("a", wait_s));
  }
};

TEST_P(Killed, F1_while_it_takes_a_free_lock) {
  STAGE_IS_LOCAL("the steps are those of a table");
  int killed = 0;
  for (int place = 1; place < kPlacesMost; ++place) {
    SCOPED_TRACE(place);
    Client dying(stage_, victim_at(place));
    const int id = ask_for_it(dying, 0);
    if (survived(dying, id)) break;
    ++killed;
  }
  EXPECT_GT(killed, 3) << "the fault must have struck";
  stage_.expect(0, "", {"doctor"});
}

TEST_P(Killed, F1_while_the_lock_is_handed_to_it) {
  STAGE_IS_LOCAL("the steps are those of a table");
  int killed = 0;
  // The first calls are those of its start and of its coming into the queue.
  for (int place = 1; place < kPlacesMost; place += place < 40 ? 3 : 40) {
    SCOPED_TRACE(place);
    ASSERT_TRUE(is_granted(client(0).tool("lock_acquire", wanted("a"))));
    Client dying(stage_, victim_at(place));
    const int id = ask_for_it(dying, 45);
    EXPECT_TRUE(
        stage::eventually([&] { return !dying.process().running() || stage_.waiters() == 1; }));
    unlock(client(0));
    if (survived(dying, id)) break;
    ++killed;
  }
  EXPECT_GT(killed, 3) << "the fault must have struck";
}

INSTANTIATE_TEST_SUITE_P(Places, Killed, testing::Values("kill", "kill-after"),
                         [](const auto& place) {
                           return place.param == std::string("kill") ? "before" : "after";
                         });

}  // namespace
}  // namespace lockkeeper::proof
