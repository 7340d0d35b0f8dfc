#include "mcp/locks/resources.h"

#include <algorithm>

#include "service/questions.h"
#include "service/report.h"

namespace lockkeeper::mcp::locks {
namespace {

constexpr const char* kLeases = "lock://leases";
constexpr const char* kWaiters = "lock://waiters";
constexpr const char* kEvents = "lock://events";
constexpr std::string_view kUnder = "lock://leases/";

// Decodes %20 and the like; any other '%' stays.
std::string unescaped(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool coded =
        text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;
    if (coded) {
      plain += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// Only the end of the history is needed.
Result<Json> last_events(service::Locks& locks) {
  LK_ASSIGN(const std::vector<core::Event> events,
            service::last_events(locks.site(), kEventsShown));
  Json json{{"events", Json::array()}};
  for (const core::Event& event : events) json["events"].push_back(service::event_json(event));
  return json;
}

}  // namespace

std::vector<Resource> lock_resources() {
  const std::string json = "application/json";
  return {{kLeases, "leases", "Held locks", "Every lease, with its holder and its end", json},
          {kWaiters, "waiters", "Waiting requests", "Who waits for what", json},
          {kEvents, "events", "History", "The last hundred events, oldest first", json}};
}

std::vector<Resource> lock_templates() {
  return {{"lock://leases/{path}", "leases-on", "Locks on a path",
           "Leases that overlap this file, folder, glob or key", "application/json"}};
}

Result<std::optional<Json>> lock_resource(service::Locks& locks, const std::string& uri) {
  if (uri == kEvents) {
    LK_ASSIGN(Json events, last_events(locks));
    return events;
  }
  service::ListCommand command;
  const bool under = uri.starts_with(kUnder) && uri.size() > kUnder.size();
  if (under) command.under.texts = {unescaped(std::string_view(uri).substr(kUnder.size()))};
  if (!under && uri != kLeases && uri != kWaiters) return std::nullopt;
  auto reply = locks.list(command);
  if (!reply) {
    const Code why = reply.error().code;
    const bool names_nothing = why == Code::kInvalidResource || why == Code::kInvalidInput ||
                               why == Code::kOperationNotPermitted || why == Code::kLimitExceeded;
    if (under && names_nothing) return std::nullopt;
    return fail(std::move(reply.error()));
  }
  Json json = service::list_json(*reply);
  json.erase(uri == kWaiters ? "leases" : "waiters");
  json.erase("moved");  // watchers are notified anyway
  return json;
}

std::optional<Answer> read_lock_resource(service::Locks& locks, const std::string& uri) {
  const auto json = lock_resource(locks, uri);
  if (!json) {
    return Answer::failed(code::kInternalError, json.error().message,
                          service::error_json(json.error()));
  }
  if (!*json) return std::nullopt;
  Answer answer;
  answer.result["contents"] = Json::array(
      {{{"uri", uri}, {"mimeType", "application/json"}, {"text", service::dump(**json)}}});
  return answer;
}

}  // namespace lockkeeper::mcp::locks
