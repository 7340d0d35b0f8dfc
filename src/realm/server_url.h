// The addresses of a hub. Several hubs may serve one table, each on a machine of its own; a client
// then knows all their addresses, and asks one of them: "https://a.example,https://b.example".
//
// Thread safety: plain values and free functions; safe to call from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace lockkeeper::realm {

struct ServerUrl {
  bool tls = false;
  std::string host;  // a name or an address; IPv6 without brackets
  std::uint16_t port = 0;
  std::string socket;  // of a hub on this machine (unix:/path), instead of all above

  std::string text() const;  // "https://hub.example.com:7420"
};
// Those of the hubs of one table, in the order in which they are asked at first; at least one.
using ServerUrls = std::vector<ServerUrl>;

inline constexpr std::size_t kServerUrlsMax = 8;

// invalid_input: one of them is not an address of a hub, would send a token over a network in the
// open, or is there twice. The message names it.
Result<ServerUrls> parse_server_urls(std::string_view text);
// Is it what parse_server_urls() accepts?
bool is_server_url(std::string_view text);

std::vector<std::string> texts_of(const ServerUrls& urls);
// As parse_server_urls() reads it.
std::string text_of(const ServerUrls& urls);

}  // namespace lockkeeper::realm
