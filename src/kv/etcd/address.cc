#include "kv/etcd/address.h"

#include <algorithm>

#include "base/parse.h"
#include "base/quote.h"

namespace lockkeeper::kv::etcd {
namespace {

constexpr std::string_view kPlain = "etcd://";
constexpr std::string_view kTls = "etcds://";
constexpr std::string_view kUsualPrefix = "/lockkeeper/";
constexpr std::size_t kPrefixBytesMax = 256;
constexpr std::size_t kEndpointsMax = 16;

std::unexpected<Error> wrong(const std::string& why) {
  return fail(Code::kInvalidInput, "this etcd address cannot be used: " + why,
              "write it as etcd://HOST:PORT,HOST:PORT/PREFIX");
}

Result<Endpoint> parse_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const bool bracketed = text.starts_with('[');
  if (colon == std::string_view::npos || (bracketed && text.find(']') + 1 != colon)) {
    return wrong(quote(text) + " has no port");
  }
  const auto port = number_in<std::uint16_t>(text.substr(colon + 1));
  if (!port || *port == 0) return wrong(quote(text) + " has no valid port");
  std::string_view host = text.substr(0, colon);
  if (bracketed) host = host.substr(1, host.size() - 2);
  const bool plain = host.find_first_of("[]/ ") == std::string_view::npos;
  if (host.empty() || !plain || (!bracketed && host.find(':') != std::string_view::npos)) {
    return wrong(quote(text) + " is not HOST:PORT");
  }
  return Endpoint{std::string(host), *port};
}

Result<void> set_parameter(Address& address, std::string_view name, std::string_view value) {
  if (value.empty()) return wrong("the parameter " + quote(name) + " has no value");
  if (name == "password") {
    return wrong("a password in an address is seen by other users; use password-file=FILE");
  }
  if (name == "allow-old") {
    if (value != "yes") return wrong("allow-old can only be \"yes\"");
    address.allow_old = true;
    return {};
  }
  std::string* const place = name == "ca"              ? &address.ca_file
                             : name == "cert"          ? &address.certificate_file
                             : name == "key"           ? &address.key_file
                             : name == "user"          ? &address.user
                             : name == "password-file" ? &address.password_file
                                                       : nullptr;
  if (place == nullptr) return wrong("there is no parameter " + quote(name));
  *place = value;
  return {};
}

Result<void> check_together(const Address& address) {
  const bool tls_files =
      !address.ca_file.empty() || !address.certificate_file.empty() || !address.key_file.empty();
  if (tls_files && !address.tls) return wrong("ca, cert and key are for etcds://");
  if (address.certificate_file.empty() != address.key_file.empty()) {
    return wrong("cert and key belong together");
  }
  if (address.user.empty() != address.password_file.empty()) {
    return wrong("user and password-file belong together");
  }
  return {};
}

// "/a/b/" of "a/b", "/a/b" or "/a/b/".
Result<std::string> parse_prefix(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path.empty()) return std::string(kUsualPrefix);
  if (path.size() > kPrefixBytesMax) return wrong("the prefix is too long");
  for (const char c : path) {
    if (c <= ' ' || c > '~' || c == '%') return wrong("the prefix has a character beyond a-z, 0-9");
  }
  return "/" + std::string(path) + "/";
}

}  // namespace

std::string Endpoint::name() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool is_address(std::string_view text) {
  return text.starts_with(kPlain) || text.starts_with(kTls);
}

Result<Address> parse_address(std::string_view text) {
  Address address;
  if (!is_address(text)) return wrong("it does not begin with etcd:// or etcds://");
  address.tls = text.starts_with(kTls);
  text.remove_prefix(address.tls ? kTls.size() : kPlain.size());
  std::string_view parameters;
  if (const std::size_t at = text.find('?'); at != std::string_view::npos) {
    parameters = text.substr(at + 1);
    text = text.substr(0, at);
  }
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string_view hosts = text.substr(0, slash);
  if (hosts.find('@') != std::string_view::npos) {
    return wrong("a user stands in its parameters: ?user=NAME&password-file=FILE");
  }
  LK_ASSIGN(address.prefix, parse_prefix(text.substr(slash)));
  for (const std::string& host : words_in(hosts, ",")) {
    LK_ASSIGN(Endpoint endpoint, parse_endpoint(host));
    address.endpoints.push_back(std::move(endpoint));
  }
  if (address.endpoints.empty()) return wrong("it names no host");
  if (address.endpoints.size() > kEndpointsMax) return wrong("it names too many hosts");
  for (const std::string& parameter : words_in(parameters, "&")) {
    const std::size_t equals = std::min(parameter.find('='), parameter.size());
    const std::string_view all = parameter;
    LK_CHECK(set_parameter(address, all.substr(0, equals),
                           equals < all.size() ? all.substr(equals + 1) : ""));
  }
  LK_CHECK(check_together(address));
  return address;
}

}  // namespace lockkeeper::kv::etcd
