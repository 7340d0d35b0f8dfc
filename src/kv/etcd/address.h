// Where an etcd is and how it is reached, as one URL:
//
//   etcd://HOST:PORT[,HOST:PORT…][/PREFIX][?NAME=VALUE&…]     without encryption
//   etcds://…                                                 with TLS 1.2 or newer
//
//   ca=FILE             the authorities to trust instead of this machine's
//   cert=FILE key=FILE  this client's certificate
//   user=NAME password-file=FILE
//   allow-old=yes       a server with known faults, except for those that lose data
//
// No password stands in a URL: other users of a machine see the arguments of its processes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace lockkeeper::kv::etcd {

struct Endpoint {
  std::string host;  // a name or an address; IPv6 without brackets
  std::uint16_t port = 0;
  std::string name() const;  // "host:port"
};

struct Address {
  std::vector<Endpoint> endpoints;  // at least one
  std::string prefix;               // of every key: "/lockkeeper/"
  bool tls = false;
  std::string ca_file, certificate_file, key_file;
  std::string user, password_file;
  bool allow_old = false;
};

// Is it meant to be one?
bool is_address(std::string_view text);

// invalid_input: it is not one. The message never repeats what may be a password.
Result<Address> parse_address(std::string_view text);

}  // namespace lockkeeper::kv::etcd
