#include "realm/server_url.h"

#include <algorithm>
#include <set>

#include "base/parse.h"
#include "base/quote.h"
#include "base/text.h"

namespace lockkeeper::realm {
namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;
constexpr std::string_view kSocketStart = "unix:/";
constexpr const char* kHint = "write it as https://hub.example.com or http://127.0.0.1:7420";

bool is_host_char(char c) {
  return is_ascii_word(c) || c == '-' || c == '.' || c == ':';
}

// A name such as 127.example.com may be anybody's.
bool is_this_machine(std::string_view host) {
  const auto is_of_number = [](char c) { return c == '.' || is_ascii_digit(c); };
  return host == "localhost" || host == "::1" ||
         (host.starts_with("127.") && std::ranges::all_of(host, is_of_number));
}

Result<ServerUrl> parse_one(std::string_view text) {
  const auto wrong = [&](const char* why) {
    return fail(Code::kInvalidInput, quote(text) + " is not an address of a hub: " + why, kHint);
  };
  ServerUrl url;
  std::string_view rest = text;
  if (rest.starts_with(kSocketStart)) {
    url.socket = rest.substr(5);
    if (url.socket.find_first_of("\n\r") != std::string::npos) return wrong("it has a line break");
    return url;
  }
  url.tls = rest.starts_with("https://");
  if (!url.tls && !rest.starts_with("http://"))
    return wrong("it begins with neither https:// nor http://");
  rest.remove_prefix(url.tls ? 8 : 7);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.find('@') != std::string_view::npos) return wrong("it has a name or password in it");
  if (rest.find_first_of("/?#") != std::string_view::npos) return wrong("it has a path");
  std::string_view port;
  if (rest.starts_with('[')) {
    const auto end = rest.find(']');
    if (end == std::string_view::npos) return wrong("a ']' is missing");
    url.host = rest.substr(1, end - 1);
    port = rest.substr(end + 1);
  } else {
    const auto colon = std::min(rest.find(':'), rest.size());
    url.host = rest.substr(0, colon);
    port = rest.substr(colon);
  }
  url.host = lowered(url.host);
  if (url.host.empty() || !std::ranges::all_of(url.host, is_host_char)) {
    return wrong("it has no host");
  }
  url.port = url.tls ? kHttpsPort : kHttpPort;
  if (!port.empty()) {
    const auto number = number_in<std::uint16_t>(port.substr(1));
    if (port.front() != ':' || !number || *number == 0) return wrong("its port is not a number");
    url.port = *number;
  }
  if (!url.tls && !is_this_machine(url.host)) {
    return wrong("http would send your token over the network for everybody to read");
  }
  return url;
}

std::string_view without_blanks(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

bool begins_an_address(std::string_view text) {
  text = without_blanks(text);
  return text.starts_with("http://") || text.starts_with("https://") ||
         text.starts_with(kSocketStart);
}

// At the commas; but one in the path of a socket belongs to it.
std::vector<std::string_view> addresses_in(std::string_view text) {
  std::vector<std::string_view> all;
  for (std::size_t from = 0;;) {
    std::size_t end = text.find(',', from);
    const bool socket = without_blanks(text.substr(from)).starts_with(kSocketStart);
    while (socket && end != std::string_view::npos && !begins_an_address(text.substr(end + 1))) {
      end = text.find(',', end + 1);
    }
    all.push_back(text.substr(from, end - from));
    if (end == std::string_view::npos) break;
    from = end + 1;
  }
  return all;
}

}  // namespace

std::string ServerUrl::text() const {
  if (!socket.empty()) return "unix:" + socket;
  const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  const bool usual = port == (tls ? kHttpsPort : kHttpPort);
  return (tls ? "https://" : "http://") + name + (usual ? "" : ":" + std::to_string(port));
}

Result<ServerUrls> parse_server_urls(std::string_view text) {
  const std::vector<std::string_view> all = addresses_in(text);
  if (all.size() > kServerUrlsMax) {
    return fail(Code::kInvalidInput,
                quote(text) + " has " + std::to_string(all.size()) +
                    " addresses of hubs, at most " + std::to_string(kServerUrlsMax) +
                    " are possible",
                "leave some of them out");
  }
  ServerUrls urls;
  std::set<std::string> known;
  for (const std::string_view each : all) {
    LK_ASSIGN(ServerUrl url, parse_one(all.size() == 1 ? each : without_blanks(each)));
    if (!known.insert(url.text()).second) {
      return fail(Code::kInvalidInput,
                  "the address " + quote(url.text()) + " of a hub is there twice",
                  "name each hub once");
    }
    urls.push_back(std::move(url));
  }
  return urls;
}

bool is_server_url(std::string_view text) {
  return parse_server_urls(text).has_value();
}

std::vector<std::string> texts_of(const ServerUrls& urls) {
  std::vector<std::string> texts;
  for (const ServerUrl& url : urls) texts.push_back(url.text());
  return texts;
}

std::string text_of(const ServerUrls& urls) {
  return join(texts_of(urls), ",");
}

}  // namespace lockkeeper::realm
