// Resources, notifications of their changes, prompts, completion.
#include "mcp/locks/resources.h"

#include "mcp/audience.h"
#include "mcp/locks/completion.h"
#include "mcp/locks/lock_watch.h"
#include "mcp/locks/test_server.h"

namespace lockkeeper::mcp::locks {
namespace {

class ResourcesTest : public LockServerTest {
 protected:
  // The content of a resource; null: there is none.
  Json read(const std::string& uri) {
    const auto answer = tools->catalogue.read(*test_call(), uri);
    if (!answer) return nullptr;
    EXPECT_FALSE(answer->error);
    const Json& content = answer->result["contents"][0];
    EXPECT_EQ(content["uri"], uri);
    return Json::parse(content["text"].get<std::string>());
  }
  std::string prompt(const std::string& name, const Json& arguments) {
    const Answer answer = tools->catalogue.prompt(name)->get(*test_call(), arguments);
    if (answer.error) return "error: " + answer.error->message;
    return answer.result["messages"][0]["content"]["text"];
  }
};

TEST_F(ResourcesTest, LeasesWaitersAndEvents) {
  EXPECT_EQ(read("lock://leases"), Json({{"leases", Json::array()}}));
  tools->outcome_for("bob", "src/a b.py");
  EXPECT_EQ(read("lock://leases")["leases"][0]["agent"], "bob");
  EXPECT_EQ(read("lock://leases/src/a%20b.py")["leases"].size(), 1);
  EXPECT_EQ(read("lock://leases/src/")["leases"].size(), 1);
  EXPECT_EQ(read("lock://leases/**%2F*.py")["leases"].size(), 1);
  EXPECT_EQ(read("lock://leases/docs/")["leases"].size(), 0);
  EXPECT_EQ(read("lock://waiters"), Json({{"waiters", Json::array()}}));
  EXPECT_EQ(read("lock://events")["events"][0]["event"], "granted");
  for (const char* const uri : {"lock://", "lock://lease", "lock://leases/..%2f..%2fetc",
                                "lock://leases/a%00b", "file:///etc/passwd", "lock://leases/"}) {
    EXPECT_EQ(read(uri), nullptr) << uri;
  }
}

TEST_F(ResourcesTest, EventsAreTheLastHundred) {
  for (int i = 0; i < 70; ++i) {
    tools->outcome_for("bob", "f");
    tools->told("lock_release", {{"agent", "bob"}});
  }
  const Json events = read("lock://events")["events"];
  ASSERT_EQ(events.size(), 100);
  EXPECT_EQ(events.back()["event"], "released");
  EXPECT_LT(events.front()["seq"].get<std::uint64_t>(), events.back()["seq"].get<std::uint64_t>());
  for (int i = 0; i < 200; ++i) tools->outcome_for("bob", "f");  // renewals: commits without events
  EXPECT_EQ(read("lock://events")["events"].size(), 100);
}

// The notifications, and what is watched.
class LockWatchTest : public ResourcesTest {
 protected:
  LockWatchTest()
      : watch_(
            tools->server.reader(), [this] { return watched(); },
            [this](const std::string& uri) {
              const std::lock_guard lock(mutex_);
              ++told_[uri];
            }) {}
  std::set<std::string> watched() {
    const std::lock_guard lock(mutex_);
    return watched_;
  }
  void subscribe(const std::string& uri) {
    watch_.expect(uri);
    const std::lock_guard lock(mutex_);
    watched_.insert(uri);
  }
  int told(const std::string& uri) {
    const std::lock_guard lock(mutex_);
    return told_[uri];
  }

