// The verbs, once. Every door (command line, MCP, HTTP, hooks) fills in one of these commands,
// calls the one method and prints the reply; what a verb means is decided here and nowhere else.
//
// A refusal (held, deadlock, timeout) is a reply. An Error means that nothing was done, except for
// `unknown`, where it cannot be told (I9).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/message.h"
#include "core/table.h"
#include "layout/lock_table.h"
#include "realm/identity.h"
#include "service/commands.h"

namespace lockkeeper::layout {
class Mirror;
}

namespace lockkeeper::service {

// The lease whose command this is (LOCKKEEPER_LEASE and LOCKKEEPER_FENCE); empty if none (rule 11).
struct Under {
  core::LeaseId lease;
  std::uint64_t fence = 0;
};

class Locks {
 public:
  // `table` must outlive it.
  Locks(layout::LockTable& table, core::Owner owner, Under under = {});

  const core::Owner& owner() const { return owner_; }
  layout::LockTable& table() { return table_; }

  Result<AcquireResult> acquire(const AcquireCommand& command);
  // All in one commit, or none: then every result is a refusal, or would have been granted alone
  // and says kHeld without conflicts. Nobody waits. One result for each member, in their order.
  Result<std::vector<AcquireResult>> acquire_together(const std::vector<Member>& members);
  Result<core::ReleaseReply> release(const ReleaseCommand& command);
  Result<std::vector<core::Lease>> renew(const RenewCommand& command);
  Result<core::CheckReply> check(const CheckCommand& command);
  Result<std::vector<core::Lease>> break_leases(const BreakCommand& command);
  Result<ListReply> list(const ListCommand& command);
  Result<std::vector<core::Event>> log(const LogCommand& command);
  // Ends what is over, forgets what is old; `history` forgets all events.
  Result<void> purge(bool history);

  // Makes another tool's lock ours: its artefact's path, or a resource that it holds. Its claims
  // become a lease of this owner, taken through the same layout.
  Result<AcquireResult> adopt(const Wanted& wanted, const AcquireCommand& how);
  // What other tools have changed since; once a second for who holds or waits. Nothing where the
  // realm has no layouts.
  Result<void> look_at_layouts();

  // From now on what was written to the owner comes along with its verbs (core/message.h), by one
  // probe in the transaction that they have anyway. After a verb: what came, which is told now.
  void take_messages_along(bool wanted = true) { along_ = wanted; }
  Result<core::Told> messages();

  // Leases that the owner lost and was not told of yet; they count as told now. The replies of
  // acquire carry them, too.
  Result<std::vector<core::LostLease>> take_lost_notices();
  // Have earlier processes of this session left leases behind that it may still take back (rule 8)?
  // reclaim() binds them to a living process; settle() first ends what is due, and tells losses.
  Result<bool> has_orphans();
  Result<void> reclaim(const core::Attachment& attachment);
  Result<std::vector<core::LostLease>> settle(const core::Attachment& attachment);

  // Is this lease current: alive, not over, with this fence? (I4)
  Result<bool> is_current(const core::LeaseId& id, std::uint64_t fence);

 private:
  struct Resolved {
    std::vector<key::Resource> resources;
    std::vector<std::string> warnings;
  };
  Result<Resolved> resolve(const Wanted& wanted) const;
  Result<std::vector<core::LeaseId>> parse_ids(const std::vector<std::string>& texts) const;
  Result<core::AcquireRequest> request(const AcquireCommand& command, AcquireResult& result) const;
  Result<void> release_by_id(const ReleaseCommand& command, const std::vector<core::LeaseId>& named,
                             core::ReleaseReply& total);
  Result<void> release_by_name(const std::vector<key::Resource>& resources,
                               core::ReleaseReply& total, layout::Mirror* mirror);
  Result<std::vector<core::Lease>> break_foreign(const BreakCommand& command,
                                                 const std::vector<core::LeaseId>& ids);

  // As the table's, with the messages.
  Result<kv::Version> write(const layout::LockTable::Work& work,
                            const std::function<void()>& committed = {});
  Result<bool> read(const layout::LockTable::Look& look);
  layout::LockTable::Write writer();  // write() as a value

  layout::LockTable& table_;
  const core::Owner owner_;
  const Under under_;
  bool along_ = false;   // messages are wanted
  bool untold_ = false;  // there are some that a read transaction could not mark as told
  core::Told told_;
};

// LOCKKEEPER_LEASE and LOCKKEEPER_FENCE of the environment. invalid_input if only one is set or
// either is not what `run` sets.
Result<Under> under_from(const realm::Environment& env);

}  // namespace lockkeeper::service
