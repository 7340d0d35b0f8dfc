// A small HTTP/1.1 client: one kept connection to one server, by TCP, by TLS or by a Unix socket.
// Blocks, with a limit for everything. OpenSSL is used only for https.
//
// Thread safety: none; one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "http/message.h"

namespace lockkeeper::http {

struct Endpoint {
  bool tls = false;
  std::string host;  // a name or an address; IPv6 without brackets
  std::uint16_t port = 0;
  std::string socket;  // a Unix socket's path, instead of all above

  // For TLS. Without both, the system's authorities count. With fingerprints (SHA-256 of the
  // server's certificate, 64 lower-case digits) nothing else does: it must have one of them.
  std::vector<std::string> ca_files;
  std::vector<std::string> fingerprints;
};

struct Answered {
  int status = 0;
  std::string body;
};

class Client {
 public:
  explicit Client(Endpoint endpoint);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Connects first if it is not connected. store_unavailable: nothing was sent, or the server has
  // not taken it. unknown: it was sent, and no whole answer came within `ms`; the connection is
  // closed. operation_not_permitted: the certificate is not the right one. Reads at most 16 MiB.
  Result<Answered> ask(const std::string& method, const std::string& target, const Headers& headers,
                       const std::string& body, int ms);

  // Has it answered before? Then the server may have closed the connection meanwhile, and an error
  // of the next ask() is worth another try.
  bool is_used() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace lockkeeper::http
