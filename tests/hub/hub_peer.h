// The shipped program as a hub, and clients of it, for tests.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "http/test_client.h"
#include "support/stage.h"

namespace lockkeeper::proof {

using stage::Json;

struct HubAnswer {
  int status = 0;
  Json json;  // null: the body is not JSON
  std::string body;
};

// `serve` on loopback in a stage, for the stage's repository as the realm "app".
class HubServer {
 public:
  // `realm` null: the current one, without a name of its own.
  explicit HubServer(stage::Stage& stage, const stage::Words& more = {}, const char* realm = "app");

  std::uint16_t port() const { return port_; }
  const std::string& banner() const { return banner_; }
  stage::Process& process() { return *process_; }

 private:
  std::unique_ptr<stage::Process> process_;
  std::string banner_;
  std::uint16_t port_ = 0;
};

// `token add` in the stage; the token.
std::string add_token(stage::Stage& stage, const std::string& name, const stage::Words& more = {});

// `open --print` in the stage, where a hub runs; the pass in its address.
std::string pass_of(stage::Stage& stage);

// One connection of one person's agent, kept.
class HubPeer {
 public:
  HubPeer(std::uint16_t port, std::string token, std::string agent = "");

  HubAnswer get(const std::string& target) { return ask("GET", target); }
  HubAnswer post(const std::string& target, const Json& body) {
    return ask("POST", target, body.dump());
  }
  HubAnswer remove(const std::string& target) { return ask("DELETE", target); }
  HubAnswer ask(const std::string& method, const std::string& target, const std::string& body = "");
  // Without waiting for the answer.
  void send(const std::string& method, const std::string& target, const std::string& body = "");
  HubAnswer answer();
  http::TestClient& connection() { return client_; }

  std::map<std::string, std::string> headers;

 private:
  http::TestClient client_;
};

}  // namespace lockkeeper::proof
