// For src/http only: the server thread's queue. It outlives the server as long as a reply exists,
// but then takes nothing more.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <mutex>
#include <set>
#include <utility>

#include "http/server.h"

namespace lockkeeper::http {

class Connection;

// co_await something(…, into(error)): sets `error` instead of throwing.
inline auto into(boost::system::error_code& error) {
  return boost::asio::redirect_error(boost::asio::use_awaitable, error);
}

struct Loop {
  Loop(Options options_given, Handler handler_given)
      : options(std::move(options_given)), handler(std::move(handler_given)) {}

  // Runs it on the server's thread, after everything posted before; never after the server's end.
  template <class Work>
  void post(Work work) {
    const std::lock_guard lock(mutex);
    if (!ended) boost::asio::post(context, std::move(work));
  }
  // Is this the server's thread?
  bool is_here() { return context.get_executor().running_in_this_thread(); }
  // At once, if it is.
  template <class Work>
  void run_or_post(Work work) {
    if (is_here()) return work();
    post(std::move(work));
  }
  void end() {
    const std::lock_guard lock(mutex);
    ended = true;
  }

  boost::asio::io_context context{1};
  Options options;
  const Handler handler;
  std::set<Connection*> open;  // on the server's thread only
  std::atomic<std::size_t> connections = 0;
  bool closing = false;  // on the server's thread only
  std::mutex mutex;      // protects `ended`
  bool ended = false;
};

}  // namespace lockkeeper::http
