// Two machines and a hub, for tests: each has a home, a repository and a relay of its own.
#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <memory>
#include <string>

#include "hub/hub_peer.h"

namespace lockkeeper::proof {

// A stage whose locks a hub keeps.
class Machine : public stage::Stage {
 public:
  Machine();

  // `login` with the token on stdin.
  stage::Answer login(const std::string& url, const std::string& token,
                      const stage::Words& more = {});
  std::string relay_folder() const;  // empty: there was none yet
  // Has a table been made here?
  bool has_table() const { return stage::exists(store() + "/epoch"); }
};

// Where a hub on loopback can be reached.
std::string address_of(std::uint16_t port);  // "http://127.0.0.1:7420"
// kill -9, or another signal that ends it.
void end(HubServer& hub, int signal = SIGKILL);

// A hub on loopback for the realm "app", which both machines' repositories are.
class Remote : public testing::Test {
 protected:
  std::string url() const { return address_of(hub_->port()); }
  // kill -9, and the same port again.
  void kill_hub();
  void restart_hub();
  // What the hub says.
  Json table() { return HubPeer(hub_->port(), bob_, "t").get("/v1/list?realm=app").json; }
  std::size_t held() { return table()["leases"].size(); }
  std::size_t waiting() { return table()["waiters"].size(); }

  stage::Stage home_;  // of the hub
  const std::string alice_ = add_token(home_, "alice");
  const std::string bob_ = add_token(home_, "bob");
  std::unique_ptr<HubServer> hub_ = std::make_unique<HubServer>(home_);
  Machine here_;
  Machine there_;
};

}  // namespace lockkeeper::proof
