// The processes of this machine that keep leases on a hub: each has a number there. They are kept
// in a file, so that a relay that is started again knows them.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/folder.h"
#include "base/json.h"
#include "base/random.h"
#include "core/hold.h"
#include "host/live_slots.h"

namespace lockkeeper::relay {

// As service/wire writes it.
Json json_of(const core::Attachment& attachment);

class Tenants {
 public:
  // `folder`: the relay's. Reads what an earlier relay has left. `random` must outlive it.
  static Result<std::unique_ptr<Tenants>> open(const std::string& folder, Random& random);

  // Of the session with the hub: 32 hexadecimal digits.
  std::string session() const;
  bool must_begin() const;  // no beat of it has been answered yet

  // The number of that process: its own, or a new one that begins with the person's mark. It is on
  // record before this returns.
  Result<std::uint64_t> number_of(const core::Attachment& attachment, std::uint64_t mark);

  // In an answer of the hub: the processes of this machine as they are known here.
  std::string with_processes(std::string answer) const;

  // Asks the kernel about each. True: somebody has died since.
  bool look();
  struct Report {
    std::string session;
    bool begins = false;  // must_begin()
    std::vector<std::uint64_t> living;
    std::vector<std::uint64_t> gone;  // not yet acknowledged
  };
  Report report() const;
  // A beat of that session was answered. On record before this returns: nobody is attached under a
  // session that may still have to begin.
  Result<void> begun(const std::string& session);
  // The hub has nothing of that session any more, says the answer to a beat that was written then.
  // Draws another one, which is on record before this returns. Only those that are still on their
  // way move on: they were not confirmed by that time, and no earlier relay brought them.
  Result<void> lose_session(const std::string& session, std::int64_t written_ms);
  // The hub has heard of these.
  void acknowledge(const std::vector<std::uint64_t>& gone);
  // The hub has answered a call that brought these.
  void confirm(const std::vector<std::uint64_t>& numbers, std::int64_t now_ms);
  // The hub takes these for dead, says the answer to a beat that was written then. Those that it
  // had not confirmed by that time are kept: the beat may have been faster than the call.
  void drop(const std::vector<std::uint64_t>& numbers, std::int64_t written_ms);
  void forget();       // all of them: the hub will never hear of them
  bool empty() const;  // nobody lives, and nothing is left to tell

 private:
  Tenants(Folder folder, Random& random) : folder_(std::move(folder)), random_(random) {}
  Result<void> load();
  Result<void> save() const;
  bool is_dead(const core::Attachment& attachment);
  bool was_confirmed(std::uint64_t number, std::int64_t written_ms) const;

  const Folder folder_;
  Random& random_;
  mutable std::mutex mutex_;  // protects what is below
  std::string session_;
  bool begun_ = false;
  std::map<core::Attachment, std::uint64_t> numbers_;
  std::map<std::uint64_t, std::int64_t> confirmed_ms_;  // when, by number
  std::set<std::uint64_t> inherited_;                   // from an earlier relay
  std::set<std::uint64_t> gone_;
  std::optional<host::LiveSlots> slots_;
};

}  // namespace lockkeeper::relay
