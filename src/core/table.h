// The lock table: every operation on it. Each runs inside one transaction that the caller begins
// and commits. README.md beside this file has the numbered rules.
//
//   kv::Txn& txn = …;                         // begun for writing
//   Table table(txn, context);
//   auto reply = table.acquire(request);      // reads and writes rows
//   auto done = txn.commit();                 // kConflict: start over with a new transaction
//   reply->stamp(done->version);              // fences exist only now
//   wake(table.wake());                       // hints, after the commit
//
// Nothing here reads a clock, a process or a random number. They come in through the context, so a
// run can be repeated exactly. A refusal is a value, not an error. After an error the caller drops
// the transaction, and nothing has changed.
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
      : prober_(*context.prober), context_(context), state_(txn, context_), settler_(state_) {
    context_.prober = &prober_;
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  // Rules 1 to 4, 6, 11, 12. Errors: limit_exceeded; lost (the lease of this request id has ended,
  // or the lease to work under is not current); invalid_input (other arguments under this id).
  Result<AcquireReply> acquire(const AcquireRequest& request);

  // A waiter calls this when it wakes, and every second. kGranted: and now confirmed, unless it
  // only looks. kQueued: with what it waits for now. kDeadlock: a cycle shows only now, and the
  // waiter has left the queue. Error lost: neither waiter nor lease any more.
  enum class Poll { kConfirms, kLooks };
  Result<AcquireReply> poll(const LeaseId& id, Poll how = Poll::kConfirms);
  // From now on it is this process that waits; the place stays. False: it does not wait any more.
  Result<bool> move_waiter(const LeaseId& id, const Attachment& process, std::uint64_t wake);
  // That process has died. What it waited for, and was handed and has not confirmed, goes on to
  // others; nothing happens if another process waits by now.
  Result<void> bury_waiter(const LeaseId& id, const Attachment& process);
  // Leaves the queue. If the request was granted meanwhile, the grant stays and is the answer.
  Result<AcquireReply> cancel(const LeaseId& id, const std::string& cause);

  // Rule 4. Releases only what `owner` holds, and names the others that hold exactly that key. Ends
  // a lease whoever keeps it; those that keep it beside `by` can find out (lost()).
  Result<ReleaseReply> release(const Owner& owner, const std::vector<key::Resource>& resources,
                               const Attachment& by = {});
  Result<ReleaseReply> release_leases(const Owner& owner, const std::vector<LeaseId>& ids,
                                      const Attachment& by = {});
  // Rule 7. `by` no longer keeps them; whatever nobody else keeps ends. Leases that are gone, or
  // that `by` does not keep, stay as they are. `released` lists what has ended.
  Result<ReleaseReply> give_back(const Owner& owner, const std::vector<LeaseId>& ids,
                                 const Attachment& by);

  // Never shortens. nullopt keeps each lease's ttl. Errors: not_found, not_owner, lost. A reclaimed
  // orphan is bound to `attachment`.
  Result<std::vector<Lease>> renew(const Owner& owner, const std::vector<LeaseId>& ids,
                                   std::optional<std::int64_t> ttl_ms,
                                   const Attachment& attachment);

  // Rule 16: what became of an owner's calls. Ends and hands on its edits.
  Result<ReportReply> report(const ReportRequest& request);

  // Changes nothing; a read transaction is enough. `fence`: 0 for none. `under` as in acquire.
  // Leases granted in one commit share their fence. `whose` says which lease with that fence
  // counts: nullopt: any; an empty id: one on the requester's side; otherwise that lease alone.
  Result<CheckReply> check(const AcquireRequest& request, std::uint64_t fence,
                           const std::optional<LeaseId>& whose = std::nullopt);

  // Ends others' leases on record. Returns the broken leases.
  Result<std::vector<Lease>> break_leases(const BreakRequest& how, const std::vector<LeaseId>& ids);

  // Records that their processes are gone (rule 8); ends those that are over.
  Result<void> note_deaths(const std::vector<LeaseId>& ids);

  // Ends what is due, continues unfinished handoffs, forgets old history. True: call again.
  Result<bool> maintain(std::size_t most);

  // The leases that the owner lost and has not been told of yet; marks them as told.
  Result<std::vector<LostLease>> take_lost_notices(const Owner& owner);
  Result<bool> has_lost_notices(const Owner& owner);  // peeks; a read transaction will do
  Result<std::optional<LostLease>> lost(const LeaseId& id);

  Result<std::vector<LeaseId>> holders_of(const key::Resource& resource);  // of exactly this key
  Result<std::size_t> depth_of(const LeaseId& id);  // how many leases it lies in (rule 11)
  State& state() { return state_; }
  Settler& settler() { return settler_; }

  const std::vector<std::uint64_t>& wake() const { return settler_.wake(); }

 private:
  Result<AcquireReply> decide(const AcquireRequest& request);
  Result<std::optional<AcquireReply>> replay(const AcquireRequest& request);
  Result<Lease> draft(const AcquireRequest& request);
  Result<std::optional<AcquireReply>> renew_exact(const AcquireRequest& request, const Lease& draft,
                                                  const Findings& findings);
  Result<void> check_depth(const LeaseId& parent);
  Result<void> add_hold(const AcquireRequest& request, Lease& lease);
  bool too_full(const State::Mark& since);
  Result<bool> clear_the_way(const Lease& lease, Findings& findings, const State::Mark& before);
  Result<bool> reap_all(const Findings& findings, bool& full);
  Result<AcquireReply> resume(const AcquireRequest& request, Waiter waiter);
  Result<void> refile(const Waiter& before, Waiter after, const Attachment& process);
  Result<AcquireReply> grant(const AcquireRequest& request, Lease lease);
  Result<AcquireReply> refuse(const Lease& draft, Findings findings);
  Result<AcquireReply> enqueue(const AcquireRequest& request, Lease draft, Findings findings);
  Result<AcquireReply> confirm(const Lease& lease);
  Result<void> inner_first(std::vector<Lease>& leases);
  Result<std::vector<Lease>> own_leases(const Owner& owner, const std::vector<LeaseId>& ids);
  Result<void> release_one(const Lease& lease, const Attachment& by);
  Result<void> release_part(const Lease& lease, const key::Resource& resource);
  Result<void> release_resource(const Owner& owner, const key::Resource& resource,
                                const Attachment& by, ReleaseReply& reply);
  Result<bool> check_quota(const Lease& lease, const State::Mark& since);
  Result<std::vector<LostLease>> untold_losses(const Owner& owner, std::size_t most);
  Result<void> note_begun(const Owner& owner, const std::vector<std::string>& calls,
                          const std::string& worktree);
  Result<void> note_part(const Owner& owner);
  Result<void> begin_on(Lease& edit, const std::string& call);
  Result<void> wake_waiting_of(const Owner& owner);
  Result<void> report_all(const ReportRequest& request, ReportReply& reply);
  Result<void> report_edits(const ReportRequest& request, ReportReply& reply);
  Result<bool> pass_on(const Lease& edit, const Owner& whole);
  Result<bool> take_over(Lease& leaving, const Owner& whole);
  Result<void> remember_request(const AcquireRequest& request, const LeaseId& id);

  const OneLook prober_;
  Context context_;  // its ticket grows with each grant: one transaction may make several
  State state_;
  Settler settler_;
};

}  // namespace lockkeeper::core
