// Server-sent events, as Streamable HTTP uses them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockkeeper::mcp {

inline constexpr const char* kSseComment = ": still here\n\n";

// The name of one event: the stream it was sent on, and its number there.
struct EventId {
  std::uint64_t stream = 0;
  std::uint64_t number = 0;

  std::string text() const;
};
// What a client sends in Last-Event-ID; nullopt: not one of ours.
std::optional<EventId> parse_event_id(std::string_view text);

// An event with a message. REQUIRES: the message has no line break.
std::string sse_event(std::string_view message, const std::optional<EventId>& id);
// An empty event: tells the client from which event and after which time to reconnect.
std::string sse_priming(const EventId& id, int retry_ms);

}  // namespace lockkeeper::mcp
