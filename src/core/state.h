// The table's rows inside one transaction, as objects. Every change to a lease or a waiter goes
// through here, so that its record, its claims, its due row and its agent's counter always change
// together. Knows how rows hang together; knows no rule.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "core/record.h"
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
  // Where guards are not counted nobody else can write meanwhile: a peek is as good as a promise.
  bool single_writer() const { return single_writer_; }

  // A search reads far more than what is decided in the end depends on, and a commit takes only so
  // many guards. What was read since a mark is forgotten, so that it counts no more, and what is
  // needed of it is read again. Pointers to leases that were read since are void.
  struct Mark {
    kv::Txn::GuardMark guards = 0;
    std::size_t leases = 0;
  };
  Mark mark() const { return {txn_.guard_mark(), read_.size()}; }
  void forget_reads(const Mark& since);

  // nullopt: no such lease (waiter). Guarded. The pointer lives until that lease changes.
  Result<const Lease*> lease(const LeaseId& id);
  Result<std::optional<Waiter>> waiter(const LeaseId& id);

  // A new lease with all its rows. `lease.due_mono_ms` says when it must be looked at.
  Result<void> add_lease(const Lease& lease);
  // The same for one that is in the store already, whatever is missing beside it (mend()).
  Result<void> restore_lease(const Lease& lease);
  // Rewrites the record and, if it moved, the due row. The claims stay as they are.
  Result<void> change_lease(const Lease& before, const Lease& after);
  // Takes one claim away from a lease that keeps others.
  Result<void> remove_claim(const Lease& before, std::size_t index, Lease& after);
  Result<void> remove_lease(const Lease& lease);

  Result<void> add_waiter(const Waiter& waiter);
  Result<void> refile_waiter(const Waiter& before, const Waiter& after);
  Result<void> remove_waiter(const Waiter& waiter);

  // Ids of an owner's leases or waiters, in ticket order; verified against the record's owner.
  Result<std::vector<LeaseId>> leases_of(const Owner& owner);
  Result<std::vector<LeaseId>> waiters_of(const Owner& owner);
  Result<std::vector<LeaseId>> children_of(const LeaseId& parent, std::size_t most);
  // In id order, those after `after` (empty: from the first).
  Result<std::vector<LeaseId>> filed_under(const LeaseId& blocker, std::size_t most,
                                           const LeaseId& after = {});
  // True: certainly nobody is filed under it, and nobody needs to look again. False: look.
  Result<bool> nobody_under(const LeaseId& blocker);
  // Claims of the agent's leases and waiters (see counter_key), and whose claims those are, peeked
  // at.
  Result<std::size_t> claims_counted(const Owner& owner);
  Result<std::vector<LeaseId>> ids_of_agent(Holding holding, const Owner& owner);

  // A claim row seen while looking for overlaps.
  struct Hit {
    LeaseId id;
    Mode mode;
    key::Resource resource;
    std::string witness;
    kv::Version created;  // of the claim, hence of its waiter
  };
  // Calls `visit` with every claim of that holding and mode which overlaps `resource`, optionally
  // only those of one owner. limit_exceeded beyond rows_per_glob rows below one place.
  struct Look {
    Holding holding = Holding::kLease;
    Mode mode = Mode::kExclusive;
    const Owner* only_of = nullptr;
    kv::Read read = kv::Read::kGuarded;
    bool limited = false;  // by rows_per_glob: for new requests alone, see find_conflicts()
  };
  Result<void> overlapping(const key::Resource& resource, Look look,
                           const std::function<void(Hit)>& visit);
  Result<bool> any_waiters();

  Result<void> append(Event event);
  // `final`: of a request id whose lease has ended; it is forgotten when the time has come.
  Result<void> file_due(std::int64_t mono_ms, Due what, std::string_view subject,
                        bool final = false);

 private:
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
  std::map<std::string, std::size_t> counters_;     // likewise
  std::optional<bool> any_waiters_;
  // Of the resource looked at last: a claim is looked for in both modes and then put.
  key::Resource placed_;
  std::optional<key::Place> place_;
  kv::Range range_;  // scratch
};

}  // namespace lockkeeper::core
