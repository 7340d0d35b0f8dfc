#include "http/connection.h"

#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>

namespace lockkeeper::http {
namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using std::chrono::milliseconds;

namespace {

// The rest of a refused request is read for a moment; otherwise the client would never read why.
constexpr int kLingerMs = 2'000;
constexpr std::size_t kLingerBytes = 16U << 20;
constexpr std::size_t kReadStep = 4U << 10;

using Parser = beast::http::request_parser<beast::http::string_body>;

int status_of(const error_code& error) {
  using Wrong = beast::http::error;
  if (error == Wrong::end_of_stream || error == Wrong::partial_message) return 0;
  if (error == Wrong::header_limit || error == Wrong::buffer_overflow) return 431;
  if (error == Wrong::body_limit) return 413;
  if (error == Wrong::bad_version) return 505;
  // Other errors of the parser; the rest come from the socket.
  return error.category() == make_error_code(Wrong::bad_method).category() ? 400 : 0;
}

std::string words_of(int status, const error_code& error, const Limits& limits) {
  switch (status) {
    case 431:
      return "the headers have more than " + std::to_string(limits.header_bytes) + " bytes";
    case 413:
      return "the body has more than " + std::to_string(limits.body_bytes) + " bytes";
    default:
      return "this is not valid HTTP: " + error.message();
  }
}

Request head_of_parser(const Parser& parser) {
  Request request;
  const auto& message = parser.get();
  request.method = message.method_string();
  request.target = message.target();
  for (const auto& field : message) {
    request.headers.emplace_back(std::string(field.name_string()),
                                 std::string(trimmed(field.value())));
  }
  return request;
}

}  // namespace

Connection::Connection(std::shared_ptr<Loop> loop, Socket socket)
    : loop_(std::move(loop)),
      limits_(loop_->options.limits),
      socket_(std::move(socket)),
      timer_(loop_->context),
      wake_(loop_->context),
      buffer_(ahead_max() + kReadStep) {
  loop_->open.insert(this);
  ++loop_->connections;
}

Connection::~Connection() {
  if (exchange_) exchange_->gone();
  loop_->open.erase(this);
  --loop_->connections;
}

void Connection::start() {
  asio::co_spawn(
      loop_->context, [self = shared_from_this()] { return self->serve(); }, asio::detached);
}

// --- time ----------------------------------------------------------------------------------------

// A timer is set only if it would fire too late. So a busy connection, whose operations each have
// their own limit, does not set and cancel one for each of them.
void Connection::within(int ms) {
  too_late_ = false;
  until_ = Time::clock::now() + milliseconds(ms);
  if (until_ < looks_at_) look_in_time();
}

void Connection::in_time() {
  until_ = Time::max();
}

void Connection::look_in_time() {
  looks_at_ = until_;
  timer_.expires_at(until_);
  timer_.async_wait([weak = weak_from_this()](const error_code& error) {
    const auto self = weak.lock();
    if (!error && self) self->look_at_time();
  });
}

void Connection::look_at_time() {
  looks_at_ = Time::max();
  if (until_ == Time::max()) return;
  if (Time::clock::now() < until_) return look_in_time();
  in_time();
  too_late_ = true;
  error_code ignored;
  socket_.cancel(ignored);
}

// --- reading -------------------------------------------------------------------------------------

Connection::Awaitable<> Connection::serve() {
  const auto self = shared_from_this();
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.non_blocking(true, ignored);
  bool more = true;
  while (more && !closed_) {
    const bool came_some = co_await wait_for_request();
    if (!came_some) break;
    Came came;
    co_await read(came);
    if (came.refused != 0) {
      co_await refuse(came);
      break;
    }
    if (!came.whole) break;
    co_await answer(came);
    more = came.wire.keep_alive;
  }
  in_time();
  closed_ = true;
  socket_.close(ignored);
}

// An idle connection holds nothing: no buffer, no parser.
Connection::Awaitable<bool> Connection::wait_for_request() {
  if (buffer_.size() > 0) co_return true;
  buffer_.clear();
  buffer_.shrink_to_fit();
  error_code error;
  within(limits_.idle_ms);
  co_await socket_.async_wait(Socket::wait_read, into(error));
  in_time();
  co_return !error && !closed_;
}

Connection::Awaitable<> Connection::read(Came& came) {
  Parser parser;
  parser.header_limit(static_cast<std::uint32_t>(limits_.header_bytes));
  parser.body_limit(limits_.body_bytes);
  error_code error;
  // Mostly all of it is there. What is missing is waited for.
  beast::http::read_header(socket_, buffer_, parser, error);
  if (error == asio::error::would_block) {
    within(limits_.header_ms);
    co_await beast::http::async_read_header(socket_, buffer_, parser, into(error));
    in_time();
  }
  if (!error) {
    came.request = head_of_parser(parser);
    came.wire.chunks = parser.get().version() >= 11;
    came.wire.keep_alive = parser.keep_alive();
    came.wire.head_only = came.request.method == "HEAD";
    if (const auto refused = refusal(loop_->options.door, came.request)) {
      came.refused = refused->status;
      came.headers = refused->headers;
      came.message = refused->message;
      co_return;
    }
    const std::string* const expected = came.request.header("Expect");
    if (expected != nullptr && !same_ignoring_case(*expected, "100-continue")) {
      came.refused = 417;
      came.message = "the only expectation supported is 100-continue";
      co_return;
    }
    if (expected != nullptr && !parser.is_done()) {
      const bool sent = co_await write("HTTP/1.1 100 Continue\r\n\r\n");
      if (!sent) co_return;
    }
    // What came with the headers. Others have their turn before more is read.
    parser.eager(true);
    if (!parser.is_done()) buffer_.consume(parser.put(buffer_.data(), error));
    if (error == beast::http::error::need_more) error.clear();
    if (!error && !parser.is_done()) {
      within(limits_.body_ms);
      co_await beast::http::async_read(socket_, buffer_, parser, into(error));
      in_time();
    }
  }
  if (!error) {
    came.request.body = std::move(parser.get().body());
    came.whole = true;
    co_return;
  }
  if (too_late_ && error == asio::error::operation_aborted) {
    came.refused = 408;
    came.message = "the request took too long to arrive";
    co_return;
  }
  came.refused = status_of(error);
  if (came.refused != 0) came.message = words_of(came.refused, error, limits_);
}

Connection::Awaitable<> Connection::refuse(const Came& came) {
  Headers headers = came.headers;
  headers.emplace_back("Content-Type", "text/plain; charset=utf-8");
  const std::string body = came.message + "\n";
  const Framing framing{false, false, body.size()};
  std::string bytes = http::head_of(came.refused, headers, framing, std::time(nullptr));
  if (came.request.method != "HEAD") bytes += body;
  const bool sent = co_await write(std::move(bytes));
  if (sent) co_await linger();
}

Connection::Awaitable<> Connection::linger() {
  error_code error;
  socket_.shutdown(Socket::shutdown_send, error);
  std::string dropped(16U << 10, '\0');
  within(kLingerMs);
  for (std::size_t bytes = 0; !error && bytes < kLingerBytes;) {
    bytes += co_await socket_.async_read_some(asio::buffer(dropped), into(error));
  }
  in_time();
}

// --- answering -----------------------------------------------------------------------------------

Connection::Awaitable<> Connection::answer(Came& came) {
  const std::uint64_t mine = ++number_;
  out_.clear();
  idle_.clear();
  last_ = close_after_ = false;
  exchange_ = std::make_shared<Exchange>(loop_, came.wire, socket_.native_handle(),
                                         [weak = weak_from_this(), mine](Exchange::Output output) {
                                           if (const auto self = weak.lock())
                                             self->put(mine, std::move(output));
                                         });
  came.request.sender_gone = is_left();
  loop_->handler(came.request, reply_to(exchange_));
  came.request = Request();
  const bool later = !last_;
  if (later) watch();
  co_await write_answer();
  if (!last_ || !out_.empty()) closed_ = true;
  ++number_;
  const auto exchange = std::exchange(exchange_, nullptr);
  if (closed_) exchange->gone();
  exchange->finished();
  if (close_after_) came.wire.keep_alive = false;
  error_code ignored;
  if (later) {
    socket_.cancel(ignored);  // stops watching for the client's disconnect
  } else if (buffer_.size() > 0) {
    co_await asio::post(loop_->context, asio::use_awaitable);  // others have their turn
  }
}

Connection::Awaitable<> Connection::write_answer() {
  error_code error;
  while (!closed_) {
    if (!out_.empty()) {
      std::string bytes;
      bytes.swap(out_);
      const bool sent = co_await write(std::move(bytes));
      if (!sent) closed_ = true;
      continue;
    }
    if (last_) co_return;
    if (idle_.empty()) {
      wake_.expires_at(asio::steady_timer::time_point::max());
    } else {
      wake_.expires_after(milliseconds(limits_.idle_text_ms));
    }
    co_await wake_.async_wait(into(error));
    if (!error && out_.empty() && !last_) out_ = idle_;
  }
}

Connection::Awaitable<bool> Connection::write(std::string bytes) {
  error_code error;
  std::size_t sent = 0;
  while (sent < bytes.size() && !error) {
    writing_ = bytes.size() - sent;
    // Usually there is room, so no notification is needed.
    sent += socket_.write_some(asio::buffer(bytes.data() + sent, bytes.size() - sent), error);
    if (error != asio::error::would_block) continue;
    within(limits_.write_ms);
    error.clear();
    co_await socket_.async_wait(Socket::wait_write, into(error));
    in_time();
    if (closed_) error = asio::error::operation_aborted;
  }
  writing_ = 0;
  co_return !error;
}

void Connection::put(std::uint64_t number, Exchange::Output output) {
  if (number != number_ || closed_ || last_) return;
  // An answer may be of any length, but a client that does not read it gets no further one.
  const bool slow = out_.size() + writing_ > limits_.unsent_bytes;
  if (slow) return client_gone();
  if (out_.empty()) {
    out_ = std::move(output.bytes);
  } else {
    out_ += output.bytes;
  }
  if (!output.idle.empty()) idle_ = std::move(output.idle);
  if (output.close) close_after_ = true;
  last_ = output.last;
  wake_.cancel();
}

// --- has the client gone? ------------------------------------------------------------------------

// Of a server that stood still, say, with the request already there.
bool Connection::is_left() {
  char next = 0;
  return ::recv(socket_.native_handle(), &next, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

void Connection::watch() {
  socket_.async_wait(Socket::wait_read,
                     [weak = weak_from_this(), mine = number_](const error_code& error) {
                       const auto self = weak.lock();
                       if (!error && self && self->number_ == mine) self->readable();
                     });
}

void Connection::readable() {
  if (closed_) return;
  error_code error;
  const std::size_t n = socket_.read_some(buffer_.prepare(kReadStep), error);
  buffer_.commit(n);
  if (error && error != asio::error::would_block) return client_gone();
  if (buffer_.size() > ahead_max()) return client_gone();
  watch();
}

// Input is read even while an answer is open, because a disconnect is seen only after it. One whole
// request may be sent ahead, not more.
std::size_t Connection::ahead_max() const {
  return limits_.header_bytes + limits_.body_bytes;
}

void Connection::client_gone() {
  closed_ = true;
  const auto keep = shared_from_this();
  if (exchange_) exchange_->gone();
  wake_.cancel();
  error_code ignored;
  socket_.cancel(ignored);
}

void Connection::close_now() {
  if (closed_) return;
  error_code ignored;
  if (!out_.empty() && writing_ == 0) socket_.write_some(asio::buffer(out_), ignored);
  client_gone();
}

}  // namespace lockkeeper::http
