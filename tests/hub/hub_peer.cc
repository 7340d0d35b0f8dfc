#include "hub/hub_peer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/reserved_port.h"

namespace lockkeeper::proof {

HubServer::HubServer(stage::Stage& stage, const stage::Words& more, const char* realm) {
  stage::Words words = {"serve"};
  if (realm != nullptr) words.insert(words.end(), {"--realm", realm + ("=" + stage.repo())});
  if (std::ranges::find(more, "--listen") == more.end()) {
    const std::string port = std::to_string(stage::reserved_port());  // it may be started again
    words.insert(words.end(), {"--listen", "127.0.0.1:" + port});
  }
  words.insert(words.end(), more.begin(), more.end());
  process_ = std::make_unique<stage::Process>(stage.launch("", words));
  EXPECT_TRUE(stage::eventually([&] {
    banner_ = process_->err();
    return banner_.ends_with('\n') || !process_->running();
  })) << banner_;
  const std::string mark = "://127.0.0.1:";
  const auto at = banner_.find(mark);
  if (at != std::string::npos) {
    port_ = static_cast<std::uint16_t>(std::stoi(banner_.substr(at + mark.size())));
  }
}

std::string add_token(stage::Stage& stage, const std::string& name, const stage::Words& more) {
  stage::Words words = {"token", "add", name};
  words.insert(words.end(), more.begin(), more.end());
  return stage.expect(0, "", words).json()["token"];
}

std::string pass_of(stage::Stage& stage) {
  const std::string url = stage.expect(0, "", {"open", "--print"}).json()["url"];
  const std::string mark = "/#pass=";
  const auto at = url.find(mark);
  EXPECT_NE(at, std::string::npos) << url;
  return at == std::string::npos ? "" : url.substr(at + mark.size());
}

HubPeer::HubPeer(std::uint16_t port, std::string token, std::string agent) : client_(port) {
  if (!token.empty()) headers["Authorization"] = "Bearer " + token;
  if (!agent.empty()) headers["Lockkeeper-Agent"] = std::move(agent);
}

void HubPeer::send(const std::string& method, const std::string& target, const std::string& body) {
  std::string text = method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n";
  for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
  if (method == "POST") {
    if (!headers.contains("Content-Type")) text += "Content-Type: application/json\r\n";
    text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  }
  client_.send(text + "\r\n" + body);
}

HubAnswer HubPeer::answer() {
  const auto got = client_.answer();
  return {got.status, Json::parse(got.body(), nullptr, false), got.body()};
}

HubAnswer HubPeer::ask(const std::string& method, const std::string& target,
                       const std::string& body) {
  send(method, target, body);
  return answer();
}

}  // namespace lockkeeper::proof
