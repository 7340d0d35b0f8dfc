// MCP's Streamable HTTP, both eras at one path.
//
//   modern  every POST is an exchange of its own; closing its stream cancels it
//   legacy  `initialize` opens a session, named in a header by everything that follows; GET is its
//           stream for what nobody asked for; DELETE ends it
//
// A legacy client whose connection breaks has cancelled nothing, says the old specification; it may
// come back for the answer with the last event it has seen. So its call goes on for a while if it
// has seen an event, and is cancelled at once if it has not: then nobody can ever hear the answer,
// and a lock that nobody knows of is held from everybody.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "http/server.h"
#include "mcp/audience.h"
#include "mcp/http/http_stream.h"
#include "mcp/session.h"

namespace lockkeeper::mcp {

struct StreamableOptions {
  std::string path = "/mcp";
  // Beyond that the one that was silent for longest has to go.
  std::size_t sessions_max = 1'024;
  std::chrono::milliseconds session_idle = std::chrono::hours(24);
  // How long a legacy client may take to come back for an answer.
  std::chrono::milliseconds resume_within = std::chrono::seconds(30);
};

class Streamable {
 public:
  // All must outlive it. `audience` learns of every session that may want news.
  Streamable(const Catalogue& catalogue, Pool& pool, Audience& audience,
             StreamableOptions options = {})
      : catalogue_(catalogue), pool_(pool), audience_(audience), options_(std::move(options)) {}
  ~Streamable() { close(); }
  Streamable(const Streamable&) = delete;
  Streamable& operator=(const Streamable&) = delete;

  // A request that may come in. Never blocks.
  void handle(const http::Request& request, const std::shared_ptr<http::Reply>& reply);
  // To be called about once a second: what nobody comes back for is ended.
  void sweep();
  // Ends every session and stream by the book.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  using Reply = std::shared_ptr<http::Reply>;
  // A legacy session.
  struct Visit {
    std::shared_ptr<Session> session;
    std::string revision;
    Clock::time_point used;
    std::shared_ptr<HttpStream> listener;  // stream 0
    std::shared_ptr<StreamShelf> shelf = std::make_shared<StreamShelf>();
  };
  struct Listening {  // modern
    std::shared_ptr<Session> session;
    std::shared_ptr<HttpStream> stream;
  };

  void post(const http::Request& request, const Reply& reply);
  void modern(const http::Request& request, const Incoming& message, const Reply& reply);
  void initialize(const Incoming& message, const Reply& reply);
  void legacy(const http::Request& request, const Parsed& parsed, const Reply& reply);
  void get(const http::Request& request, const Reply& reply);
  void remove(const http::Request& request, const Reply& reply);

  // The session that the request names; answers it, and gives none, if that cannot be.
  std::shared_ptr<Visit> visit_of(const http::Request& request, const Json& id, const Reply& reply);
  std::shared_ptr<HttpStream> listener_of(Visit& visit);
  static void end(const Visit& visit);

  const Catalogue& catalogue_;
  Pool& pool_;
  Audience& audience_;
  const StreamableOptions options_;
  std::mutex mutex_;  // protects all below, and what is in the visits
  std::map<std::string, std::shared_ptr<Visit>> visits_;
  std::vector<Listening> listening_;
  bool closed_ = false;
};

// Serves until `ended` is readable. `listening` hears of the address as soon as clients can come.
Result<void> serve_http(Streamable& endpoint, http::Door door, int ended,
                        const std::function<void(const http::Address&)>& listening,
                        const http::Limits& limits = {});

}  // namespace lockkeeper::mcp
