// Reads the histories of a hub's realms as they grow, on one thread for all: for clients that
// follow them (server-sent events) and for the metrics.
//
// A stream begins after any event and has every later one, in order, under its number. Old events
// are sent a page at a time. A client that does not read is dropped by the server, and resumes with
// the last number that it has seen.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "http/server.h"
#include "hub/hub_realms.h"
#include "hub/metrics.h"
#include "service/calls.h"

namespace lockkeeper::hub {

class Feed {
 public:
  // Both must outlive it.
  Feed(const HubRealms& realms, Metrics& metrics);
  ~Feed();
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  // Answers with a stream of the events after `wanted.since_seq` that match its filters.
  void open(HubRealm& realm, service::EventsCall wanted, const std::shared_ptr<http::Reply>& reply);
  // Something may have happened.
  void poke();
  // Ends every stream.
  void close();

  std::size_t streams() const;

 private:
  struct Stream {
    service::EventsCall wanted;  // from where on
    std::shared_ptr<http::Reply> reply;
    bool gone = false;
  };
  struct Source {
    std::uint64_t newest = 0;  // all before was seen
    std::list<std::shared_ptr<Stream>> streams;
  };

  void loop();
  bool advance(HubRealm& realm);
  bool catch_up(HubRealm& realm, Stream& stream, std::uint64_t newest);
  Result<std::vector<core::Event>> read(HubRealm& realm, const service::EventsCall& call) const;

  const HubRealms& realms_;
  Metrics& metrics_;
  mutable std::mutex mutex_;  // protects all below; the streams' positions are the thread's
  std::condition_variable changed_;
  std::map<HubRealm*, Source> sources_;
  std::size_t streams_ = 0;  // of all sources
  bool poked_ = false;
  bool ending_ = false;
  std::thread thread_;
};

// id, event and data of one event, as browsers read it.
std::string sse_text(const core::Event& event);

}  // namespace lockkeeper::hub