  std::mutex mutex_;
  std::set<std::string> watched_;
  std::map<std::string, int> told_;
  LockWatch watch_;
};

TEST_F(LockWatchTest, ChangesAreToldToWhoWatches) {
  subscribe("lock://leases");
  subscribe("lock://events");
  tools->outcome_for("bob", "src/a");
  EXPECT_TRUE(soon([&] { return told("lock://leases") == 1; }));
  EXPECT_TRUE(soon([&] { return told("lock://events") == 1; }));
  tools->told("lock_release", {{"agent", "bob"}});
  EXPECT_TRUE(soon([&] { return told("lock://leases") == 2; }));
  EXPECT_EQ(told("lock://waiters"), 0);
}

TEST_F(LockWatchTest, APathIsToldOfWhatOverlapsItAlone) {
  subscribe("lock://leases/src/");
  subscribe("lock://leases");
  tools->outcome_for("bob", "docs/x");
  ASSERT_TRUE(soon([&] { return told("lock://leases") == 1; }));
  EXPECT_EQ(told("lock://leases/src/"), 0);
  tools->outcome_for("bob", "src/deep/x");
  EXPECT_TRUE(soon([&] { return told("lock://leases/src/") == 1; }));
}

TEST_F(LockWatchTest, NothingIsToldWhereNothingChanged) {
  tools->outcome_for("bob", "a");
  subscribe("lock://leases");
  subscribe("lock://waiters");
  subscribe("lock://events");
  int events = 0;
  for (const char* const asker : {"amy", "eve"}) {  // at the second, the look at the first is over
    tools->outcome_for(asker, "a");                 // refused: an event, and nothing else
    ++events;
    ASSERT_TRUE(soon([&] { return told("lock://events") == events; }));
  }
  EXPECT_EQ(told("lock://leases"), 0);
  EXPECT_EQ(told("lock://waiters"), 0);
}

// A hub says how much time is left, and the answer takes a moment.
TEST(ShownTest, AnEndThatComesOutALittleDifferentlyIsNoChange) {
  const auto with_end = [](const char* end) {
    return Shown::in({{"leases", {{{"id", "x"}, {"expires_at", end}}, {{"expires_at", nullptr}}}}});
  };
  const Shown first = with_end("2026-01-17T16:18:00.000Z");
  EXPECT_TRUE(first.is_same(with_end("2026-01-17T16:18:00.002Z")));
  EXPECT_TRUE(first.is_same(with_end("2026-01-17T16:17:59.999Z")));
  EXPECT_FALSE(first.is_same(with_end("2026-01-17T16:18:01.000Z"))) << "renewed";
  EXPECT_FALSE(first.is_same(Shown::in({{"leases", Json::array()}})));
  EXPECT_FALSE(first.is_same(Shown()));
}

TEST_F(LockWatchTest, AnEndByTimeIsToldToo) {
  tools->told("lock_acquire", {{"resources", {"a"}}, {"ttl", "1m"}});
  subscribe("lock://leases");
  advance(2 * 60'000);
  EXPECT_TRUE(soon([&] { return told("lock://leases") == 1; }));
  EXPECT_EQ(read("lock://leases")["leases"].size(), 0);
}

TEST_F(LockWatchTest, WaitersComeAndGo) {
  tools->outcome_for("bob", "a");
  subscribe("lock://waiters");
  auto call = begin({{"resources", {"a"}}, {"agent", "amy"}, {"wait_s", 45}});
  EXPECT_TRUE(soon([&] { return told("lock://waiters") >= 1; }));
  call.call->cancel();
  call.join();
  EXPECT_TRUE(soon([&] { return told("lock://waiters") >= 2; }));
}

TEST_F(ResourcesTest, PromptsHoldWhatIsHeldNow) {
  tools->told("lock_acquire", {{"resources", {"src/"}}, {"agent", "bob"}, {"reason", "moving"}});
  const std::string plan =
      prompt("plan_my_edits", {{"task", "rename x"}, {"files", "src/a.py, docs/b.md"}});
  for (const char* const part : {"Task: rename x", "src/a.py is locked: src/: held by bob",
                                 "(\"moving\", 1h left)", "docs/b.md is free", "lock_status"}) {
    EXPECT_NE(plan.find(part), std::string::npos) << part << " in " << plan;
  }
  EXPECT_NE(prompt("plan_my_edits", {{"task", "x"}}).find("Locked now:\n- src/: held by bob"),
            std::string::npos);
  EXPECT_EQ(prompt("plan_my_edits", Json::object()), "error: the argument \"task\" is missing");
  EXPECT_NE(prompt("plan_my_edits", {{"task", "x"}, {"files", "../../x"}}).find("../../x"),
            std::string::npos);
  EXPECT_EQ(prompt("plan_my_edits", {{"task", 5}}), "error: arguments of a prompt are strings");
  EXPECT_NE(prompt("work_with_locks", Json::object()).find("Held now:\n- src/"), std::string::npos);
  EXPECT_NE(prompt("work_with_locks", {{"agent", "amy"}}).find("Nothing is held by amy now"),
            std::string::npos);
}

TEST_F(ResourcesTest, Completion) {
  const Json path{{"type", "ref/resource"}, {"uri", "lock://leases/{path}"}};
  const Json plan{{"type", "ref/prompt"}, {"name", "plan_my_edits"}};
  const Json how{{"type", "ref/prompt"}, {"name", "work_with_locks"}};
  world.files.write("repo/src/main.cc", "x");
  world.files.write("repo/src/more/a.cc", "x");
  world.files.write("secret/key", "x");
  world.files.link("../secret", "repo/src/out");
  tools->outcome_for("bob", "src/made-up.cc");
  using Names = std::vector<std::string>;
  const auto complete = tools->catalogue.complete;
  EXPECT_EQ(complete(path, "path", "src/m"), (Names{"src/made-up.cc", "src/main.cc", "src/more/"}));
  EXPECT_EQ(complete(path, "path", "s"), (Names{"src/", "src/made-up.cc"}));
  for (const char* const outside : {"../", "/etc/", "src/out/", "src/../../", ".git/"}) {
    EXPECT_EQ(complete(path, "path", outside), Names{}) << outside;
  }
  EXPECT_EQ(complete(plan, "files", "docs/x src/mai"), (Names{"docs/x src/main.cc"}));
  EXPECT_EQ(complete(how, "agent", "b"), Names{"bob"});
  EXPECT_EQ(complete(how, "nothing", "b"), Names{});
  EXPECT_EQ(complete(Json{{"type", 5}}, "path", "s"), Names{});
}

TEST_F(ResourcesTest, AnAudienceHasManySessions) {
  Pool pool(2);
  Audience audience;
  auto first = std::make_shared<Session>(tools->catalogue, pool);
  auto second = std::make_shared<Session>(tools->catalogue, pool);
  const auto outlet = std::make_shared<Kept>();
  for (const auto& session : {first, second}) {
    audience.add(session);
    session->set_listener(outlet);
    Incoming hello;
    hello.kind = Incoming::Kind::kRequest;
    hello.id = 1;
    hello.method = "initialize";
    hello.params = {{"protocolVersion", "2025-11-25"}};
    session->take(hello, outlet);
  }
  Incoming watches;
  watches.kind = Incoming::Kind::kRequest;
  watches.id = 2;
  watches.method = "resources/subscribe";
  watches.params = {{"uri", "lock://leases"}};
  first->take(watches, outlet);
  EXPECT_EQ(audience.watched(), (std::set<std::string>{"lock://leases"}));
  const std::size_t before = outlet->messages().size();
  audience.resource_changed("lock://leases");
  EXPECT_EQ(outlet->messages().size(), before + 1);
  first.reset();
  EXPECT_TRUE(audience.watched().empty());
}

}  // namespace
}  // namespace lockkeeper::mcp::locks
