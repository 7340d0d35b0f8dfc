// For tests only: a client of a Session, and a small catalogue.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "mcp/session.h"
#include "mcp/test_recorder.h"

namespace lockkeeper::mcp {

inline Json modern_meta(Json capabilities = Json::object()) {
  return {{kMetaRevision, kModernRevision}, {kMetaCapabilities, std::move(capabilities)}};
}

inline Tool test_tool(const std::string& name, std::function<Answer(Call&, const Json&)> call) {
  Tool tool;
  tool.name = name;
  tool.description = "for tests";
  tool.input_schema = {{"type", "object"}};
  tool.call = std::move(call);
  return tool;
}

// A session, and what it sent.
class TestClient {
 public:
  explicit TestClient(Catalogue catalogue, std::size_t threads = 4,
                      std::size_t queue_max = Pool::kQueueMax)
      : catalogue_(std::move(catalogue)), pool_(threads, Pool::kPausesMax, queue_max) {
    session_->set_listener(out_);
  }
  ~TestClient() { session_->close(); }

  Session& session() { return *session_; }
  Recorder& out() { return *out_; }
  const std::shared_ptr<Recorder>& outlet() { return out_; }

  void text(const std::string& text) { session_->take_text(text, out_); }
  void notify(const std::string& method, Json params = Json::object()) {
    text(line_of(notification(method, std::move(params))));
  }
  void send(const Json& id, const std::string& method, Json params = Json::object()) {
    text(line_of(mcp::request(id, method, std::move(params))));
  }
  // The answer to a request, waited for.
  Json ask(const std::string& method, Json params = Json::object()) {
    const std::string id = "ask-" + std::to_string(++asked_);
    send(id, method, std::move(params));
    return answer_to(id);
  }
  Json modern(const std::string& method, Json params = Json::object(),
              Json capabilities = Json::object()) {
    params["_meta"].update(modern_meta(std::move(capabilities)));
    return ask(method, std::move(params));
  }
  Json initialize(const std::string& revision, Json capabilities = Json::object()) {
    Json answer = ask("initialize", {{"protocolVersion", revision},
                                     {"capabilities", std::move(capabilities)},
                                     {"clientInfo", {{"name", "test"}, {"version", "1"}}}});
    notify("notifications/initialized");
    return answer;
  }
  Json answer_to(const Json& id) {
    std::vector<Json> sent = out_->sent();
    for (;;) {
      const auto found = std::ranges::find_if(sent, [&](const Json& each) {
        return each.is_object() && !each.contains("method") && each.value("id", Json()) == id;
      });
      if (found != sent.end()) return *found;
      const std::size_t before = sent.size();
      sent = out_->wait(before + 1);
      if (sent.size() == before) return nullptr;
    }
  }

 private:
  const Catalogue catalogue_;
  Pool pool_;
  const std::shared_ptr<Session> session_ = std::make_shared<Session>(catalogue_, pool_);
  const std::shared_ptr<Recorder> out_ = std::make_shared<Recorder>();
  int asked_ = 0;
};

inline int code_of(const Json& answer) {
  return answer.contains("error") ? answer["error"]["code"].get<int>() : 0;
}

}  // namespace lockkeeper::mcp
