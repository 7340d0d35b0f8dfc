#include "mcp/http/sse.h"

#include <charconv>

namespace lockkeeper::mcp {
namespace {

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || text.empty()) return std::nullopt;
  return number;
}

}  // namespace

std::string EventId::text() const {
  return std::to_string(stream) + "-" + std::to_string(number);
}

std::optional<EventId> parse_event_id(std::string_view text) {
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto stream = number_of(text.substr(0, dash));
  const auto number = number_of(text.substr(dash + 1));
  if (!stream || !number) return std::nullopt;
  return EventId{*stream, *number};
}

std::string sse_event(std::string_view message, const std::optional<EventId>& id) {
  std::string out = "event: message\n";
  if (id) out += "id: " + id->text() + "\n";
  out += "data: ";
  out += message;
  out += "\n\n";
  return out;
}

std::string sse_priming(const EventId& id, int retry_ms) {
  return "id: " + id.text() + "\nretry: " + std::to_string(retry_ms) + "\ndata: \n\n";
}

}  // namespace lockkeeper::mcp
