#include "http/exchange.h"

#include <sys/socket.h>

#include <ctime>

namespace lockkeeper::http {

std::shared_ptr<Reply> reply_to(const std::shared_ptr<Exchange>& exchange) {
  return {exchange.get(), [exchange](Reply*) { exchange->abandoned(); }};
}

void Exchange::post(Output output) {
  loop_->post([self = shared_from_this(), output = std::move(output)]() mutable {
    self->put_(std::move(output));
  });
}

// Takes off what the client's socket has room for.
void Exchange::send_now(std::string& bytes) {
  if (socket_ < 0) return;
  const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent > 0) bytes.erase(0, static_cast<std::size_t>(sent));
}

// It is the only output, so it need not wait for the order of others. On another thread it need not
// even wait for the server's thread.
void Exchange::whole(int status, const Headers& headers, std::string body) {
  Framing framing{wire_.keep_alive, false, body.size()};
  if (status == 204 || status == 304) framing.length.reset();
  Output output;
  output.bytes = head_of(status, headers, framing, std::time(nullptr));
  if (framing.length && !wire_.head_only) output.bytes += body;
  output.last = true;
  {
    const std::lock_guard lock(mutex_);
    if (begun_ || ended_) return;
    begun_ = ended_ = true;
    if (!loop_->is_here()) send_now(output.bytes);
  }
  loop_->run_or_post([self = shared_from_this(), output = std::move(output)]() mutable {
    self->put_(std::move(output));
  });
}

void Exchange::begin(int status, const Headers& headers, std::string idle) {
  const std::lock_guard lock(mutex_);
  if (begun_ || ended_) return;
  begun_ = true;
  Output output;
  // An HTTP/1.0 client reads until the connection is closed.
  const Framing framing{wire_.keep_alive && wire_.chunks, wire_.chunks, std::nullopt};
  output.bytes = head_of(status, headers, framing, std::time(nullptr));
  output.idle = wire_.chunks ? chunk_of(idle) : std::move(idle);
  output.close = !framing.keep_alive;
  post(std::move(output));
}

void Exchange::chunk(std::string text) {
  const std::lock_guard lock(mutex_);
  if (!begun_ || ended_ || text.empty()) return;
  Output output;
  output.bytes = wire_.chunks ? chunk_of(text) : std::move(text);
  post(std::move(output));
}

void Exchange::end() {
  const std::lock_guard lock(mutex_);
  if (!begun_ || ended_) return;
  ended_ = true;
  Output output;
  if (wire_.chunks) output.bytes = kLastChunk;
  output.last = true;
  post(std::move(output));
}

void Exchange::abandoned() {
  {
    const std::lock_guard lock(mutex_);
    if (ended_ || gone_) return;
    if (begun_) {
      // Half an answer must not look complete.
      ended_ = true;
      Output output;
      output.last = output.close = true;
      return post(std::move(output));
    }
  }
  whole(500, {{"Content-Type", "text/plain"}}, "the request was not answered\n");
}

void Exchange::on_gone(std::function<void()> action) {
  {
    const std::lock_guard lock(mutex_);
    if (!gone_) {
      if (!ended_) on_gone_ = std::move(action);
      return;
    }
  }
  action();
}

void Exchange::gone() {
  std::function<void()> action;
  {
    const std::lock_guard lock(mutex_);
    if (gone_) return;
    gone_ = true;
    socket_ = -1;
    action.swap(on_gone_);
    if (ended_) return;  // finished; `action` is destroyed outside the lock
  }
  if (action) action();
}

void Exchange::finished() {
  std::function<void()> dropped;  // destroyed outside the lock
  const std::lock_guard lock(mutex_);
  socket_ = -1;
  dropped.swap(on_gone_);
}

}  // namespace lockkeeper::http
