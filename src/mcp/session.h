// One conversation with a client: a stdio connection, a legacy HTTP session, or a single modern
// HTTP exchange. Decides the era of each request, answers the protocol's own methods, and passes
// the rest to the catalogue. Both eras may be interleaved.
//
// No request waits for another: slow ones run on the pool, and are cancelled by the client, by its
// disconnect, or by close(). Every request ends its outlet once.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "mcp/call.h"
#include "mcp/catalogue.h"
#include "mcp/pool.h"

namespace lockkeeper::mcp {

class Session : public std::enable_shared_from_this<Session> {
 public:
  // All must outlive it and its calls. Sessions are held by shared_ptr.
  Session(const Catalogue& catalogue, Pool& pool, Visitor visitor = {})
      : catalogue_(catalogue), pool_(pool), visitor_(std::move(visitor)) {}
  ~Session() { close(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Takes a message of the client. Its answer and progress go to `outlet`.
  void take(const Incoming& message, const std::shared_ptr<Outlet>& outlet);
  // Takes one text: a message, or a batch in the one revision that has them.
  void take_text(std::string_view text, const std::shared_ptr<Outlet>& outlet);

  // Where a legacy client gets notifications: its connection, or its GET stream.
  void set_listener(std::shared_ptr<Outlet> outlet);

  // Something has changed: notifies the client if it subscribed.
  void resource_changed(const std::string& uri);
  void list_changed(const std::string& what);  // "tools", "prompts", "resources"
  // The resources that the client watches.
  std::set<std::string> watched() const;

  // The client sends no more: cancels waiting calls, gives working ones `patience` to answer, then
  // closes.
  void finish(std::chrono::milliseconds patience);
  // Ends subscriptions as the protocol demands and cancels all running calls. Idempotent.
  void close();

 private:
  struct Subscription {
    Json id;  // of the listen request
    std::shared_ptr<Outlet> outlet;
    Json filter;
  };
  struct Pending {
    std::optional<Json> result;
    bool done = false;
  };
  using Calls = std::map<std::string, std::shared_ptr<Call>>;

  void take_batch(const Parsed& parsed, const std::shared_ptr<Outlet>& outlet);
  void request(const Incoming& message, const std::shared_ptr<Outlet>& outlet);
  void notified(const Incoming& message);
  void responded(const Incoming& message);
  std::optional<RpcError> client_of(const Incoming& request, Client& client) const;

  void initialize(const Incoming& message, const std::shared_ptr<Outlet>& outlet);
  std::shared_ptr<Call> call_of(const Incoming& message, const Client& client,
                                const std::shared_ptr<Outlet>& outlet);
  Answer at_once(const Incoming& message, const Client& client);
  Answer subscribe(const Json& params, bool wanted);
  Answer set_level(const Json& params);
  void later(const Json& id, const std::shared_ptr<Call>& call);
  void done(const Json& id, Call& call, const Answer& answer);
  std::optional<Json> ask(const std::shared_ptr<Outlet>& outlet, const std::string& method,
                          Json params, const Call& by);

  void listen(const Incoming& message, const std::shared_ptr<Outlet>& outlet);
  Json honoured(const Json& wanted) const;
  void watch(const Json& filter) const;
  std::size_t uris_known() const;
  bool is_taken(const Json& id) const;

  const Catalogue& catalogue_;
  Pool& pool_;
  const Visitor visitor_;
  mutable std::mutex mutex_;  // protects all below
  bool closed_ = false;
  std::optional<Client> legacy_;  // once initialize was answered
  bool initialized_ = false;      // once the client has said so
  std::optional<std::string> log_level_;
  std::shared_ptr<Outlet> listener_;
  std::set<std::string> subscribed_;  // legacy: URIs
  std::vector<Subscription> subscriptions_;
  Calls calls_;  // running, by the text of their id
  std::size_t at_work_ = 0;
  std::condition_variable idle_;
  std::int64_t asked_ = 0;
  std::map<std::int64_t, std::shared_ptr<Pending>> pending_;  // our requests to the client
  std::condition_variable answered_;
};

}  // namespace lockkeeper::mcp
