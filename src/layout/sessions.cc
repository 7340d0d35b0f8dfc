#include "layout/sessions.h"

#include "base/bytes.h"
#include "core/browse.h"
#include "core/condition.h"
#include "core/rows.h"

namespace lockkeeper::layout {
namespace {

constexpr std::size_t kHubsMost = 1'000;

// One transaction that writes.
template <typename Change>
Result<void> change(LockTable& locks, const Change& what) {
  LK_CHECK(locks.write([&](core::Table& table) -> Result<bool> {
    LK_CHECK(what(table));
    return false;
  }));
  return {};
}

}  // namespace

Result<core::Keeper> keeper_of(LockTable& locks, std::uint64_t session) {
  core::Keeper keeper = core::Keeper::kNobody;
  LK_CHECK(locks.read([&](core::Table& table) -> Result<void> {
    LK_ASSIGN(keeper, core::keeper_of(table.state(), session, kv::Read::kPeek));
    return {};
  }));
  return keeper;
}

Result<kv::Version> keep_session(LockTable& locks, std::uint64_t session, bool begins) {
  bool there = false;
  LK_ASSIGN(const kv::Version version, locks.write([&](core::Table& table) -> Result<bool> {
    LK_ASSIGN(const core::Keeper keeper,
              core::keeper_of(table.state(), session, kv::Read::kGuarded));
    there = keeper != core::Keeper::kNobody || begins;
    if (keeper != core::Keeper::kNobody) {
      LK_CHECK(core::take_over_session(table.state(), session));
    } else if (begins) {
      LK_CHECK(core::begin_session(table.state(), session));
    }
    return false;
  }));
  return there ? version : 0;
}

Result<void> end_session(LockTable& locks, std::uint64_t session) {
  return change(locks,
                [&](core::Table& table) { return core::end_session(table.state(), session); });
}

Result<void> show_hub(LockTable& locks, const HubRow& row) {
  return change(locks, [&](core::Table& table) {
    return table.state().txn().put(core::hub_key(row.hub), row.text, kv::kWhileOpen);
  });
}

Result<void> hide_hub(LockTable& locks, std::uint64_t hub) {
  return change(locks,
                [&](core::Table& table) { return table.state().txn().erase(core::hub_key(hub)); });
}

Result<std::vector<HubRow>> shown_hubs(LockTable& locks) {
  std::vector<HubRow> all;
  const std::string prefix(core::kHubPrefix);
  LK_CHECK(locks.read([&](core::Table& table) {
    const auto add = [&](const kv::Row& row) {
      const std::string_view id = std::string_view(row.key).substr(prefix.size());
      if (id.size() == sizeof(std::uint64_t))
        all.push_back({read_be64(id), std::string(row.value)});
      return all.size() < kHubsMost;
    };
    return table.state().txn().scan({prefix, kv::end_of_prefix(prefix)}, add, kv::Read::kPeek);
  }));
  return all;
}

Result<void> move_waiter(LockTable& locks, const core::LeaseId& id, const core::Attachment& process,
                         std::uint64_t wake) {
  return change(locks, [&](core::Table& table) -> Result<void> {
    LK_CHECK(table.move_waiter(id, process, wake));
    return {};
  });
}

Result<void> bury_waiter(LockTable& locks, const core::LeaseId& id,
                         const core::Attachment& process) {
  return change(locks, [&](core::Table& table) { return table.bury_waiter(id, process); });
}

Result<void> bury_waiters(LockTable& locks, std::uint64_t session) {
  std::vector<core::LeaseId> dead;
  std::string from;
  do {
    LK_CHECK(locks.read([&](core::Table& table) -> Result<void> {
      LK_ASSIGN(core::WaiterPage page, core::waiter_page(table.state(), from));
      for (const core::Waiter& waiter : page.waiters) {
        if (waiter.request.holds.front().session() != session) continue;
        LK_ASSIGN(const core::Condition now, core::condition(table.state(), waiter));
        if (now.over) dead.push_back(waiter.request.id);
      }
      from = page.next;
      return {};
    }));
  } while (!from.empty());
  for (const core::LeaseId& id : dead) {
    LK_CHECK(change(locks, [&](core::Table& table) -> Result<void> {
      LK_CHECK(table.settler().reap_waiter(id));  // unless its client has come back meanwhile
      return table.settler().settle();
    }));
  }
  return {};
}

}  // namespace lockkeeper::layout
