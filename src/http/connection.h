// For src/http only: one client. Everything runs on the server's thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "http/exchange.h"
#include "http/loop.h"

namespace lockkeeper::http {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  Connection(std::shared_ptr<Loop> loop, Socket socket);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start();
  // Writes what can be written without waiting, and closes.
  void close_now();

 private:
  template <class T = void>
  using Awaitable = boost::asio::awaitable<T>;
  using Time = boost::asio::steady_timer::time_point;

  // What was read: a request, or the status to refuse it with; 0: close without an answer.
  struct Came {
    Request request;
    Exchange::Wire wire;
    int refused = 0;
    Headers headers;  // of the refusal
    std::string message;
    bool whole = false;
  };

  Awaitable<> serve();
  Awaitable<bool> wait_for_request();
  Awaitable<> read(Came& came);
  Awaitable<> answer(Came& came);
  Awaitable<> refuse(const Came& came);
  Awaitable<> write_answer();
  Awaitable<bool> write(std::string bytes);
  Awaitable<> linger();

  void put(std::uint64_t number, Exchange::Output output);
  bool is_left();
  void watch();
  void readable();
  void client_gone();
  std::size_t ahead_max() const;

  // Cancels the socket's operation unless it ends within the time.
  void within(int ms);
  void in_time();
  void look_in_time();
  void look_at_time();

  const std::shared_ptr<Loop> loop_;
  const Limits& limits_;
  Socket socket_;
  boost::asio::steady_timer timer_;  // for the socket's operation
  boost::asio::steady_timer wake_;   // fires, or is cancelled: there is something to write
  boost::beast::flat_buffer buffer_;
  Time until_ = Time::max();     // the socket's operation has to end; max: there is none
  Time looks_at_ = Time::max();  // when the timer fires; max: it is not set
  bool too_late_ = false;
  bool closed_ = false;

  // The current answer.
  std::shared_ptr<Exchange> exchange_;
  std::uint64_t number_ = 0;  // of the request; output for an older one is dropped
  std::string out_;           // to be written
  std::size_t writing_ = 0;   // bytes being written
  std::string idle_;
  bool last_ = false;         // `out_` is the end of the answer
  bool close_after_ = false;  // marks the end of the answer
};

}  // namespace lockkeeper::http
