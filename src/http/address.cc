#include "http/address.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include "base/parse.h"
#include "base/text.h"

namespace lockkeeper::http {
namespace {

constexpr const char* kForm = "write it as 127.0.0.1:7420, or 127.0.0.1:0 for any free port";

std::unexpected<Error> wrong(std::string_view text, const std::string& why) {
  return fail(Code::kUsage, "cannot listen on " + quote(text) + ": " + why, kForm);
}

bool is_v4(const std::string& text) {
  in_addr address{};
  return ::inet_pton(AF_INET, text.c_str(), &address) == 1;
}

bool is_v6(const std::string& text) {
  in6_addr address{};
  return ::inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

}  // namespace

bool Address::is_loopback() const {
  if (!socket.empty()) return true;
  return v6 ? host == "::1" : host.starts_with("127.");
}

bool Address::is_any() const {
  return host == (v6 ? "::" : "0.0.0.0");
}

std::string Address::text() const {
  if (!socket.empty()) return "unix:" + socket;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool is_ip_address(std::string_view text) {
  const std::string copy(text);
  return is_v4(copy) || is_v6(copy);
}

Result<Address> parse_address(std::string_view text) {
  constexpr std::string_view kUnix = "unix:";
  if (text.starts_with(kUnix)) {
    Address address;
    address.socket = text.substr(kUnix.size());
    const bool fits = address.socket.size() < sizeof sockaddr_un::sun_path;
    if (address.socket.starts_with('/') && fits && !address.socket.contains('\0')) return address;
    return wrong(text, "the path of a socket is absolute and has at most 107 bytes");
  }
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong(text, "there is no port");
  const auto port = number_in<std::uint16_t>(text.substr(colon + 1));
  if (!port) return wrong(text, "a port is a number from 0 to 65535");
  std::string host(text.substr(0, colon));
  Address address;
  address.port = *port;
  if (host.empty()) return wrong(text, "there is no address");
  if (host == "localhost") host = "127.0.0.1";
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    if (!is_v6(host)) return wrong(text, "the brackets do not contain an IPv6 address");
    // One spelling per address, for comparison.
    in6_addr bytes{};
    char spelled[INET6_ADDRSTRLEN] = {};
    ::inet_pton(AF_INET6, host.c_str(), &bytes);
    ::inet_ntop(AF_INET6, &bytes, spelled, sizeof spelled);
    address.host = spelled;
    address.v6 = true;
    return address;
  }
  if (is_v6(host)) return wrong(text, "an IPv6 address needs brackets");
  if (!is_v4(host))
    return wrong(text, "it is not an IP address, and the only name allowed is localhost");
  address.host = host;
  return address;
}

}  // namespace lockkeeper::http
