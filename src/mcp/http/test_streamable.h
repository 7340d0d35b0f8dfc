// A Streamable endpoint with test tools, and calls of both eras to it.
#pragma once

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "mcp/http/streamable.h"
#include "mcp/http/test_reply.h"

namespace lockkeeper::mcp {

inline Json meta(const std::string& revision = std::string(kModernRevision)) {
  return {{kMetaRevision, revision}, {kMetaCapabilities, Json::object()}};
}

inline Json message(const Json& id, const std::string& method, Json params = Json::object()) {
  return request(id, method, std::move(params));
}

// Tools that say something before they answer, wait until they are cancelled, ask, or hang up.
class StreamableTest : public testing::Test {
 protected:
  using Replied = std::shared_ptr<TestReply>;

  StreamableTest() {
    catalogue_.name = "test";
    catalogue_.version = "1";
    catalogue_.lists_change = true;
    catalogue_.logs = true;
    add("quick", [](Call&, const Json&) { return tool_answer("done", nullptr); });
    add("tells", [](Call& call, const Json&) {
      call.progress(1, 2);
      return tool_answer("done", nullptr);
    });
    add("waits", [this](Call& call, const Json&) {
      if (tells_) call.progress(1, 2);
      call.on_cancel([this] { cancelled_.set_value(); });
      ++waiting_;
      auto until = go_on_.get_future();
      while (!call.cancelled() &&
             until.wait_for(std::chrono::milliseconds(2)) != std::future_status::ready) {
      }
      return tool_answer("waited", nullptr);
    });
    add("asks", [](Call& call, const Json&) {
      const auto said = call.ask("elicitation/create", {{"message", "who?"}});
      return tool_answer(said ? said->dump() : "nothing", nullptr);
    });
    add("hangs_up", [this](Call& call, const Json&) {
      call.outlet()->close_early();
      go_on_.get_future().wait();
      return tool_answer("at last", nullptr);
    });
    start({});
  }
  void add(const std::string& name, std::function<Answer(Call&, const Json&)> work) {
    Tool tool;
    tool.name = name;
    tool.description = name;
    tool.input_schema = {{"type", "object"}};
    tool.call = std::move(work);
    catalogue_.tools.push_back(tool);
  }
  void start(StreamableOptions options) {
    endpoint_ = std::make_unique<Streamable>(catalogue_, pool_, audience_, std::move(options));
  }

  Replied ask(const std::string& method, const http::Headers& headers, const std::string& body) {
    http::Request request;
    request.method = method;
    request.target = "/mcp";
    request.headers = headers;
    request.headers.emplace_back("Content-Type", "application/json");
    request.headers.emplace_back("Accept", "application/json, text/event-stream");
    request.body = body;
    const auto reply = std::make_shared<TestReply>();
    endpoint_->handle(request, reply);
    return reply;
  }
  Replied modern(const Json& id, const std::string& method, Json params = Json::object()) {
    http::Headers headers = {{"MCP-Protocol-Version", std::string(kModernRevision)},
                             {"Mcp-Method", method}};
    if (params.contains("name")) headers.emplace_back("Mcp-Name", params["name"]);
    params["_meta"].update(meta());
    return ask("POST", headers, message(id, method, params).dump());
  }
  std::string open(const std::string& revision = "2025-11-25") {
    const auto reply = ask("POST", {},
                           message(1, "initialize",
                                   {{"protocolVersion", revision},
                                    {"capabilities", {{"elicitation", Json::object()}}},
                                    {"clientInfo", {{"name", "x"}, {"version", "1"}}}})
                               .dump());
    EXPECT_EQ(reply->status(), 200);
    const std::string session = reply->header("Mcp-Session-Id");
    legacy(session, notification("notifications/initialized", nullptr));
    return session;
  }
  Replied legacy(const std::string& session, const Json& body) {
    return ask("POST", {{"Mcp-Session-Id", session}}, body.dump());
  }
  static Json calling(const Json& id, const std::string& tool) {
    return message(
        id, "tools/call",
        {{"name", tool}, {"arguments", Json::object()}, {"_meta", {{"progressToken", 1}}}});
  }
  void until_it_waits() const {
    while (waiting_ == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  Catalogue catalogue_;
  Audience audience_;
  std::atomic<bool> tells_ = false;
  std::atomic<int> waiting_ = 0;
  std::promise<void> cancelled_;
  std::promise<void> go_on_;
  Pool pool_{16};
  std::unique_ptr<Streamable> endpoint_;
};

}  // namespace lockkeeper::mcp
