#include "remote/machine.h"

#include <filesystem>

namespace lockkeeper::proof {

using stage::Words;

Machine::Machine() {
  file("lockkeeper.toml", "[realm]\nname = \"app\"\n");
}

stage::Answer Machine::login(const std::string& url, const std::string& token, const Words& more) {
  Words words = {"login", url, "--json"};
  words.insert(words.end(), more.begin(), more.end());
  stage::Launch launch = this->launch("", words);
  launch.in = path("token");
  stage::write_text(launch.in, token + "\n");
  return finish(launch);
}

std::string Machine::relay_folder() const {
  const std::filesystem::path all = path("state") + "/lockkeeper";
  if (!std::filesystem::exists(all)) return {};
  for (const auto& each : std::filesystem::directory_iterator(all)) {
    if (each.path().filename().string().starts_with("hub-")) return each.path();
  }
  return {};
}

std::string address_of(std::uint16_t port) {
  return "http://127.0.0.1:" + std::to_string(port);
}

void end(HubServer& hub, int signal) {
  hub.process().signal(signal);
  hub.process().wait();
}

void Remote::kill_hub() {
  end(*hub_);
}

void Remote::restart_hub() {
  const std::string address = "127.0.0.1:" + std::to_string(hub_->port());
  hub_ = std::make_unique<HubServer>(home_, Words{"--listen", address});
}

}  // namespace lockkeeper::proof
