// What a hub whose table several hubs serve knows of itself and of the others (core/presence.h):
// the sessions that it keeps, with their rows in the store, and the row that says that it is there.
//
// It keeps the session of a relay from a beat on until it has heard no other for a minute; then it
// ends it, unless the relay has gone on to another hub. Its own session is that of clients without
// a relay. That one outlives the hub's process: a hub that is back soon goes on with it.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "core/hold.h"
#include "core/requests.h"
#include "service/site.h"

namespace lockkeeper::hub {

struct KnownHub {
  std::uint64_t id = 0;  // no other hub has it
  std::string machine;
  std::string address;  // as clients call it; empty: it has just begun
};

class Presence {
 public:
  // All must outlive it. Its own session is noted in the realm's store folder.
  Presence(service::Site& site, const Clock& clock, Random& random, KnownHub self);

  // Before anything else, and then about once a second: its own rows are there. Sessions that
  // nobody speaks for any more are ended, and so are the places of clients that have not come back
  // within a minute. `address`: see KnownHub.
  Result<void> keep_up(const std::string& address);
  // Nobody shall see this hub any more. What it keeps stays for those who go on elsewhere.
  void leave();

  // The number of a relay's session in the store.
  static std::uint64_t row_of(const std::string& person, const std::string& session);
  // A beat has come: from now on this hub keeps the session. `begins`: it is a new one. False: it
  // has gone, and everything that its processes kept.
  Result<bool> keep(std::uint64_t session, bool begins);
  Result<bool> is_there(std::uint64_t session);

  // Since when this hub has kept that session; nullopt: it does not, as far as it knows.
  std::optional<std::int64_t> kept_since(std::uint64_t session) const;
  // Its row, as this hub has put it; of no version if it does not keep it.
  core::SessionSeen seen(std::uint64_t session) const;
  std::uint64_t own() const;
  core::Attachment in_own_session(std::uint64_t number) const {
    return core::Attachment::remote(number, own());
  }
  // A process of this hub's machine that has a slot, as the other hubs shall know it.
  core::Attachment in_own_session(const core::Attachment& process) const;
  // The same back: does it live? nullopt: that is no such process.
  std::optional<core::Alive> probe(const core::Attachment& client) const;

  std::uint64_t id() const { return self_.id; }
  // Those that serve the table now, or did a moment ago.
  Result<std::vector<KnownHub>> hubs();

 private:
  struct Kept {
    std::int64_t since_ms = 0;
    std::int64_t heard_ms = 0;
    kv::Version version = 0;  // of the row
  };
  std::int64_t now_ms() const { return clock_.now().mono_ms; }
  Result<void> begin_own();
  Result<bool> is_mine(std::uint64_t session);
  Result<void> show(const std::string& address);
  Result<void> end_silent();
  Result<void> bury_lost_waiters();

  service::Site& site_;
  const Clock& clock_;
  Random& random_;
  const KnownHub self_;
  mutable std::mutex mutex_;     // protects all below
  std::uint64_t own_ = 0;        // 0: it has none yet
  std::int64_t buried_ms_ = -1;  // since when its own session was kept, when it last buried
  std::map<std::uint64_t, Kept> kept_;
};

}  // namespace lockkeeper::hub
