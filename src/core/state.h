// The table's rows inside one transaction, as objects. Every change to a lease or a waiter goes
// through here, so that its record, its claims, its due row and its agent's counter always change
// together. Knows how rows belong together; knows no rule.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "core/encoding.h"
#include "core/rows.h"
#include "core/types.h"

namespace lockkeeper::core {

class State {
 public:
  // Both must outlive it.
  State(kv::Txn& txn, const Context& context)
      : txn_(txn), context_(context), single_writer_(txn.left().guards == SIZE_MAX) {}

  const Context& context() const { return context_; }
  kv::Txn& txn() { return txn_; }
  // Nobody else can write meanwhile (guards are not counted), so a peek is as good as a guard.
  bool single_writer() const { return single_writer_; }

  // A search reads far more than the decision depends on, and a commit takes a limited number of
  // guards. forget_reads() drops the guards of what was read since the mark; read again what the
  // decision needs. It invalidates pointers to leases that were read since.
  struct Mark {
    kv::Txn::GuardMark guards = 0;
    std::size_t leases = 0;
  };
  Mark mark() const { return {txn_.guard_mark(), read_.size()}; }
  void forget_reads(const Mark& since);

  // Null (nullopt): no such lease (waiter). Guarded. The pointer is valid until the lease changes.
  Result<const Lease*> lease(const LeaseId& id);
  Result<std::optional<Waiter>> waiter(const LeaseId& id);
  Result<void> guard(const LeaseId& id);  // whichever of the two it is

  // A new lease with all its rows. `lease.due_mono_ms` says when it must be looked at.
  Result<void> add_lease(const Lease& lease);
  // The same for a lease whose record is in the store but whose other rows may be missing.
  Result<void> restore_lease(const Lease& lease);
  // Rewrites the record and, if it moved, the due row. The claims stay as they are.
  Result<void> change_lease(const Lease& before, const Lease& after);
  // Takes one claim away from a lease that keeps others.
  Result<void> remove_claim(const Lease& before, std::size_t index, Lease& after);
  Result<void> remove_lease(const Lease& lease);

  Result<void> add_waiter(const Waiter& waiter);
  Result<void> refile_waiter(const Waiter& before, const Waiter& after);
  Result<void> remove_waiter(const Waiter& waiter);

  // An owner's leases, and the ids of its leases or waiters, in ticket order; checked against the
  // record's owner.
  Result<std::vector<Lease>> held_by(const Owner& owner);
  Result<std::vector<LeaseId>> leases_of(const Owner& owner);
  Result<std::vector<LeaseId>> waiters_of(const Owner& owner);
  // The waiters that wait for the sake of this owner's session, not counting its own.
  Result<std::vector<LeaseId>> waiters_of_parts(const Owner& whole,
                                                kv::Read read = kv::Read::kGuarded);
  // May an owner of this session, whatever its agent, have such a one? False: certainly not.
  Result<bool> session_has(Holding holding, const std::string& session);
  Result<std::vector<LeaseId>> children_of(const LeaseId& parent, std::size_t most);
  // The waiters filed under `blocker` after `after` (empty: from the first), in id order.
  Result<std::vector<LeaseId>> filed_under(const LeaseId& blocker, std::size_t most,
                                           const LeaseId& after = {});
  // True: certainly nothing is filed under it. False: look.
  Result<bool> nobody_under(const LeaseId& blocker);
  // How many claims the agent's leases and waiters have (see counter_key), and their ids. Peeks.
  Result<std::size_t> claims_counted(const Owner& owner);
  Result<std::vector<LeaseId>> ids_of_agent(Holding holding, const Owner& owner);

  // A claim row seen while looking for overlaps.
  struct Hit {
    LeaseId id;
    Mode mode;
    key::Resource resource;
    std::string witness;
    kv::Version created;  // of the claim, and so of its waiter
  };
  // Calls `visit` with every claim of that holding and mode that overlaps `resource`, or only with
  // those of one owner. limit_exceeded beyond rows_per_glob rows below one place.
  struct Look {
    Holding holding = Holding::kLease;
    Mode mode = Mode::kExclusive;
    const Owner* only_of = nullptr;
    kv::Read read = kv::Read::kGuarded;
    bool limited = false;  // by rows_per_glob: only for new requests, see find_conflicts()
  };
  Result<void> overlapping(const key::Resource& resource, Look look,
                           const std::function<void(Hit)>& visit);
  Result<bool> any_waiters();

  // What an owner of edits is doing on this boot. Guarded. Written with everything that is noted.
  Result<Activity> activity(const Owner& owner);
  Result<void> put_activity(const Owner& owner, Activity activity);

  Result<void> append(Event event);
  // `final`: for a request id whose lease has ended; it is forgotten when it becomes due.
  Result<void> file_due(std::int64_t mono_ms, Due what, std::string_view subject,
                        bool final = false);
  // What such a row says, and whether it is `final`.
  static bool is_final(const DueRow& due, std::string_view value);

 private:
  // A claim row, decoded.
  struct Claimed {
    LeaseId id;
    key::Resource resource;
    kv::Version created;
  };
  using SeeClaim = std::function<Result<void>(const Claimed&)>;
  // The rows of range_, until one fails.
  Result<void> scan_claims(kv::Read read, const SeeClaim& see);
  Result<void> compare(const key::Resource& resource, const Look& look, const Claimed& held,
                       const std::function<void(Hit)>& visit);
  Result<void> put_lease(const Lease& lease);
  std::string due_value(bool final) const;
  const key::Place& place_of(const key::Resource& resource);
  Result<void> put_claims(Holding holding, const Lease& lease, bool put);
  Result<std::size_t> own_counter(const std::string& key);
  Result<void> count_claims(const Owner& owner, std::int64_t change);
  Result<std::vector<LeaseId>> owned(char letter, const Owner& owner);
  Result<std::vector<LeaseId>> second_ids(char letter, const LeaseId& first, std::size_t most,
                                          const LeaseId& after);

  kv::Txn& txn_;
  const Context& context_;
  const bool single_writer_;
  std::map<LeaseId, std::optional<Lease>> leases_;  // read or written in this transaction
  std::vector<LeaseId> read_;                       // those read, in order; only for marks
  std::map<std::string, std::size_t> counters_;     // read or written in this transaction
  std::optional<bool> any_waiters_;
  // The place of the last resource: a claim is searched in both modes and then put.
  key::Resource placed_;
  std::optional<key::Place> place_;
  kv::Range range_;           // scratch
  std::size_t compared_ = 0;  // patterns, for limited looks
  // Ranges with a crowd of claims that were read once (then empty) or more often: thousands of
  // patterns of one folder must not read and decode one another again for each.
  static constexpr std::size_t kCrowd = 64;
  std::map<std::tuple<std::string, std::string, kv::Read>, std::vector<Claimed>> crowded_;
};

}  // namespace lockkeeper::core
