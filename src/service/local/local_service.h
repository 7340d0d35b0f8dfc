// The lock service on this machine: the lock table of one realm, with the layouts that show its
// leases to other tools.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "layout/lock_table.h"
#include "service/local/acquisition.h"
#include "service/local/change.h"
#include "service/service.h"

namespace lockkeeper::service::local {

// `table` must outlive it.
std::unique_ptr<Service> make_service(layout::LockTable& table);

class LocalService final : public Service {
 public:
  explicit LocalService(layout::LockTable& table) : table_(table) {}

  Result<OpenReply> open(const OpenCall& call) override;
  Result<Reply<AcquireResult>> acquire(const AcquireCall& call) override;
  Result<Reply<std::vector<AcquireResult>>> acquire_together(
      const std::vector<AcquireCall>& calls) override;
  Result<Reply<AcquireResult>> await(const AwaitCall& call) override;
  Result<Reply<AcquireResult>> leave(const LeaveCall& call) override;
  Result<Reply<core::ReleaseReply>> release(const ReleaseCall& call) override;
  Result<Reply<std::vector<core::Lease>>> renew(const RenewCall& call) override;
  Result<Reply<core::CheckReply>> check(const CheckCall& call) override;
  Result<Reply<ListReply>> list(const ListCall& call) override;
  Result<Reply<std::vector<core::Lease>>> break_leases(const BreakCall& call) override;
  Result<Reply<AcquireResult>> adopt(const AdoptCall& call) override;
  Result<Reply<core::ReportReply>> report(const ReportCall& call) override;
  Result<Reply<std::vector<core::Trace>>> unseen(const UnseenCall& call) override;
  Result<Reply<LookReply>> look(const LookCall& call) override;
  Result<Reply<Done>> forget(const ForgetCall& call) override;
  Result<Reply<std::vector<core::Message>>> send(const SendCall& call) override;
  Result<Reply<std::vector<core::Message>>> messages(const MessagesCall& call) override;
  Result<Notices> notices(const Caller& caller) override;
  Result<Reply<std::vector<core::Event>>> events(const EventsCall& call) override;
  Result<Reply<Done>> purge(const PurgeCall& call) override;

 private:
  key::Rules rules() const { return table_.settings().key_rules(table_.realm()); }
  const Clock& clock() const { return *table_.runtime().clock; }

  Notices deliver(const Caller& caller, Change& change);
  void deliver_later(const Caller& caller, Notices notices);
  // What a call has to say at its end: its value, or its error.
  template <typename T>
  Result<Reply<T>> answer(const Caller& caller, Change& change, Result<T> value) {
    if (value) return Reply<T>{std::move(*value), deliver(caller, change)};
    deliver_later(caller, std::move(change.notices()));
    return fail(std::move(value.error()));
  }
  // After a call that only looked.
  template <typename T>
  Result<Reply<T>> with_notices(const Caller& caller, T value) {
    Change change(table_, caller);
    LK_CHECK(change.take_notices());
    return Reply<T>{std::move(value), deliver(caller, change)};
  }
  Result<Reply<AcquireResult>> finish(const Caller& caller, Change& change,
                                      std::unique_ptr<Acquisition> acquisition,
                                      Result<Acquisition::Results> results);

  Result<core::AcquireRequest> request(const AcquireCall& call) const;
  Result<std::unique_ptr<Acquisition>> take_waiting(const core::Owner& owner,
                                                    const core::LeaseId& id);
  Result<Reply<AcquireResult>> handed_over(const Caller& caller, const core::LeaseId& id,
                                           Change& change);
  Result<AcquireResult> adopt_lock(const AdoptCall& call, Change& change);
  Result<core::ReleaseReply> release(const ReleaseCall& call, Change& change);
  Result<std::vector<core::Lease>> renew(const RenewCall& call, Change& change);
  Result<std::vector<core::Lease>> break_leases(const BreakCall& call, Change& change);
  Result<std::vector<core::Lease>> break_ours(const BreakCall& call,
                                              const std::vector<core::LeaseId>& named,
                                              Change& change);
  Result<std::vector<core::Lease>> break_foreign(const BreakCall& call,
                                                 const std::vector<core::LeaseId>& named,
                                                 Change& change);
  Result<std::vector<core::Message>> send(const SendCall& call, Change& change);
  Result<std::vector<core::Message>> messages(const MessagesCall& call, Change& change);
  Result<void> scan_layouts();
  void note_deaths(const std::vector<core::LeaseId>& ids);
  Result<void> end_dead(Change& change);

  layout::LockTable& table_;
  std::atomic<std::uint64_t> asked_ = 0;  // how often

  std::mutex mutex_;                                               // protects the two below
  std::map<core::LeaseId, std::unique_ptr<Acquisition>> waiting_;  // by the id to await
  std::map<std::string, Notices> undelivered_;  // by owner: taken by a call that failed afterwards
};

}  // namespace lockkeeper::service::local
