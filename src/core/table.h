// The lock table: every operation on it, each inside one transaction that the caller begins and
// commits. The rules are numbered in README.md beside this file.
//
//   kv::Txn& txn = …;                         // begun for writing
//   Table table(txn, context);
//   auto reply = table.acquire(request);      // reads and writes rows
//   auto done = txn.commit();                 // kConflict: start over with a new transaction
//   reply->stamp(done->version);              // fences exist only now
//   wake(table.wake());                       // hints, after the commit
//
// Nothing here looks at a clock, a process or a random number: they come in through the context,
// so a run can be repeated exactly. A refusal is a value, not an error; an error means that the
// transaction must be dropped, and then nothing has changed.
//
// Thread safety: none; a Table lives as long as its transaction.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/requests.h"
#include "core/settle.h"

namespace lockkeeper::core {

class Table {
 public:
  Table(kv::Txn& txn, const Context& context)
      : context_(context), state_(txn, context_), settler_(state_) {}

  // Rules 1 to 4, 6, 11, 12. limit_exceeded, lost (a request id whose lease has ended, a lease to
  // work under that is not current), invalid_input (other arguments under a known request id).
  Result<AcquireReply> acquire(const AcquireRequest& request);

  // What a waiter does when it wakes or every second: granted (and with that confirmed), still
  // queued with what it waits for now, or lost if it is neither waiter nor lease any more. A cycle
  // that only shows now is `deadlock`, and the waiter has left the queue.
  Result<AcquireReply> poll(const LeaseId& id);
  // Leaves the queue. If it was granted meanwhile, that grant stands and is the answer.
  Result<AcquireReply> cancel(const LeaseId& id, const std::string& cause);

  // Rule 4. Only what `owner` holds is released; what others hold under exactly that key is named.
  Result<ReleaseReply> release(const Owner& owner, const std::vector<key::Resource>& resources);
  Result<ReleaseReply> release_leases(const Owner& owner, const std::vector<LeaseId>& ids);

  // Never shortens; ttl_ms as in AcquireRequest, nullopt keeps each lease's length. not_found,
  // not_owner, lost. A reclaimed orphan is bound to `attachment`.
  Result<std::vector<Lease>> renew(const Owner& owner, const std::vector<LeaseId>& ids,
                                   std::optional<std::int64_t> ttl_ms,
                                   const Attachment& attachment);

  // Changes nothing; a read transaction will do. `fence`: 0 for none. `under` as in acquire.
  Result<CheckReply> check(const AcquireRequest& request, std::uint64_t fence);

  // Ends others' leases on record; gives what was broken.
  Result<std::vector<Lease>> break_leases(const BreakRequest& how, const std::vector<LeaseId>& ids);

  // Ends what is due, goes on with handoffs left over, forgets old history. True: call again.
  Result<bool> maintain(std::size_t most);

  // Leases of the owner that it lost and has not been told of yet; marks them as told.
  Result<std::vector<LostLease>> take_lost_notices(const Owner& owner);
  Result<bool> has_lost_notices(const Owner& owner);  // peeks; a read transaction will do
  Result<std::optional<LostLease>> lost(const LeaseId& id);

  Result<std::vector<LeaseId>> holders_of(const key::Resource& resource);  // of exactly this key
  State& state() { return state_; }
  Settler& settler() { return settler_; }

  const std::vector<std::uint64_t>& wake() const { return settler_.wake(); }

 private:
  Result<AcquireReply> decide(const AcquireRequest& request);
  Result<std::optional<AcquireReply>> replay(const AcquireRequest& request);
  Result<Lease> draft(const AcquireRequest& request);
  Result<std::optional<AcquireReply>> renew_exact(const AcquireRequest& request, const Lease& draft,
                                                  const Findings& findings);
  bool too_full(const State::Mark& since);
  Result<bool> reap_all(const Findings& findings, bool& full);
  Result<AcquireReply> resume(const AcquireRequest& request, Waiter waiter);
  Result<AcquireReply> grant(const AcquireRequest& request, Lease lease);
  Result<AcquireReply> refuse(const Lease& draft, Findings findings);
  Result<AcquireReply> enqueue(const AcquireRequest& request, Lease draft, Findings findings);
  Result<AcquireReply> confirm(const Lease& lease);
  Result<bool> check_quota(const Lease& lease, const State::Mark& since);
  Result<std::vector<LostLease>> untold_losses(const Owner& owner, std::size_t most);
  Result<void> remember_request(const AcquireRequest& request, const LeaseId& id);

  Context context_;  // its ticket grows with each grant: one transaction may make several
  State state_;
  Settler settler_;
};

}  // namespace lockkeeper::core
