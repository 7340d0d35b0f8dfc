// One realm for tests: a store, a clock that moves only when told, processes as the test says, and
// a driver around each operation as in the service. Audits after every commit.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/machines_testing.h"
#include "core/owners_testing.h"
#include "core/table.h"
#include "kv/memory/memory_store.h"

namespace lockkeeper::core {

// "a.c", "src/", "**/*.h", "api:GET /v1/users".
key::Resource resource(std::string_view text, key::Syntax syntax = key::Syntax::kAuto);
Claim x(std::string_view text);  // exclusive
Claim s(std::string_view text);  // shared

// A process by the slot of the `live` file it holds.
inline Attachment process(std::uint64_t slot) {
  return {.slot = slot, .pid_namespace = 0, .pid = 0, .start_ticks = 0};
}

class FakeProber final : public Prober {
 public:
  Alive probe(const Attachment& attachment) const override;
  void set(std::uint64_t slot, Alive alive) { slots_[slot] = alive; }

 private:
  std::map<std::uint64_t, Alive> slots_;  // slots not listed are alive
};

class Realm {
 public:
  explicit Realm(kv::Flavour flavour);
  // On another store, which must outlive it: without reboot() and store().
  explicit Realm(kv::Store& elsewhere) : elsewhere_(&elsewhere) {}

  Limits limits;
  FakeProber prober;
  bool auditing = true;
  Machine* machine = nullptr;  // where operations run, if several share the store
  void pass(std::int64_t ms);  // both clocks
  void set_wall(std::int64_t wall_ms) { now_.wall_ms = wall_ms; }
  Now now() const { return now_; }
  void kill(std::uint64_t slot) { prober.set(slot, Alive::kDead); }
  void reboot(std::int64_t mono_ms = 500);  // a new epoch, its clock starting again, fences growing
  kv::MemoryStore& store() { return *store_; }

  // A request with a ttl of one minute; tests may change it before they send it.
  static AcquireRequest ask(Owner owner, std::vector<Claim> claims);
  AcquireRequest wait(Owner owner, std::vector<Claim> claims);  // by a new process of its own

  Result<AcquireReply> acquire(const AcquireRequest& request);
  Result<AcquireReply> poll(const LeaseId& id, Table::Poll how = Table::Poll::kConfirms);
  Result<AcquireReply> cancel(const LeaseId& id);
  Result<ReleaseReply> release(const Owner& owner, std::initializer_list<std::string_view> texts);
  Result<ReleaseReply> release(const Owner& owner, const LeaseId& id);
  Result<std::vector<Lease>> renew(const Owner& owner, const LeaseId& id,
                                   std::optional<std::int64_t> ttl_ms = {},
                                   const Attachment& attachment = {});
  Result<CheckReply> check(const AcquireRequest& request, std::uint64_t fence = 0);
  Result<std::vector<Lease>> break_lease(const BreakRequest& how, const LeaseId& id);
  void maintain(std::size_t most = 100);  // until nothing is left
  std::vector<LostLease> notices(const Owner& owner);

  // These fail the test if they do not succeed.
  Lease granted(const AcquireRequest& request);
  Lease granted(const Owner& owner, std::vector<Claim> claims);
  Lease queued(const AcquireRequest& request);
  Lease queued(const Owner& owner, std::vector<Claim> claims);
  Outcome outcome(const AcquireRequest& request);

  // What the table holds now.
  bool holds(const LeaseId& id);
  bool waits(const LeaseId& id);
  Lease lease(const LeaseId& id);
  Waiter waiter(const LeaseId& id);
  std::vector<Lease> leases();
  std::vector<Waiter> waiters();
  std::vector<Event> events();
  std::vector<std::string> story();  // events as "what agent resource,… [cause]"
  std::map<std::string, std::string> rows();
  std::vector<std::uint64_t> woken;  // words to wake, of the last commit

  // One operation in a transaction of its own, tried again as the service would.
  template <class Operation>
  auto run(Operation operation) -> decltype(operation(std::declval<Table&>()));
  void audit();  // fails the test if the rows are not consistent (core/audit.h)

 private:
  Context context(std::uint64_t ticket) const;
  Context observer() const;
  kv::Store& at_rest() const { return elsewhere_ == nullptr ? *store_ : *elsewhere_; }
  kv::Store& through() const { return machine == nullptr ? at_rest() : machine->store(); }
  Now now_{.mono_ms = 1'000'000, .wall_ms = 1'700'000'000'000};
  kv::Epoch epoch_{.id = 1, .fence_offset = 1'000'000, .start_mono_ms = 900'000};
  std::unique_ptr<kv::MemoryStore> store_;
  kv::Store* elsewhere_ = nullptr;  // instead of that
  std::uint64_t next_ticket_ = 1;
  std::uint64_t next_process_ = 10'000;
};

inline constexpr int kTriesMax = 200;
template <class Operation>
auto Realm::run(Operation operation) -> decltype(operation(std::declval<Table&>())) {
  const std::uint64_t ticket = next_ticket_++;
  for (int tries = 0; tries < kTriesMax; ++tries) {
    auto txn = through().begin(kv::Access::kWrite);
    if (!txn) return fail(txn.error());
    const Context now = context(ticket);
    Table table(**txn, now);
    auto reply = operation(table);
    if (!reply) return reply;
    const auto done = (*txn)->commit();
    if (!done) return fail(done.error());
    if (done->fate == kv::Fate::kConflict) continue;
    woken = table.wake();
    txn->reset();
    if (auditing) audit();
    if constexpr (requires { reply->stamp(done->version); }) reply->stamp(done->version);
    if constexpr (requires { reply->again; }) {
      if (reply->again) continue;
    }
    return reply;
  }
  return fail(Code::kFailed, "the operation did not come to an end");
}
class OnBothFlavours : public testing::TestWithParam<kv::Flavour> {
 protected:
  bool optimistic() const { return GetParam() == kv::Flavour::kOptimistic; }
  Realm realm_{GetParam()};
};
std::string flavour_name(const testing::TestParamInfo<kv::Flavour>& info);

#define LOCKKEEPER_ON_BOTH_FLAVOURS(suite)                                                       \
  INSTANTIATE_TEST_SUITE_P(Memory, suite,                                                        \
                           testing::Values(kv::Flavour::kPessimistic, kv::Flavour::kOptimistic), \
                           flavour_name)

std::vector<std::string> agents(const std::vector<Lease>& leases);  // sorted
std::vector<std::string> holders(const AcquireReply& reply);  // "lease a: held", in order found

}  // namespace lockkeeper::core
