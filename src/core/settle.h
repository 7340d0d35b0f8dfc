// How things end, and what follows: every end of a lease or a waiter grants the waiters that now
// fit, in the same commit (rule 5). A waiter is filed under one blocker and evaluated again only
// when that blocker ends, so a handoff costs the same however long the queue is.
//
// Why nobody is forgotten: a waiter is filed under something that conflicts with it, a lease or an
// earlier waiter. A waiter that is granted keeps its id, so its followers are now filed under its
// lease. Whatever ends puts its followers on this commit's list. If the commit is full, a due row
// remembers the rest, and the next commit, whoever makes it, continues there.
#pragma once

#include <string>
#include <vector>

#include "core/conflicts.h"

namespace lockkeeper::core {

// The result of consider(). kTooLarge: granting it takes more guards than this commit has left;
// nothing was changed. kLater: something in its way was ended, which others before it may wait for;
// decide after the next settle().
enum class Considered : std::uint8_t { kGranted, kStays, kTooLarge, kLater };

class Settler {
 public:
  explicit Settler(State& state) : state_(state) {}

  // Ends the lease with its children, on record, and puts its followers on the list.
  // `lost`: against the holder's will; remembered so that the holder can be told (I7).
  Result<void> end(const Lease& lease, const EndedBy& how, bool lost);
  Result<void> end_over(const Lease& lease, const Condition& condition);
  Result<void> drop(const Waiter& waiter, const std::string& event, const std::string& cause);

  // The lease lost a claim, so its followers may fit now. Counts as an end, because the events of
  // one commit are limited.
  void shrunk(const LeaseId& id) {
    ended_.push_back({id, false, true, {}});
    ++ends_;
  }

  // Another lease now covers what this one did: its followers are evaluated again.
  void followers_of(const LeaseId& id) { ended_.push_back({id, false, false, {}}); }

  // Ends the lease (waiter) if it is over, or records that it is orphaned. True: something changed.
  Result<bool> reap(const LeaseId& id);
  Result<bool> reap_waiter(const LeaseId& id);

  // Ends the edits in its way, which all give way to whoever asks (rule 16).
  Result<void> make_way(const std::vector<Conflict>& conflicts, const Owner& asker);

  // Ends what is due and continues unfinished handoffs, at most `most` due rows. True: there may be
  // more.
  Result<bool> sweep(std::size_t most);
  // Where several machines write: the same for what others' clocks have filed, once a second. Looks
  // at all of those rows, some thousands in one call.
  Result<bool> walk(std::size_t most);

  // Hands off until the list is empty or this commit is full. Call before committing.
  Result<void> settle();
  // Or hands off nothing: whoever comes next does it, and those who wait are woken for that.
  Result<void> leave_to_next();

  // Grants the waiter if nothing conflicts with it any more, otherwise files it under a conflict.
  // `queue_matters`: earlier waiters may still stand before it.
  Result<Considered> consider(const LeaseId& id, bool queue_matters);

  // Wakes the owner's other waiters, because it was granted this lease.
  Result<void> wake_waiting(const Lease& granted);

  // Is there room in this commit for one more end or grant?
  bool room_left() const;
  // Are there guards for the few reads that come with any decision?
  bool spare_left() const;
  // Does this commit do anything yet? What does not fit into it may fit into one of its own.
  bool worked() const { return changed_ || grants_ + ends_ > 0; }

  // Words to wake after the commit.
  const std::vector<std::uint64_t>& wake() const { return wake_; }

 private:
  struct Ended {
    LeaseId id;
    bool in_order = false;    // a lease that overtook nobody: earlier conflicts were done before it
    bool still_held = false;  // it only shrank: its followers may stay
    LeaseId after;            // of the followers that may stay, the last one evaluated
  };
  // A follower that rule 2 lets pass earlier waiters. These may fit now too, so it is evaluated
  // after all that are on the list, and those like it in queue order.
  struct Passing {
    kv::Version created = 0;
    LeaseId id;
    Ended under;
  };
  Result<void> wake_waiter(const LeaseId& id);
  Result<void> hand_off(const Ended& ended);
  Result<void> serve_passing();
  Result<void> end_children(const LeaseId& parent);
  Result<void> grant(const Waiter& waiter);
  Result<void> handle_all(const std::vector<std::string>& keys);
  Result<void> handle_due(const std::string& key);
  Result<void> handle_due_lease(const DueRow& due, const std::string& key);
  Result<void> handle_due_kept(const DueRow& due, const std::string& key);
  Result<void> forget(const DueRow& due, const std::string& key, bool final);
  Result<void> continue_later(const Ended& ended);

  State& state_;
  std::vector<Ended> ended_;
  std::size_t settled_ = 0;  // how many of them are done
  std::vector<Passing> passing_;
  std::vector<std::uint64_t> wake_;
  std::size_t grants_ = 0;
  std::size_t ends_ = 0;
  bool changed_ = false;  // anything besides
};

// Keeps the lost lease for a day, so that its holder can be told. note_loss(): so that those that
// know its id find out; its owner need not be told.
Result<void> remember_lost(State& state, const Lease& lease, const EndedBy& how);
Result<void> note_loss(State& state, const Lease& lease, const EndedBy& how);

// What to file a waiter under: the latest earlier waiter in its way, or a lease if there is none.
// The commit that files it must guard the blocker.
struct Blocker {
  LeaseId id;
  bool alone = false;
};
Result<Blocker> choose_blocker(const State& state, const std::vector<Conflict>& conflicts);

}  // namespace lockkeeper::core
