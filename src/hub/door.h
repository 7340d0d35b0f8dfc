// The one way from the hub's clients to a lock table, whatever they speak. It is the lock service
// of one realm, for one person:
//
//   who     every owner that a call names as the caller gets the person's name (Person). What was
//           given to another person can be neither presented, awaited nor left
//   what    each call needs a role
//   where   what makes sense on the caller's machine alone (processes, wake words, artefacts of
//           other tools) is dropped, except for processes that a relay answers for (Sessions)
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <atomic>

#include "hub/hub_realms.h"
#include "hub/metrics.h"
#include "hub/people/person.h"
#include "hub/quotas.h"
#include "hub/sessions.h"
#include "hub/waits.h"
#include "service/service.h"

namespace lockkeeper::hub {

// What all doors of a hub share.
struct Desk {
  explicit Desk(const Clock& clock_given)
      : clock(clock_given), waits(clock_given), sessions(clock_given) {}

  // Rows of the shared table, by whatever hub: those who wait for them look again.
  void rows_changed(const std::vector<std::string>& keys);

  const Clock& clock;
  Metrics metrics;
  Quotas quotas;
  Waits waits;
  Sessions sessions;
  std::atomic<bool> draining = false;     // nothing new is granted
  std::function<void()> changed = [] {};  // after a call that may have changed a table
  // Of a table that other hubs serve, too. Null: there is none.
  HubRealm* shared = nullptr;
  // May relays still rely on this hub? An error: it is cut off from its store, whose rows for its
  // sessions may go.
  std::function<Result<void>()> may_vouch = [] { return Result<void>(); };
};

// For the tables: does that client live? Of a session that this hub does not keep, it cannot tell.
core::Alive remote_alive(const Desk& desk, const core::Attachment& client);

// Ends what the dead have left, also for those who use the table without the hub.
void bury(Desk& desk, HubRealms& realms);
// Ends what is due in the tables that other machines have written, too: only whoever looks at them
// all the time sees when their times are over.
void keep_up(HubRealms& realms);

class Door final : public service::Service {
 public:
  enum class From {
    kNetwork,  // the caller's processes are elsewhere
    kHere,     // an endpoint of this hub that keeps processes of its own for its clients
  };

  // All must outlive it. `relay`: the session that answers for the caller's processes; empty: none.
  Door(Desk& desk, HubRealm& realm, Person person, From from = From::kNetwork,
       std::string relay = {})
      : desk_(desk),
        realm_(realm),
        person_(std::move(person)),
        from_(from),
        relay_(std::move(relay)) {}

  const Person& person() const { return person_; }

  Result<service::OpenReply> open(const service::OpenCall& call) override;
  Result<service::Reply<service::AcquireResult>> acquire(const service::AcquireCall& call) override;
  Result<service::Reply<std::vector<service::AcquireResult>>> acquire_together(
      const std::vector<service::AcquireCall>& calls) override;
  // Blocks; a client's wait goes through waits() instead.
  Result<service::Reply<service::AcquireResult>> await(const service::AwaitCall& call) override;
  Result<service::Reply<service::AcquireResult>> leave(const service::LeaveCall& call) override;
  Result<service::Reply<core::ReleaseReply>> release(const service::ReleaseCall& call) override;
  Result<service::Reply<std::vector<core::Lease>>> renew(const service::RenewCall& call) override;
  Result<service::Reply<core::CheckReply>> check(const service::CheckCall& call) override;
  Result<service::Reply<service::ListReply>> list(const service::ListCall& call) override;
  Result<service::Reply<std::vector<core::Lease>>> break_leases(
      const service::BreakCall& call) override;
  Result<service::Reply<service::AcquireResult>> adopt(const service::AdoptCall& call) override;
  Result<service::Reply<core::ReportReply>> report(const service::ReportCall& call) override;
  Result<service::Reply<std::vector<core::Trace>>> unseen(const service::UnseenCall& call) override;
  Result<service::Reply<service::LookReply>> look(const service::LookCall& call) override;
  Result<service::Reply<service::Done>> forget(const service::ForgetCall& call) override;
  Result<service::Reply<std::vector<core::Message>>> send(const service::SendCall& call) override;
  Result<service::Reply<std::vector<core::Message>>> messages(
      const service::MessagesCall& call) override;
  Result<service::Notices> notices(const service::Caller& caller) override;
  Result<service::Reply<std::vector<core::Event>>> events(const service::EventsCall& call) override;
  Result<service::Reply<service::Done>> purge(const service::PurgeCall& call) override;

  // acquire() for a client that waits at most `wait_ms` (kWaitForever): the answer may be kQueued.
  Result<service::Reply<service::AcquireResult>> acquire(const service::AcquireCall& call,
                                                         std::int64_t wait_ms);
  // Makes the request of that id known to waits(), if it is one of this person's; also one of an
  // earlier life of the hub. The outcome, if it has left the queue.
  Result<std::optional<service::AcquireResult>> find_wait(const core::LeaseId& id);
  // The same, and then Waits::ask(). If another connection of its client was told the outcome just
  // now, this one is told it, too.
  Result<std::uint64_t> ask(const core::LeaseId& id, std::int64_t at_most_ms, Waits::Then then,
                            bool looks = false);
  Waits& waits() { return desk_.waits; }

 private:
  Result<service::Caller> caller(Role role, const service::Caller& sent);
  Result<service::AcquireCall> prepared(const service::AcquireCall& sent);
  std::uint64_t session() const;
  core::Attachment as_known(const core::Attachment& sent) const;
  core::Attachment as_waiting(std::uint64_t number) const;
  Result<void> check_answered_for(std::uint64_t number);
  Result<core::Attachment> attached(const core::Attachment& sent);
  Result<core::Attachment> waiting_here(const service::AcquireCall& call);
  Result<void> move_here(const core::Waiter& waiter);
  Result<void> bury_waiter(const core::LeaseId& id);
  Result<void> check_parent(const service::ParentLease& parent);
  Result<std::optional<Quotas::Asking>> check_quota(std::size_t more, service::Service& inner);
  Result<void> check_drain(const service::AcquireCall& call, service::Service& inner);
  // The call with its caller signed, carried out by the table's own service.
  template <typename Answer, typename Call>
  Result<Answer> pass(Role role, Call call,
                      Result<Answer> (service::Service::*method)(const Call&));

  Desk& desk_;
  HubRealm& realm_;
  const Person person_;
  const From from_;
  const std::string relay_;
};

}  // namespace lockkeeper::hub
