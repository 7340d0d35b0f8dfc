// Where a server listens, as a person writes it: 127.0.0.1:7420, localhost:0, [::1]:7420,
// unix:/run/lockkeeper.sock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lockkeeper::http {

struct Address {
  std::string host = "127.0.0.1";  // an IP address, never a name; IPv6 without brackets
  std::uint16_t port = 0;          // 0: any free port
  bool v6 = false;
  std::string socket = {};  // the path of a Unix socket, instead of all above

  // Can only this machine's processes reach it?
  bool is_loopback() const;
  bool is_any() const;  // every address of the machine
  // "[::1]:7420"
  std::string text() const;
};

// usage: a name other than localhost, an invalid port or address, a relative or too long path.
Result<Address> parse_address(std::string_view text);

// Is it a literal address (IPv6 without brackets)?
bool is_ip_address(std::string_view text);

}  // namespace lockkeeper::http
