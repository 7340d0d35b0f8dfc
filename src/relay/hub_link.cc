#include "relay/hub_link.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/text.h"

namespace lockkeeper::relay {
namespace {

constexpr std::size_t kIdleMax = 8;
constexpr auto kAgainTime = std::chrono::milliseconds(50);
constexpr auto kDoubtTime = std::chrono::seconds(3);  // for a hub that is started again

}  // namespace

std::string text_at(const Json& json, const char* name) {
  const Json& found = json.is_object() && json.contains(name) ? json[name] : Json();
  return found.is_string() ? found.get<std::string>() : "";
}

const Json& object_at(const Json& json, const char* name) {
  static const Json kNone;
  if (!json.is_object() || !json.contains(name) || !json.at(name).is_object()) return kNone;
  return json.at(name);
}

HubLink::HubLink(const realm::ServerUrl& url, const realm::Login& login)
    : name_(url.text()), token_(login.token) {
  endpoint_.tls = url.tls;
  endpoint_.host = url.host;
  endpoint_.port = url.port;
  endpoint_.socket = url.socket;
  endpoint_.ca_file = login.ca_file;
  endpoint_.fingerprint = login.fingerprint;
}

std::unique_ptr<http::Client> HubLink::take() {
  const std::lock_guard hold(mutex_);
  if (idle_.empty()) return std::make_unique<http::Client>(endpoint_);
  std::unique_ptr<http::Client> client = std::move(idle_.back());
  idle_.pop_back();
  return client;
}

Result<std::string> HubLink::read(const http::Answered& answered) const {
  if (answered.status == 200) return answered.body;
  if (answered.status == 401) {
    return fail(Code::kOperationNotPermitted, "the hub " + name_ + " does not know your token",
                "log in again: lockkeeper login " + name_);
  }
  const Json json = Json::parse(answered.body, nullptr, false);
  const Json& error = object_at(json, "error");
  if (const auto code = code_from_name(text_at(error, "code"))) {
    return fail(*code, text_at(error, "message"), text_at(error, "hint"));
  }
  return fail(Code::kStoreUnavailable,
              "the hub " + name_ + " has answered with status " + std::to_string(answered.status),
              "is that a hub of lockkeeper, in the same version?");
}

Result<std::string> HubLink::post(const std::string& target, const std::string& body,
                                  const std::string& session, int ms) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  const auto until = began + std::chrono::milliseconds(ms);
  http::Headers headers = {{"Content-Type", "application/json"}};
  if (!token_.empty()) headers.emplace_back("Authorization", "Bearer " + token_);
  if (!session.empty()) headers.emplace_back("Lockkeeper-Relay", session);
  bool perhaps_done = false;
  for (;;) {
    std::unique_ptr<http::Client> client = take();
    const bool used = client->is_used();
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    auto answered =
        client->ask("POST", target, headers, body, std::max<int>(1, static_cast<int>(left)));
    if (answered) {
      const std::lock_guard hold(mutex_);
      if (idle_.size() < kIdleMax) idle_.push_back(std::move(client));
      return read(*answered);
    }
    Error& error = answered.error();
    perhaps_done = perhaps_done || error.code == Code::kUnknown;
    const bool in_doubt = perhaps_done && Clock::now() < began + kDoubtTime;
    const bool again = (error.code == Code::kUnknown || used || in_doubt) && Clock::now() < until;
    if (again && !used) std::this_thread::sleep_for(kAgainTime);  // whoever closes is not pressed
    if (again) continue;
    if (perhaps_done && error.code == Code::kStoreUnavailable) error.code = Code::kUnknown;
    if (error.code == Code::kUnknown) {
      error.hint =
          "the hub may have done it; nothing is decided without the hub ([server] offline = "
          "\"refuse\"); once " +
          name_ + " answers again: lockkeeper list";
    } else if (error.code == Code::kStoreUnavailable) {
      error.hint = "nothing is decided without the hub ([server] offline = \"refuse\"); is " +
                   name_ + " running and reachable?";
    }
    return fail(std::move(error));
  }
}

}  // namespace lockkeeper::relay
