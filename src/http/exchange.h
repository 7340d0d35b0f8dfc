// For src/http only: one request being answered, between its handler, on any thread, and its
// connection, on the server's thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "http/loop.h"
#include "http/server.h"

namespace lockkeeper::http {

class Exchange final : public Reply, public std::enable_shared_from_this<Exchange> {
 public:
  struct Wire {
    bool keep_alive = true;  // as the client asked
    bool chunks = true;      // HTTP/1.1
    bool head_only = false;  // HEAD: no body
  };
  // Output for the connection, on the server's thread, sent unchanged.
  struct Output {
    std::string bytes;
    std::string idle;    // as Reply::begin; empty: as before
    bool last = false;   // the answer is complete
    bool close = false;  // closing the connection ends the answer
  };
  using Put = std::function<void(Output output)>;

  // `put` is called on the server's thread. `socket` is the client's, until gone() or finished().
  Exchange(std::shared_ptr<Loop> loop, Wire wire, int socket, Put put)
      : loop_(std::move(loop)), wire_(wire), put_(std::move(put)), socket_(socket) {}

  void whole(int status, const Headers& headers, std::string body) override;
  void begin(int status, const Headers& headers, std::string idle) override;
  void chunk(std::string text) override;
  void end() override;
  void on_gone(std::function<void()> action) override;
  // The handler has dropped the reply.
  void abandoned();

  // By the connection, on the server's thread.
  void gone();
  void finished();
  bool keeps_alive() const { return wire_.keep_alive; }

 private:
  void post(Output output);
  void send_now(std::string& bytes);

  const std::shared_ptr<Loop> loop_;
  const Wire wire_;
  const Put put_;
  std::mutex mutex_;  // protects all below, and the order of posted output
  int socket_;        // -1: nobody but the connection writes there
  bool begun_ = false;
  bool ended_ = false;
  bool gone_ = false;
  std::function<void()> on_gone_;
};

// The handler's side: when the last copy is dropped, the exchange is abandoned().
std::shared_ptr<Reply> reply_to(const std::shared_ptr<Exchange>& exchange);

}  // namespace lockkeeper::http
