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
// What a client gives back in Last-Event-ID; nullopt: none of ours.
std::optional<EventId> parse_event_id(std::string_view text);

// One event that carries a message, which has no line break in it.
std::string sse_event(std::string_view message, const std::optional<EventId>& id);
// One that carries nothing: the client knows from where on to ask, and after how long.
std::string sse_priming(const EventId& id, int retry_ms);

}  // namespace lockkeeper::mcp
