#include "http/admission.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/parse.h"
#include "base/text.h"

namespace lockkeeper::http {
namespace {

bool is_port(std::string_view text) {
  constexpr std::size_t kDigitsMax = 5;
  return !text.empty() && text.size() <= kDigitsMax &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// "name", "name:port", "[v6]", "[v6]:port" without its port and brackets; nullopt: none of these.
std::optional<std::string_view> host_of(std::string_view text) {
  std::string_view rest;
  std::string_view host;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
  } else {
    const auto colon = text.find(':');
    host = text.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
  }
  if (host.empty()) return std::nullopt;
  if (!rest.empty() && (rest[0] != ':' || !is_port(rest.substr(1)))) return std::nullopt;
  return host;
}

bool is_ours(const Door& door, std::string_view text) {
  const auto host = host_of(text);
  if (!host) return false;
  if (same_ignoring_case(*host, "localhost") || *host == "127.0.0.1" || *host == "::1") return true;
  if (same_ignoring_case(*host, door.address.host)) return true;
  const auto is_host = [&](const std::string& name) { return same_ignoring_case(*host, name); };
  if (std::ranges::any_of(door.names, is_host)) return true;
  return door.address.is_any() && is_ip_address(*host);
}

bool is_our_origin(const Door& door, std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme)) return is_ours(door, origin.substr(scheme.size()));
  }
  return false;
}

Refusal forbidden(std::string message) {
  return {403, {}, std::move(message)};
}

// What follows the scheme in the one Authorization header; nullopt: it is another scheme.
std::optional<std::string_view> authorized_by(const Request& request, std::string_view scheme) {
  const std::string* const header = request.header("Authorization");
  if (header == nullptr || request.count("Authorization") != 1) return std::nullopt;
  const std::string_view text = *header;
  if (!same_ignoring_case(text.substr(0, scheme.size()), scheme)) return std::nullopt;
  return trimmed(text.substr(scheme.size()));
}

bool has_token(const Door& door, const std::optional<std::string>& given) {
  bool right = false;
  for (const std::string& token : words_in(*door.token, "\n")) {
    if (given && same_secret(token, *given)) right = true;  // each is compared, whichever it is
  }
  return right;
}

}  // namespace

std::optional<std::string> bearer_of(const Request& request) {
  if (const auto token = authorized_by(request, "Bearer ")) return std::string(*token);
  const auto basic = authorized_by(request, "Basic ");
  const auto words = basic ? from_base64(*basic) : std::nullopt;
  if (!words || !words->contains(':')) return std::nullopt;
  return words->substr(words->find(':') + 1);
}

bool same_secret(std::string_view secret, std::string_view given) {
  // Compares every byte of what is given, whatever the earlier ones were.
  unsigned char different = secret.size() == given.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char known = secret.empty() ? '\0' : secret[i % secret.size()];
    const volatile unsigned char bits = static_cast<unsigned char>(known ^ given[i]);
    different = static_cast<unsigned char>(different | bits);
  }
  return different == 0;
}

std::optional<Refusal> refusal(const Door& door, const Request& request) {
  if (request.count("Host") != 1) return forbidden("there must be one Host header");
  const std::string& host = *request.header("Host");
  if (!is_ours(door, host)) {
    return forbidden("the host " + quote(host) + " is not this server: use " + door.address.text());
  }
  const std::string* const origin = request.header("Origin");
  if (origin != nullptr && (request.count("Origin") != 1 || !is_our_origin(door, *origin))) {
    return forbidden("pages of " + quote(*origin) + " may not use this server");
  }
  if (door.is_open()) return std::nullopt;
  const auto given = bearer_of(request);
  if (door.admits ? door.admits(request) : has_token(door, given)) return std::nullopt;
  Refusal refused{401, {{"WWW-Authenticate", "Bearer realm=\"lockkeeper\""}}, {}};
  if (given) refused.headers[0].second += ", error=\"invalid_token\"";
  if (door.admits) refused.headers.emplace_back("LFS-Authenticate", "Basic realm=\"lockkeeper\"");
  refused.message = given ? "the bearer token is not the one in the server's token file"
                          : "send the token of the server's token file: Authorization: Bearer …";
  return refused;
}

}  // namespace lockkeeper::http
