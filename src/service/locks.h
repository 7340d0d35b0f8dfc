// The verbs, once. Every door (command line, MCP, HTTP, hooks) fills in one of these commands,
// calls the one method and prints the reply. Locks turns words into resources, asks the lock
// service (service.h) in one owner's name, and waits for it.
//
// A refusal (held, deadlock, timeout) is a reply. An Error means that nothing was done, except for
// `unknown`, where it cannot be told (I9). For one thread at a time: each makes a copy.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "realm/identity.h"
#include "service/commands.h"
#include "service/remarks.h"
#include "service/site.h"

namespace lockkeeper::service {

class Locks {
 public:
  // `site` must outlive it.
  Locks(Site& site, const core::Owner& owner, ParentLease parent = {})
      : site_(&site), owner_(site.known_as(owner)), parent_(std::move(parent)) {}

  // The same for a part of this owner's session (core/sessions.h): what it takes is its own, and
  // what this owner holds is not in its way.
  Locks part(const std::string& name) const;

  const core::Owner& owner() const { return owner_; }
  Site& site() const { return *site_; }

  // Looks at the disk. Questions about the same words can share the answer.
  Result<Resolved> resolve(const Wanted& wanted) const;

  Result<AcquireResult> acquire(const AcquireCommand& command);
  // What acquire() and log() ask the service for, for doors that wait in their own way.
  Result<AcquireCall> call(const AcquireCommand& command, std::vector<std::string>& warnings) const;
  Result<EventsCall> call(const LogCommand& command) const;
  // All in one commit, or none: then every result is a refusal, or would have been granted alone
  // and says kHeld without conflicts. Nobody waits. One result for each member, in their order.
  Result<std::vector<AcquireResult>> acquire_together(const std::vector<Member>& members);
  Result<core::ReleaseReply> release(const ReleaseCommand& command);
  // `by` no longer keeps the lease. It ends, unless others keep it (rule 7).
  Result<core::ReleaseReply> give_back(const core::LeaseId& id, const core::Attachment& by);
  Result<std::vector<core::Lease>> renew(const RenewCommand& command);
  Result<core::CheckReply> check(const CheckCommand& command);
  Result<core::CheckReply> check(const CheckCommand& command, const Resolved& resolved);
  Result<std::vector<core::Lease>> break_leases(const BreakCommand& command);
  // Edits of coding agents (edit_calls.h). What became of this owner's calls; what others have
  // changed without its knowledge; what a look at the disk is compared with; what is safe now.
  Result<core::ReportReply> report(const core::ReportRequest& report);
  Result<std::vector<core::Trace>> unseen(const std::string& worktree,
                                          const std::vector<std::string>& paths);
  Result<LookReply> look(const std::string& worktree);
  Result<std::vector<core::RunningCall>> own_calls();
  Result<std::optional<core::Owner>> owner_of_call(const std::string& id);
  Result<std::vector<core::Trace>> traces(const std::string& worktree,
                                          const std::vector<std::string>& paths);
  Result<void> forget(const std::string& worktree, const std::vector<std::string>& paths);
  Result<void> put_away(const std::string& worktree, const std::vector<core::Change>& clean);
  // Without leases that are over: whoever asks for what they held gets it.
  Result<ListReply> list(const ListCommand& command);
  Result<std::vector<core::Event>> log(const LogCommand& command);
  // Ends what is over, forgets what is old; `history` forgets all events.
  Result<void> purge(bool history);

  // Reads the disk and, where repositories lie inside each other, their tables. `names`: looks for
  // names that nothing has yet, too. `starter`: who is known to have started this owner, besides
  // the owner of the lease that it works under.
  Remarks remarks(const Wanted& wanted, const Resolved& resolved, bool names = true,
                  core::Owner starter = {}) const;
  // What speaks against asking for it, in sentences: how a word is spelled, rules that refuse it.
  std::vector<std::string> doubts(const Resolved& resolved) const;
  // By canonical text, what was typed for it (Names::typed).
  std::map<std::string, std::string> typed(const Wanted& wanted) const;
  // After a release in vain: see own_outer_lease(). Empty: none.
  std::string own_outside(const Wanted& wanted) const;

  // Makes another tool's lock ours: its artefact's path, or a resource that it holds. Its claims
  // become a lease of this owner, taken through the same layout.
  Result<AcquireResult> adopt(const Wanted& wanted, const AcquireCommand& how);
  // Brings what other tools have changed into the table. For callers that hold or wait: once a
  // second. Does nothing where the realm has no layouts.
  Result<void> scan_layouts();

  // From now on this comes along with the replies of the owner's verbs. notices() gives what came,
  // and asks for it if no reply has brought it; it counts as told.
  void tell_along(const Tell& wanted) { tell_ = wanted; }
  Result<Notices> notices();

  // Leases that the owner lost and was not told of yet; they count as told now. The replies of
  // acquire carry them, too.
  Result<std::vector<core::LostLease>> take_lost_notices();
  // Have earlier processes of this session left leases behind that it may still take back (rule 8)?
  Result<bool> has_orphans();
  // Binds them to a living process.
  Result<void> reclaim(const core::Attachment& attachment);
  // Ends what is due, then reclaims, and gives the losses that the owner was not told of.
  Result<std::vector<core::LostLease>> resume_session(const core::Attachment& attachment);

  // Is this lease current: alive, not over, with this fence? (I4)
  Result<bool> is_current(const core::LeaseId& id, std::uint64_t fence);

 private:
  // Whole ids, or a part of one, at its beginning or end, that only one lease has.
  Result<std::vector<core::LeaseId>> find_ids(const std::vector<std::string>& texts);
  Result<core::LeaseId> find_id(const std::string& part);
  // For each word what is held of it, by `owner` or by anybody; the first of it if nothing is.
  Result<std::vector<key::Resource>> held_of(const Resolved& resolved,
                                             const std::optional<core::Owner>& owner);
  Caller caller() const;
  // The value of the reply. Its notices are kept for messages().
  template <typename T, typename Call>
  Result<T> ask(Result<Reply<T>> (Service::*method)(const Call&), const Call& call);
  Result<AcquireResult> wait(Service& service, const AcquireCommand& command, std::int64_t began_ms,
                             Reply<AcquireResult> queued);
  void note_grant(const AcquireCommand& command, const AcquireResult& result) const;

  Site* site_;
  core::Owner owner_;
  ParentLease parent_;
  Tell tell_;
  bool untold_ = true;  // there may be something to tell that no reply has brought
  Notices notices_;
};

template <typename T, typename Call>
Result<T> Locks::ask(Result<Reply<T>> (Service::*method)(const Call&), const Call& call) {
  LK_ASSIGN(Service* const service, site_->service());
  auto reply = (service->*method)(call);
  untold_ = !reply;
  if (!reply) return fail(std::move(reply.error()));
  notices_.add(std::move(reply->notices));
  return std::move(reply->value);
}

// LOCKKEEPER_LEASE and LOCKKEEPER_FENCE of the environment. invalid_input if only one is set or
// either is not what `run` sets.
Result<ParentLease> parent_lease_from(const realm::Environment& env);
// The same, for work in this realm. None if the lease is one of another realm (LOCKKEEPER_REALM):
// nothing is taken under it here.
Result<ParentLease> parent_lease_from(const realm::Environment& env, const realm::Realm& realm);

}  // namespace lockkeeper::service
