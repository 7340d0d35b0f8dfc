// /v1: everything that the lock service offers, with the JSON of the command line, as
// docs/openapi.json describes it. `realm` in the query names the realm; it can be left out where
// there is one.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include "hub/feed.h"
#include "hub/visit.h"

namespace lockkeeper::hub {

class Rest {
 public:
  // All must outlive it.
  Rest(Desk& desk, HubRealms& realms, Feed& feed, const service::Runtime& runtime)
      : desk_(desk), realms_(realms), feed_(feed), runtime_(runtime) {}

  // May block on the store, never on a lock. REQUIRES: the path begins with /v1.
  void handle(const Visit& visit);
  // Does it ask one table one short question? Then its realm; else null.
  HubRealm* short_call(const Visit& visit) const;

 private:
  using Handle = Result<Answer> (Rest::*)(const Visit& visit, Seat& seat);
  struct Route {
    const char* method;
    const char* name;
    Handle handle;
    bool is_short = false;
  };
  static const std::vector<Route>& routes();

  Result<Answer> acquire(const Visit& visit, Seat& seat);
  Result<Answer> release(const Visit& visit, Seat& seat);
  Result<Answer> renew(const Visit& visit, Seat& seat);
  Result<Answer> check(const Visit& visit, Seat& seat);
  Result<Answer> list(const Visit& visit, Seat& seat);
  Result<Answer> break_leases(const Visit& visit, Seat& seat);
  Result<Answer> send(const Visit& visit, Seat& seat);
  Result<Answer> messages(const Visit& visit, Seat& seat);
  Result<Answer> read_messages(const Visit& visit, Seat& seat);
  Result<Answer> purge(const Visit& visit, Seat& seat);
  Result<Answer> whoami(const Visit& visit, Seat& seat);
  Result<Answer> runs(const Visit& visit, Seat& seat);

  // These answer themselves.
  Result<void> events(const Visit& visit);
  Result<void> wait(const Visit& visit);
  Result<void> leave(const Visit& visit);
  Result<void> call(const Visit& visit);

  Result<Answer> list_realms(const Visit& visit);
  Result<Answer> create_realm(const Visit& visit);
  Result<Answer> drain(const Visit& visit);
  Result<Answer> list_hubs(const Visit& visit);
  Result<Answer> beat(const Visit& visit);
  Result<bool> keep_session(Sessions::Beat& beat, bool begins);
  std::optional<Result<Answer>> about_the_hub(const Visit& visit);

  Result<std::unique_ptr<Seat>> seat(const Visit& visit);
  Result<void> tell_outcome(Door& door, const service::AwaitCall& call,
                            const std::shared_ptr<http::Reply>& reply, Waits::Then tell);
  Answer outcome(const service::AcquireResult& result, const std::vector<std::string>& asked);

  Desk& desk_;
  HubRealms& realms_;
  Feed& feed_;
  const service::Runtime& runtime_;
};

}  // namespace lockkeeper::hub
