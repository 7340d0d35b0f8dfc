// Requests of the hub's clients that are in the queue. One thread watches them all; nobody has a
// thread of its own.
//
// A client asks for the outcome again and again. A closed connection is a lost one: while nobody
// asks, the place in the queue is kept for a minute, and so is a lease that was handed over. Nobody
// else confirms that. The table knows a waiting client by the number of its wait
// (core::Attachment::remote), so that places outlive the hub: the first minute after a start
// belongs to those who come back.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "hub/hub_realms.h"
#include "service/service.h"

namespace lockkeeper::hub {

inline constexpr std::int64_t kKeptMs = 60'000;

struct Wait {
  HubRealm* realm = nullptr;
  service::Caller caller;
  core::LeaseId id;
  std::uint64_t number = 0;                   // its word on the wake board, and of its attachment
  std::optional<std::int64_t> until_ms = {};  // on the clock that only goes forward
};

class Waits {
 public:
  using Outcome = Result<service::AcquireResult>;
  using Then = std::function<void(const Outcome&)>;

  explicit Waits(const Clock& clock);
  ~Waits();
  Waits(const Waits&) = delete;
  Waits& operator=(const Waits&) = delete;

  // Before the request: from now on its number lives. Followed by add() or forget().
  void announce(std::uint64_t number);
  void forget(std::uint64_t number);
  // One of that id whose client has asked again goes on under the new number.
  void add(Wait wait);

  // nullopt: there is none of that id.
  std::optional<Wait> find(const core::LeaseId& id) const;
  // `then` is called once, from any thread: with the outcome, or with kQueued after `at_most_ms`.
  // Returns a number for gone(): its client is not there any more. nullopt: there is none of that
  // id, and `then` is not called. `looks`: as in service::AwaitCall.
  std::optional<std::uint64_t> ask(const core::LeaseId& id, std::int64_t at_most_ms, Then then,
                                   bool looks = false);
  void gone(std::uint64_t asker);
  // It leaves the queue. The answer is `why`, unless it was granted before. Without an owner in the
  // call, whoever waits is meant.
  Outcome leave(const service::LeaveCall& call);

  // The client of that number has died. If it is in the queue, the table finds it dead from now on.
  void died(std::uint64_t number);

  // For the table: does that client live? Never blocks for long.
  core::Alive alive(std::uint64_t number) const;
  // The same; nullopt: it is not one that is known here.
  std::optional<core::Alive> seen(std::uint64_t number) const;
  // These were granted, perhaps: look at them now.
  void woken(const std::vector<std::uint64_t>& words);
  // The rows of these have changed, by whatever hub.
  void changed(const std::vector<core::LeaseId>& ids);
  // Answers everybody that asks with kQueued; places stay.
  void close();

  std::size_t count() const;

 private:
  struct Asker {
    std::uint64_t number = 0;
    std::int64_t until_ms = 0;
    bool looks = false;
    Then then;
  };
  struct Entry {
    Wait wait;
    std::optional<Outcome> outcome;  // decided, and nobody has asked since
    service::AcquireResult last;     // while it is in the queue
    std::vector<Asker> askers;
    std::int64_t contact_ms = 0;  // when the last asker went
    bool handed = false;          // an asker that looks was told that it is granted
    bool busy = false;            // the thread, or leave(), is at it
  };
  using Entries = std::map<core::LeaseId, std::shared_ptr<Entry>>;

  std::int64_t now_ms() const { return clock_.now().mono_ms; }
  static bool is_shared(const Entry& entry);
  void loop();
  void look(const std::shared_ptr<Entry>& entry);
  std::pair<Wait, bool> wait_of(const Entry& entry) const;
  void remove(const Entry& entry);
  bool is_due(const Entry& entry, std::int64_t now) const;
  void handed_over(const std::shared_ptr<Entry>& entry, service::AcquireResult result);
  void decided(const std::shared_ptr<Entry>& entry, Outcome outcome);
  void give_up(const std::shared_ptr<Entry>& entry);
  void bury(const std::shared_ptr<Entry>& entry, const Wait& wait);
  void forget(const std::shared_ptr<Entry>& entry, const core::LeaseId& id);

  const Clock& clock_;
  const std::int64_t started_ms_;
  mutable std::mutex mutex_;  // protects all below, including the entries
  std::condition_variable changed_;
  Entries entries_;
  std::map<std::uint64_t, core::LeaseId> ids_;  // by number
  std::map<std::uint64_t, std::int64_t> announced_;
  std::map<std::uint64_t, std::int64_t> dead_;  // since when; for as long as a handoff is kept
  std::set<std::uint64_t> woken_;
  std::uint64_t askers_ = 0;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace lockkeeper::hub
