#include "mcp/http/sse.h"

#include "base/parse.h"

namespace lockkeeper::mcp {

std::string EventId::text() const {
  return std::to_string(stream) + "-" + std::to_string(number);
}

std::optional<EventId> parse_event_id(std::string_view text) {
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto stream = number_in<std::uint64_t>(text.substr(0, dash));
  const auto number = number_in<std::uint64_t>(text.substr(dash + 1));
  if (!stream || !number) return std::nullopt;
  return EventId{*stream, *number};
}

std::string sse_event(std::string_view message, const std::optional<EventId>& id) {
  return "event: message\n" + (id ? "id: " + id->text() + "\n" : "") +
         "data: " + std::string(message) + "\n\n";
}

std::string sse_priming(const EventId& id, int retry_ms) {
  return "id: " + id.text() + "\nretry: " + std::to_string(retry_ms) + "\ndata: \n\n";
}

}  // namespace lockkeeper::mcp
