// For tests only: the lock tools over a table on the real store, called as a session calls them,
// with a clock that a test moves while others wait.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "mcp/locks/server.h"
#include "mcp/locks/test_call.h"
#include "service/local/test_site.h"

namespace lockkeeper::mcp::locks {

inline Caller named_caller(const std::string& agent = "main", const std::string& session = "S") {
  Caller caller;
  caller.who.agent = agent;
  caller.who.session = session;
  caller.who.agent_from = "test";
  caller.agent_known = caller.session_known = true;
  return caller;
}

// One server process. Several in one test share a repository.
class TestServer {
 public:
  explicit TestServer(service::TestSite& world,
                      LockServerOptions options = {named_caller(), {}, {}, "0"})
      : site(world.site()), server(*site, std::move(options)), catalogue(server.catalogue()) {}

  // The result of a call, checked against the tool's schemas, with the same message in both halves.
  Json call(const std::string& name, const Json& arguments, std::shared_ptr<Call> by = nullptr) {
    const Tool* const tool = catalogue.tool(name);
    EXPECT_NE(tool, nullptr) << name;
    if (tool == nullptr) return {};
    EXPECT_EQ(wrong_arguments(tool->input_schema, arguments), "") << arguments.dump();
    if (!by) by = test_call();
    const Answer answer = tool->call(*by, arguments);
    EXPECT_FALSE(answer.error);
    Json result = answer.result;
    EXPECT_EQ(wrong_arguments(tool->output_schema, result["structuredContent"]), "")
        << result.dump();
    const Json& structured = result["structuredContent"];
    if (name.starts_with("lock_") && name != "lock_files") {
      EXPECT_EQ(structured["message"], result["content"][0]["text"]);
    }
    return result;
  }
  // Its structure alone; it must not be an error.
  Json told(const std::string& name, const Json& arguments, std::shared_ptr<Call> by = nullptr) {
    const Json result = call(name, arguments, std::move(by));
    EXPECT_FALSE(result.contains("isError")) << result.dump();
    return result.value("structuredContent", Json());
  }
  // It must be an error: its message.
  std::string trouble(const std::string& name, const Json& arguments) {
    const Json result = call(name, arguments);
    EXPECT_EQ(result.value("isError", false), true) << result.dump();
    return result["structuredContent"].value("message", "");
  }
  // "granted", "held", … of lock_acquire.
  std::string outcome(const Json& arguments, std::shared_ptr<Call> by = nullptr) {
    return told("lock_acquire", arguments, std::move(by)).value("outcome", "");
  }
  std::string outcome_for(const std::string& agent, const std::string& resource) {
    return outcome({{"resources", {resource}}, {"agent", agent}});
  }

  std::size_t waiters() { return server.reader().list({})->waiters.size(); }

  std::unique_ptr<service::Site> site;
  LockServer server;
  Catalogue catalogue;
};

// True as soon as `holds` is; false if it is not within a minute.
template <class Holds>
bool soon(const Holds& holds) {
  for (int i = 0; i < 6'000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// A repository, a clock and one server; what the tests of this room share.
class LockServerTest : public testing::Test {
 protected:
  LockServerTest() {
    world.runtime.clock = &clock;
    world.runtime.open_store = [this](const layout::StoreRequest& request) {
      return layout::open_test_store(request, clock, kv::Durability::kProcess);
    };
    tools = std::make_unique<TestServer>(world);
  }

  // A call in the background; join() gives its result.
  struct Background {
    std::thread thread;
    std::shared_ptr<Call> call;
    std::shared_ptr<Kept> outlet;
    std::shared_ptr<Json> result;
    Json join() {
      thread.join();
      return *result;
    }
  };
  Background begin(const Json& arguments, const Json& meta = Json::object()) {
    Background back;
    back.outlet = std::make_shared<Kept>();
    back.call = test_call(meta, back.outlet);
    back.result = std::make_shared<Json>();
    back.thread = std::thread([this, arguments, call = back.call, result = back.result] {
      *result = tools->told("lock_acquire", arguments, call);
    });
    return back;
  }
  void advance(std::int64_t ms) { clock.ahead_ms += ms; }

  service::TestSite world;
  JumpingClock clock;
  std::unique_ptr<TestServer> tools;
};

}  // namespace lockkeeper::mcp::locks
