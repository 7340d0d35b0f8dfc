#include "service/local/change.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/answers.h"
#include "core/browse.h"

namespace lockkeeper::service::local {
namespace {

Result<bool> waits_for(const core::Waiter& waiter, const std::vector<core::Lease>& held) {
  for (const core::Lease& lease : held) {
    LK_ASSIGN(const bool conflict, core::claims_conflict(waiter.request, lease));
    if (conflict) return true;
  }
  return false;
}

// Requests of others that wait for what the owner holds.
Result<std::vector<core::Waiter>> waiting_for(core::Table& table, const core::Owner& owner) {
  std::vector<core::Waiter> found;
  LK_ASSIGN(const bool any, table.state().any_waiters());
  if (!any) return found;
  LK_ASSIGN(const std::vector<core::Lease> held, table.state().held_by(owner));
  if (held.empty()) return found;
  LK_ASSIGN(const core::WaiterPage page, core::waiter_page(table.state(), {}));
  for (const core::Waiter& waiter : page.waiters) {
    if (waiter.request.owner == owner || core::is_part_of(waiter.request.owner, owner)) continue;
    LK_ASSIGN(const bool waits, waits_for(waiter, held));
    if (!waits) continue;
    LK_ASSIGN(const core::Condition now, core::condition(table.state(), waiter));
    if (!now.over) found.push_back(waiter);
    if (found.size() == kWaitingTold) break;
  }
  return found;
}

}  // namespace

Result<Notices> Change::collect(core::Table& table) const {
  Notices found;
  if (caller_.tell.losses) {
    LK_ASSIGN(found.lost, table.take_lost_notices(caller_.owner));
    // What a command took inside its own lock ends with that, as it should.
    std::erase_if(found.lost, [&](const core::LostLease& lost) {
      return lost.owner != caller_.owner && lost.cause == "parent_ended";
    });
  }
  if (caller_.tell.messages) {
    LK_ASSIGN(core::DeliveredMessages messages, core::take_untold(table.state(), caller_.owner));
    found.messages = std::move(messages.messages);
    found.more_messages = messages.more;
  }
  if (caller_.tell.waiting) {
    LK_ASSIGN(found.waiting, waiting_for(table, caller_.owner));
  }
  return found;
}

// True: the call was carried out before.
Result<bool> Change::find_earlier(core::Table& table) {
  if (caller_.request_id.empty() || began_) return false;
  LK_ASSIGN(std::optional<core::Answer> found,
            core::find_answer(table.state(), caller_.owner, caller_.request_id, arguments_));
  repeated_ = found && found->complete;
  earlier_ = found ? std::optional(std::move(found->text)) : std::nullopt;
  return repeated_;
}

Result<void> Change::look_for_earlier() {
  if (caller_.request_id.empty()) return {};
  LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
    LK_CHECK(find_earlier(table));
    return {};
  }));
  return {};
}

Result<void> Change::keep(core::Table& table, std::string text, bool complete) const {
  if (text.empty()) return {};
  return core::keep_answer(table.state(), caller_.owner,
                           {caller_.request_id, arguments_, complete, std::move(text)});
}

Result<kv::Version> Change::write(const layout::LockTable::Work& work, const Kept& kept) {
  if (repeated_) return kv::Version{0};
  Notices now;
  const auto with_notices = [&](core::Table& table) -> Result<bool> {
    now = {};
    LK_ASSIGN(const bool done_before, find_earlier(table));
    if (done_before) return false;
    LK_ASSIGN(const bool again, work(table));
    const bool complete = !again && kept.last;
    if (kept.answer && !caller_.request_id.empty()) LK_CHECK(keep(table, kept.answer(), complete));
    if (complete && caller_.tell.any()) {
      LK_ASSIGN(now, collect(table));
    }
    return again;
  };
  const layout::Turns::Turn turn = table_.turn_of(caller_.owner);
  return table_.write(with_notices, [&] {
    if (repeated_) return;
    began_ |= kept.answer != nullptr;
    if (kept.committed) kept.committed();
    notices_.add(std::exchange(now, {}));
  });
}

layout::LockTable::Write Change::writer() {
  return [this](const layout::LockTable::Work& work, const std::function<void()>& committed) {
    return write(work, {committed, {}, true});
  };
}

Result<void> Change::take_notices() {
  if (!caller_.tell.any()) return {};
  Notices now;
  bool any = false;
  LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
    if (caller_.tell.losses) {
      LK_ASSIGN(any, table.has_lost_notices(caller_.owner));
    }
    if (caller_.tell.messages && !any) {
      LK_ASSIGN(any, core::has_untold(table.state(), caller_.owner));
    }
    if (caller_.tell.waiting) {
      LK_ASSIGN(now.waiting, waiting_for(table, caller_.owner));
    }
    return {};
  }));
  if (!any) {
    notices_.add(std::move(now));
    return {};
  }
  LK_CHECK(table_.write(
      [&](core::Table& table) -> Result<bool> {
        LK_ASSIGN(now, collect(table));
        return false;
      },
      [&] { notices_.add(std::move(now)); }));
  return {};
}

}  // namespace lockkeeper::service::local
