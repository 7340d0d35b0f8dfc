// Several agents at once, each with a server process of its own, in both eras.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "mcp/client.h"

namespace lockkeeper::proof {

// Every second one speaks the legacy era.
inline ClientOptions agent_options(std::size_t number) {
  static const char* const kLegacy[] = {"2025-11-25", "2025-06-18"};
  ClientOptions options;
  options.agent = "agent-" + std::to_string(number);
  options.session = "session-" + std::to_string(number);
  if (number % 2 == 1) options.revision = kLegacy[number / 2 % 2];
  return options;
}

class Crowd : public testing::Test {
 protected:
  void come(std::size_t count) {
    for (std::size_t i = clients_.size(); i < count; ++i) {
      clients_.push_back(std::make_unique<Client>(stage_, agent_options(i)));
    }
  }
  Client& client(std::size_t number) { return *clients_[number]; }
  // Without a client: as if it had never come.
  void drop(std::size_t number) { clients_[number].reset(); }

  static Json wanted(const std::string& resource, int wait_s = 0) {
    Json arguments{{"resources", {resource}}};
    if (wait_s > 0) arguments["wait_s"] = wait_s;
    return arguments;
  }
  static bool is_granted(const Json& structured) {
    return structured.value("outcome", "") == "granted";
  }
  static std::uint64_t fence_of(const Json& structured) {
    return structured["lease"]["fence"].get<std::uint64_t>();
  }

  // Until it is granted, however long the queue: as an agent would, again and again.
  static Json lock(Client& client, const std::string& resource) {
    for (;;) {
      const Json told = client.tool("lock_acquire", wanted(resource, 45));
      if (told.value("outcome", "") != "queued") return told;
    }
  }
  static void unlock(Client& client) { client.tool("lock_release", Json::object()); }

  // Begins to wait, and stands in the queue as its `place`-th when this is over.
  int queue(std::size_t number, const std::string& resource, std::size_t place) {
    const int id = client(number).start_tool("lock_acquire", wanted(resource, 45), "progress");
    EXPECT_TRUE(stage_.queue_grows_to(place)) << number;
    return id;
  }
  static Json granted(Client& client, int id) {
    const Json told = client.wait_for(id)["result"]["structuredContent"];
    EXPECT_TRUE(is_granted(told)) << told;
    return told;
  }

  stage::Stage stage_;
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace lockkeeper::proof
