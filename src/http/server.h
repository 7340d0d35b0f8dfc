// A small HTTP/1.1 server: one thread for all connections, none of which waits for another. It
// handles admission, limits and slow clients; the handler answers the requests.
//
//   auto server = Server::open(options, [](const Request& request, std::shared_ptr<Reply> reply) {
//     reply->whole(200, {{"Content-Type", "text/plain"}}, "hello\n");
//   });
//   (*server)->run(ended);
//
// Requests of one connection are answered in order, however many it has sent.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "http/admission.h"
#include "http/message.h"

namespace lockkeeper::http {

// The answer to one request: whole(), or begin(), chunk()…, end(). A reply that is dropped
// unanswered becomes a 500. After the end, or if the client is gone, calls do nothing.
//
// Thread safety: all methods may be called from any thread; output keeps their order. None blocks.
class Reply {
 public:
  virtual ~Reply() = default;
  virtual void whole(int status, const Headers& headers, std::string body) = 0;
  // A body of unknown length. `idle` is sent after each Limits::idle_text_ms without other output.
  virtual void begin(int status, const Headers& headers, std::string idle = {}) = 0;
  virtual void chunk(std::string text) = 0;
  virtual void end() = 0;
  // Called once, on the server's thread, if the client or the server goes away before the end; at
  // once if that has happened. Must not block. A client that closes only its own direction counts
  // as gone, because the two look the same.
  virtual void on_gone(std::function<void()> action) = 0;
};

// Called on the server's thread: must not block. The reply may be kept and answered later.
using Handler = std::function<void(const Request& request, std::shared_ptr<Reply> reply)>;

struct Limits {
  std::size_t header_bytes = 16U << 10;
  std::size_t body_bytes = 4U << 20;
  std::size_t connections = 1'024;      // the next one is answered 503
  std::size_t unsent_bytes = 1U << 20;  // a slower reader is dropped
  int header_ms = 10'000;               // from the first byte of a request to its last header
  int body_ms = 30'000;
  int idle_ms = 120'000;      // between requests
  int write_ms = 30'000;      // without the client reading a byte
  int idle_text_ms = 15'000;  // see Reply::begin
};

struct TlsFiles {
  std::string certificate;  // with its chain
  std::string key;
};

struct Options {
  Door door;  // address.port 0: any free port
  std::optional<TlsFiles> tls = {};
  bool tls_beyond_loopback = false;  // other machines can reach it only through TLS
  int inherited = -1;  // a socket that listens already; it is used instead of the door's address
  Limits limits;
  std::function<void()> every_second;  // on the server's thread, while it runs; may be empty
  // On the server's thread, before it ends: finishes open answers.
  std::function<void()> at_end;
};

// May a server listen there, which asks for a token, and encrypts? usage: not a loopback address,
// and it does not.
Result<void> check_reach(const Address& address, bool asks, bool encrypts);

class Server {
 public:
  // Starts to listen. usage: as check_reach.
  // failed: the address is in use or not one of this machine. A Unix socket is for this user alone
  // (0600); it replaces one that nobody listens on any more, and is removed at the end.
  static Result<std::unique_ptr<Server>> open(Options options, Handler handler);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // With the chosen port.
  const Address& address() const;

  // Serves on this thread until close(), or until `ended` is readable (-1: never). Then closes
  // every connection at once. Call once.
  void run(int ended = -1);
  // From any thread.
  void close();

  // How many clients are connected; from any thread.
  std::size_t connections() const;

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace lockkeeper::http
