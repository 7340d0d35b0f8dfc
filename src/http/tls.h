// For src/http only: TLS in front of a connection. A pump decrypts what the client sends into one
// end of a pair of sockets and encrypts what comes out of it; the connection has the other end and
// knows nothing of TLS. A client that goes away, and one that does not read, look the same there.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <list>
#include <memory>
#include <optional>

#include "base/error.h"
#include "http/server.h"

namespace lockkeeper::http {

using Socket = boost::asio::generic::stream_protocol::socket;

class Tls {
 public:
  // TLS 1.2 and newer. invalid_input: a file cannot be read, the two do not belong together, or
  // others can read the key.
  static Result<std::unique_ptr<Tls>> open(const TlsFiles& files);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  // Starts the handshake. What the client says after it can be read from the socket that comes
  // back; the client's own is closed when that one is. nullopt: no descriptors are left.
  std::optional<Socket> serve(boost::asio::io_context& context, Socket client);
  // The server ends: clients have a moment to read what was said last.
  void end();

 private:
  class Pump;
  struct Context;
  explicit Tls(std::unique_ptr<Context> context);
  const std::unique_ptr<Context> context_;
  std::list<std::weak_ptr<Pump>> pumps_;
};

}  // namespace lockkeeper::http
