// Messages as lines into a descriptor: a pipe, a socket, a file.
//
// send() never blocks. What the client does not read at once is queued for a thread that exists
// only while needed. A client that lets the queue grow too long, or reads nothing for too long, is
// given up: broken() becomes readable, and nothing more is written.
//
// Thread safety: all methods may be called from any thread; stop() once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "host/pipes.h"
#include "mcp/call.h"

namespace lockkeeper::mcp {

struct LineLimits {
  std::size_t queue_bytes_max = 32U << 20;
  int patience_ms = 30'000;  // without a byte read
};

class LineOutlet final : public Outlet {
 public:
  // `fd` must outlive it. SIGPIPE must be ignored, unless it is a socket.
  explicit LineOutlet(int fd, LineLimits limits = {});
  ~LineOutlet() override;

  void send(const Json& message) override;

  // Readable once the client is given up.
  int broken() const { return broken_event_.fd(); }
  // Writes what is queued, as long as the client reads within `patience`; then stops.
  void stop(std::chrono::milliseconds patience);

 private:
  enum class Wrote { kAll, kSome, kFailed };

  Wrote write_now(std::string_view& rest) const;
  void write_queue();
  bool write_patiently(std::string_view rest) const;
  void give_up();

  const int fd_;
  const LineLimits limits_;
  const bool is_socket_;
  const host::Event broken_event_;
  const host::Event stop_event_;
  std::mutex mutex_;  // protects all below
  std::condition_variable changed_;
  std::deque<std::string> queue_;
  std::size_t queued_bytes_ = 0;
  bool broken_ = false;
  bool stopping_ = false;
  std::thread writer_;
};

}  // namespace lockkeeper::mcp
