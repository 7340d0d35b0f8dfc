#include "wiring/etcd/sole_store.h"

#include <utility>

#include "base/clock.h"
#include "base/parse.h"
#include "base/quote.h"
#include "core/rows.h"

namespace lockkeeper::wiring {
namespace {

constexpr std::int64_t kLookEveryMs = 1'000;
constexpr int kTakesMax = 16;

std::int64_t now_ms() {
  return SystemClock().now().mono_ms;
}

std::string row_of(const SoleHub& hub) {
  return std::to_string(hub.id) + " " + hub.machine;
}

// What a row says of whoever put it.
SoleHub hub_in(std::string_view row) {
  const std::size_t space = row.find(' ');
  SoleHub hub;
  hub.id = number_in<std::uint64_t>(row.substr(0, space)).value_or(0);
  if (space != std::string_view::npos) hub.machine = row.substr(space + 1);
  return hub;
}

std::unexpected<Error> is_served(const SoleHub& hub, const std::string& machine) {
  return fail(Code::kStoreBusy,
              "another hub, on the machine " + quote(machine) + ", serves the locks in " +
                  quote(hub.shown_store),
              "use that one, or stop it; if it was killed, or its machine is gone, try again: its "
              "place is free after 90 s at the latest");
}

}  // namespace

Result<std::unique_ptr<kv::Store>> SoleStore::open(kv::EtcdOptions options, SoleHub hub) {
  const auto doubt = std::make_shared<std::atomic<bool>>(false);
  options.on_lease_lost = [doubt] { *doubt = true; };
  std::unique_ptr<SoleStore> sole(new SoleStore(std::move(hub), doubt));
  LK_ASSIGN(sole->store_, kv::EtcdStore::open(std::move(options)));
  LK_CHECK(sole->keep());
  return std::unique_ptr<kv::Store>(std::move(sole));
}

SoleStore::~SoleStore() {
  if (store_ != nullptr && version_ != 0 && !failed_) leave();
}

// A row that stays goes with its lease.
void SoleStore::leave() {
  const auto txn = store_->begin(kv::Access::kWrite);
  if (!txn || !(*txn)->guard_unchanged(core::kServedKey, version_)) return;
  if ((*txn)->erase(core::kServedKey)) static_cast<void>((*txn)->commit());
}

Result<std::unique_ptr<kv::Txn>> SoleStore::begin(kv::Access access) {
  LK_ASSIGN(const kv::Version version, keep());
  LK_ASSIGN(auto txn, store_->begin(access));
  if (access == kv::Access::kWrite) LK_CHECK(txn->guard_unchanged(core::kServedKey, version));
  return txn;
}

kv::Budget SoleStore::budget() const {
  kv::Budget budget = store_->budget();
  --budget.guards;
  return budget;
}

Result<kv::Version> SoleStore::keep() {
  const std::lock_guard hold(mutex_);
  const std::int64_t now = now_ms();
  if (*doubt_ || version_ == 0 || now - looked_ms_ >= kLookEveryMs) {
    *doubt_ = false;
    const auto taken = take();
    looked_ms_ = now_ms();  // those who waited meanwhile need not look again
    failed_ = taken ? std::nullopt : std::optional(taken.error());
    if (taken && hub_.contact_ms) *hub_.contact_ms = now;
  }
  if (failed_) return fail(*failed_);
  return version_;
}

Result<void> SoleStore::take() {
  for (int i = 0; i < kTakesMax; ++i) {
    kv::Version former = 0;
    {
      // In a read transaction: what it reads is the newest.
      LK_ASSIGN(const auto look, store_->begin(kv::Access::kRead));
      LK_ASSIGN(const std::optional<kv::Row> row, look->get(core::kServedKey, kv::Read::kPeek));
      if (row) {
        if (row->modified == version_) return {};
        const SoleHub other = hub_in(row->value);
        // A former life of this hub is over. A later one has taken the place of this.
        if (other.id != hub_.id || version_ != 0) return is_served(hub_, other.machine);
        former = row->modified;
      }
    }
    LK_ASSIGN(const auto txn, store_->begin(kv::Access::kWrite));
    LK_CHECK(former == 0 ? txn->guard_absent(core::kServedKey)
                         : txn->guard_unchanged(core::kServedKey, former));
    LK_CHECK(txn->put(core::kServedKey, row_of(hub_), kv::kWhileOpen));
    LK_ASSIGN(const kv::CommitResult done, txn->commit());
    if (done.fate == kv::Fate::kConflict) continue;
    version_ = done.version;
    return {};
  }
  return fail(Code::kStoreBusy, "others changed the rows of hubs in " + quote(hub_.shown_store),
              "try again");
}

}  // namespace lockkeeper::wiring
