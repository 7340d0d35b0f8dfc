// MCP's Streamable HTTP, both eras at one path.
//
//   modern  every POST is a separate exchange; closing its stream cancels it. A client is known by
//           its token and its name; a `subscriptions/listen` stream shows that it is there
//   legacy  `initialize` opens a session, which later requests name in a header; GET opens its
//           stream for notifications; DELETE ends it
//
// By the old specification, a broken connection does not cancel a legacy call: the client may
// reconnect with the last event it has seen. So the call continues for a while if the client has
// seen an event. Otherwise it is cancelled at once: nobody could ever get the answer, and its lock
// would be held for nobody.
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
#include "mcp/http/announcer.h"
#include "mcp/http/http_stream.h"
#include "mcp/session.h"

namespace lockkeeper::mcp {

struct StreamableOptions {
  std::string path = "/mcp";
  // Beyond that, the session that was silent longest is ended.
  std::size_t sessions_max = 1'024;
  std::chrono::milliseconds session_idle = std::chrono::hours(24);
  // How long a legacy client may take to reconnect for an answer.
  std::chrono::milliseconds resume_within = std::chrono::seconds(30);
  // How long a client that has no stream open counts as there after its last request. One that had
  // a stream is gone when that closes.
  std::chrono::milliseconds visitor_idle = std::chrono::minutes(15);
  bool tokens_differ = false;  // each client has a token of its own
};

class Streamable {
 public:
  // All must outlive it. `audience` gets every session that may want notifications.
  Streamable(const Catalogue& catalogue, Pool& pool, Audience& audience,
             StreamableOptions options = {})
      : catalogue_(catalogue),
        pool_(pool),
        audience_(audience),
        options_(std::move(options)),
        announcer_(std::make_shared<Announcer>(catalogue, pool)) {}
  ~Streamable() { close(); }
  Streamable(const Streamable&) = delete;
  Streamable& operator=(const Streamable&) = delete;

  // Takes a request that was admitted. Never blocks.
  void handle(const http::Request& request, const std::shared_ptr<http::Reply>& reply);
  // Call about once a second: ends streams and sessions to which nobody reconnects.
  void sweep();
  // Ends every session and stream as the protocol demands.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  using Reply = std::shared_ptr<http::Reply>;
  // A legacy session.
  struct Visit {
    std::string visitor;
    std::shared_ptr<Session> session;
    std::string revision;
    Clock::time_point used;
    std::shared_ptr<HttpStream> listener;  // stream 0
    std::shared_ptr<StreamShelf> shelf = std::make_shared<StreamShelf>();
  };
  struct Listening {  // modern
    std::string visitor;
    std::shared_ptr<Session> session;
    std::shared_ptr<HttpStream> stream;
  };

  void post(const http::Request& request, const Reply& reply);
  void modern(const http::Request& request, const Incoming& message, const Reply& reply);
  void initialize(const Incoming& message, const Reply& reply);
  void legacy(const http::Request& request, const Parsed& parsed, const Reply& reply);
  void get(const http::Request& request, const Reply& reply);
  void remove(const http::Request& request, const Reply& reply);

  // The session that the request names; otherwise answers the request and returns null.
  std::shared_ptr<Visit> visit_of(const http::Request& request, const Json& id, const Reply& reply);
  std::shared_ptr<HttpStream> listener_of(Visit& visit);
  static void end(const Visit& visit);
  Visitor visitor_of(const http::Request& request, const Incoming& message) const;
  void seen(const std::string& visitor);
  void note_gone(Clock::time_point now);

  const Catalogue& catalogue_;
  Pool& pool_;
  Audience& audience_;
  const StreamableOptions options_;
  // Told under `mutex_` what changes in `present_`.
  const std::shared_ptr<Announcer> announcer_;
  std::mutex mutex_;  // protects all below, including the visits' contents
  std::map<std::string, std::shared_ptr<Visit>> visits_;
  std::vector<Listening> listening_;
  struct Presence {
    Clock::time_point seen;
    bool streamed = false;  // since its last request
  };
  std::map<std::string, Presence> present_;  // by the visitor's name
  bool closed_ = false;
};

// Serves until `ended` is readable. Calls `listening` with the address once clients can connect.
Result<void> serve_http(Streamable& endpoint, http::Door door, int ended,
                        const std::function<void(const http::Address&)>& listening,
                        const http::Limits& limits = {});

}  // namespace lockkeeper::mcp
