#include "layout/remove_store.h"

#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/bytes.h"
#include "core/browse.h"
#include "layout/make_store.h"

namespace lockkeeper::layout {
namespace {

// A new store begins at unix seconds × 2^21 (kv/lmdb/epoch.h).
constexpr std::uint64_t kFencesPerSecond = std::uint64_t{1} << 21;
// More commits than others can make between our two transactions.
constexpr std::uint64_t kMargin = kFencesPerSecond / 2;
constexpr int kWaitMsMax = 3'000;
constexpr int kWaitStepMs = 50;

// Until a store made now would begin above every fence of this one.
Result<void> wait_for_clock(const LockTable& table, std::uint64_t fence) {
  for (int waited = 0;; waited += kWaitStepMs) {
    const auto seconds = static_cast<std::uint64_t>(table.runtime().clock->now().wall_ms / 1000);
    if (seconds * kFencesPerSecond > fence + kMargin) return {};
    if (waited >= kWaitMsMax) {
      return fail(Code::kFailed,
                  "the clock stands before the store's fences: a new store would repeat them",
                  "set the clock right, or keep the store");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(kWaitStepMs));
  }
}

// Everything that is held or waited for; over and unrecorded ones do not count.
Result<void> look(core::Table& table, RemovedStore& result) {
  result.held.clear();
  result.waiters.clear();
  std::string from;
  do {
    LK_ASSIGN(core::LeasePage page, core::lease_page(table.state(), from));
    for (core::Lease& lease : page.leases) {
      LK_ASSIGN(const core::Condition now, condition(table.state(), lease));
      if (!now.over) result.held.push_back(std::move(lease));
    }
    from = page.next;
  } while (!from.empty());
  do {
    LK_ASSIGN(core::WaiterPage page, core::waiter_page(table.state(), from));
    for (core::Waiter& waiter : page.waiters) {
      LK_ASSIGN(const core::Condition now, condition(table.state(), waiter));
      if (!now.over) result.waiters.push_back(std::move(waiter));
    }
    from = page.next;
  } while (!from.empty());
  return {};
}

// Under the gate. The copy goes first: a store without its copy is whole, a copy without its store
// is a store that somebody lost.
Result<void> move_away(const realm::Realm& realm, const std::string& aside) {
  if (!realm.epoch_copy.empty() && ::unlink(realm.epoch_copy.c_str()) != 0 && errno != ENOENT) {
    return fail(errno_error(errno, "cannot remove " + realm.epoch_copy));
  }
  if (::rename(realm.store_folder.c_str(), aside.c_str()) != 0) {
    return fail(errno_error(errno, "cannot move " + realm.store_folder));
  }
  return {};
}

Result<void> keep_config(const realm::Realm& realm, const std::string& aside) {
  const std::string name = "/" + std::string(realm::kLocalConfigName);
  if (::access((aside + name).c_str(), F_OK) != 0) return {};
  LK_CHECK(create_store_folder(realm));
  if (::rename((aside + name).c_str(), (realm.store_folder + name).c_str()) == 0) return {};
  return fail(errno_error(errno, "cannot keep " + aside + name));
}

}  // namespace

Result<RemovedStore> remove_store(LockTable& table, bool force) {
  RemovedStore result;
  const realm::Realm& realm = table.realm();
  std::uint64_t fence = 0;
  LK_ASSIGN(const bool there, table.read([](core::Table&) -> Result<void> { return {}; }));
  if (!there) {
    result.removed = true;
    return result;
  }
  constexpr std::size_t kAtOnce = 1'000;
  std::int64_t offset = 0;
  LK_ASSIGN(const kv::Version version, table.write([&](core::Table& now) -> Result<bool> {
    offset = now.state().context().epoch.fence_offset;
    return now.maintain(kAtOnce);
  }));
  fence = static_cast<std::uint64_t>(static_cast<std::int64_t>(version) + offset);
  LK_CHECK(wait_for_clock(table, fence));

  std::string bytes;
  append_be64(bytes, table.runtime().random->next());
  const std::string aside = realm.store_folder + ".purged." + to_hex(bytes);
  // The transaction is never committed: it is there to have the gate to ourselves.
  const Error done{Code::kFailed, aside, {}};
  const auto outcome = table.write([&](core::Table& now) -> Result<bool> {
    LK_CHECK(look(now, result));
    if (force || (result.held.empty() && result.waiters.empty())) {
      LK_CHECK(move_away(realm, aside));
      result.removed = true;
    }
    return fail(done);
  });
  if (!result.removed) {
    if (outcome || outcome.error().message != aside) return fail(outcome.error());
    return result;
  }
  LK_CHECK(keep_config(realm, aside));
  std::error_code error;
  std::filesystem::remove_all(aside, error);
  if (error) return fail(errno_error(error.value(), "cannot remove all of " + aside));
  return result;
}

}  // namespace lockkeeper::layout
