#include "mcp/http_peer.h"

#include <gtest/gtest.h>

#include "mcp/client.h"

namespace lockkeeper::proof {

HttpServer::HttpServer(stage::Stage& stage, const stage::Words& more) {
  stage::Words words = {"mcp", "--http", "127.0.0.1:0"};
  words.insert(words.end(), more.begin(), more.end());
  process_ = std::make_unique<stage::Process>(stage.launch("", words));
  const std::string mark = "http://127.0.0.1:";
  EXPECT_TRUE(stage::eventually([&] {
    banner_ = process_->err();
    return banner_.ends_with('\n') || !process_->running();
  })) << banner_;
  const auto at = banner_.find(mark);
  EXPECT_NE(at, std::string::npos) << banner_;
  if (at == std::string::npos) return;
  port_ = static_cast<std::uint16_t>(std::stoi(banner_.substr(at + mark.size())));
  const auto in = banner_.find("token in ");
  if (in == std::string::npos) return;
  std::string file = banner_.substr(in + 9);
  file.erase(file.find('\n'));
  token_ = stage::read_text(file);
  token_.erase(token_.find('\n'));
}

std::string http_request(const HttpServer& server, const std::string& method,
                         const http::Headers& headers, const std::string& body) {
  std::string text = method + " /mcp HTTP/1.1\r\nHost: localhost\r\n";
  if (!server.token().empty()) text += "Authorization: Bearer " + server.token() + "\r\n";
  text += "Accept: application/json, text/event-stream\r\n";
  for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
  if (method == "POST") {
    text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size());
    text += "\r\n";
  }
  return text + "\r\n" + body;
}

HttpPeer::HttpPeer(HttpServer& server, std::string revision, std::string agent)
    : server_(server), revision_(std::move(revision)), agent_(std::move(agent)) {
  if (revision_ == kModern) {
    ask("server/discover");
  } else {
    const int id = next_id();
    const Json params{{"protocolVersion", revision_},
                      {"capabilities", Json::object()},
                      {"clientInfo", {{"name", "proof"}, {"version", "1"}}}};
    auto client = http::TestClient(server_.port());
    client.send(text_of("initialize", params, id));
    const auto answer = client.answer();
    EXPECT_EQ(answer.status, 200) << answer.body();
    check(Json::parse(answer.body()));
    session_ = answer.header("Mcp-Session-Id");
    EXPECT_NE(session_, "");
    headers_.emplace_back("Mcp-Session-Id", session_);
    const Json ready{{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}};
    checker_.sent(ready.dump());
    client.send(http_request(server_, "POST", headers_, ready.dump()));
    EXPECT_EQ(client.answer().status, 202);
  }
  ask("tools/list");
}

Json HttpPeer::framed(const std::string& method, Json params) const {
  Json message{{"jsonrpc", "2.0"}, {"method", method}};
  if (revision_ == kModern) params = modern_params(std::move(params));
  message["params"] = std::move(params);
  return message;
}

std::string HttpPeer::text_of(const std::string& method, Json params, int id) {
  Json message = framed(method, std::move(params));
  message["id"] = id;
  http::Headers headers = headers_;
  if (revision_ == kModern) {
    headers.emplace_back("MCP-Protocol-Version", kModern);
    headers.emplace_back("Mcp-Method", method);
    const Json& sent = message["params"];
    if (sent.contains("name")) headers.emplace_back("Mcp-Name", sent["name"]);
    if (method == "resources/read") headers.emplace_back("Mcp-Name", sent["uri"]);
  } else if (!session_.empty() && revision_ >= "2025-06-18") {
    headers.emplace_back("MCP-Protocol-Version", revision_);
  }
  checker_.sent(message.dump());
  return http_request(server_, "POST", headers, message.dump());
}

std::unique_ptr<http::TestClient> HttpPeer::start(const std::string& method, Json params, int id) {
  auto client = std::make_unique<http::TestClient>(server_.port());
  client->send(text_of(method, std::move(params), id));
  return client;
}

void HttpPeer::check(const Json& message) {
  for (const std::string& wrong : checker_.received(message.dump())) {
    ADD_FAILURE() << wrong << "\nin: " << message;
  }
}

std::vector<Json> HttpPeer::messages_of(const std::string& events) {
  std::vector<Json> found;
  for (std::size_t at = events.find("data: {"); at != std::string::npos;
       at = events.find("data: {", at + 1)) {
    found.push_back(Json::parse(events.substr(at + 6, events.find('\n', at) - at - 6)));
  }
  return found;
}

std::vector<Json> HttpPeer::read(http::TestClient& client) {
  const auto answer = client.answer();
  const bool stream = answer.header("Content-Type") == "text/event-stream";
  std::vector<Json> messages;
  if (stream) messages = messages_of(answer.body());
  if (answer.header("Content-Type") == "application/json") {
    messages.push_back(Json::parse(answer.body()));
  }
  EXPECT_FALSE(messages.empty()) << answer.status << " " << answer.body();
  for (const Json& each : messages) check(each);
  return messages;
}

Json HttpPeer::ask(const std::string& method, Json params) {
  const int id = next_id();
  const auto client = start(method, std::move(params), id);
  const std::vector<Json> messages = read(*client);
  if (messages.empty()) return nullptr;
  EXPECT_EQ(messages.back()["id"], id);
  return messages.back();
}

Json HttpPeer::tool(const std::string& name, Json arguments) {
  arguments["agent"] = agent_;
  const Json answer = ask("tools/call", {{"name", name}, {"arguments", arguments}});
  EXPECT_TRUE(answer.contains("result")) << answer;
  const Json result = answer.value("result", Json::object());
  // Before 2025-06-18 there is the text alone.
  return result.value("structuredContent", result);
}

}  // namespace lockkeeper::proof
