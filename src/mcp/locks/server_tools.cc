// LockServer: lock_release, lock_renew, lock_status and lock_message, which never wait.
#include <algorithm>

#include "base/text.h"
#include "core/encoding.h"
#include "mcp/locks/arguments.h"
#include "mcp/locks/server.h"
#include "service/messages.h"
#include "service/report.h"

namespace lockkeeper::mcp::locks {
namespace {

constexpr std::size_t kLeasesShown = 50;
constexpr std::size_t kKeysShown = 50;

std::vector<std::string> names_of(const core::ReleaseReply& reply) {
  std::vector<std::string> keys;
  for (const auto& [key, owner] : reply.not_owner) keys.push_back(key);
  return keys;
}

void add_line(std::string& text, const char* what, const std::vector<std::string>& keys) {
  if (!keys.empty()) text += what + list_of(keys, kKeysShown) + "\n";
}

// Without the position, which its own call reports.
std::string waiter_text(const core::Waiter& waiter) {
  return list_of(core::resource_texts(waiter.request)) + ": waited for by " +
         service::owner_text(waiter.request.owner) + " since " +
         format_time(waiter.request.acquired_wall_ms);
}

}  // namespace

Result<ToolText> LockServer::release(const core::Owner& owner, Call& /*call*/,
                                     const Json& arguments) {
  service::ReleaseCommand command;
  command.wanted.texts = text_arguments(arguments, "resources");
  const std::string lease = text_argument(arguments, "lease");
  if (!lease.empty()) command.lease_ids = {lease};
  command.all = command.wanted.texts.empty() && lease.empty();
  std::vector<std::string> left;
  if (waiting_.knows(owner) && lease.empty()) {
    LK_ASSIGN(const std::vector<std::string> keys, canonical(command.wanted));
    left = waiting_.leave(owner, keys);
  }
  service::Locks locks = locks_of(owner);
  locks.take_messages_along();
  LK_ASSIGN(core::ReleaseReply reply, locks.release(command));
  std::erase_if(reply.not_held,
                [&](const std::string& key) { return std::ranges::find(left, key) != left.end(); });
  ToolText out;
  out.json = service::release_json(reply);
  if (!left.empty()) out.json["left_queue"] = left;
  std::string& text = out.message;
  if (!reply.released.empty()) text += "Released " + list_of(reply.released) + ". ";
  if (!left.empty()) text += "Left the queue for " + list_of(left) + ". ";
  if (!reply.not_held.empty()) {
    const auto lost = reclaim_.settle(owner);
    if (lost) put_lost(out, *lost);
    text += "You do not hold " + list_of(reply.not_held) +
            " (a release takes the key exactly as held). Next: call lock_status";
  } else if (!reply.not_owner.empty()) {
    service::CheckCommand check;
    check.wanted.texts = names_of(reply);
    const auto others = locks.check(check);
    text += others && !others->conflicts.empty()
                ? blocked_text(others->conflicts, now_wall_ms())
                : list_of(check.wanted.texts) + " is held by another agent";
    text += ". Only its holder can release it. Next: ask with lock_message";
  } else if (reply.released.empty() && left.empty()) {
    text += "You hold nothing. Next: lock_acquire before you change anything";
  } else {
    text += "Next: lock_acquire again before you change any of it";
  }
  add_messages(locks, out);
  return out;
}

Result<ToolText> LockServer::renew(const core::Owner& owner, Call& /*call*/,
                                   const Json& arguments) {
  service::RenewCommand command;
  LK_ASSIGN(command.ttl_ms, ttl_of(arguments));
  const std::string lease = text_argument(arguments, "lease");
  if (!lease.empty()) command.lease_ids = {lease};
  command.all = lease.empty();
  LK_ASSIGN(const std::vector<core::LostLease> lost, reclaim_.settle(owner));
  const auto renewed = locks_of(owner).renew(command);
  ToolText out;
  if (!renewed) out = trouble(renewed.error());
  waiting_.mark_known(owner);
  put_lost(out, lost);
  if (!renewed) return out;
  Json leases = service::leases_json("renewed", *renewed);
  out.json["renewed"] = std::move(leases["renewed"]);
  for (const core::Lease& each : *renewed) {
    out.message += "Renewed " + list_of(core::resource_texts(each)) + ", " +
                   service::end_text(each, now_wall_ms()) + ". ";
  }
  if (renewed->empty()) {
    out.message += "You hold nothing. Next: lock_acquire before you change anything";
  } else {
    out.message += "Next: continue, then call lock_release";
  }
  return out;
}

Result<ToolText> LockServer::status(const core::Owner& owner, Call& /*call*/,
                                    const Json& arguments) {
  service::Wanted wanted;
  wanted.texts = text_arguments(arguments, "resources");
  if (text_argument(arguments, "mode") == "shared") wanted.mode = core::Mode::kShared;
  auto out = wanted.texts.empty() ? everything(owner) : each_of(owner, wanted);
  if (out) waiting_.mark_known(owner);
  return out;
}

// The caller's own leases come first.
Result<ToolText> LockServer::everything(const core::Owner& owner) {
  LK_ASSIGN(service::ListReply reply, locks_of(owner).list({}));
  std::erase_if(reply.leases, [](const service::ListedLease& each) { return each.condition.over; });
  std::ranges::stable_partition(
      reply.leases, [&](const service::ListedLease& each) { return each.lease.held_by(owner); });
  ToolText out;
  std::string& text = out.message;
  const std::size_t leases = reply.leases.size();
  const std::size_t waiters = reply.waiters.size();
  for (std::size_t i = 0; i < leases && i < kLeasesShown; ++i) {
    const bool mine = reply.leases[i].lease.held_by(owner);
    text += (mine ? "Yours: " : "") + lease_text(reply.leases[i], now_wall_ms()) + "\n";
  }
  for (std::size_t i = 0; i < waiters && i < kLeasesShown; ++i) {
    text += waiter_text(reply.waiters[i]) + "\n";
  }
  if (leases == 0) text = "Nothing is held.\n" + text;
  if (leases > kLeasesShown) reply.leases.resize(kLeasesShown);
  if (waiters > kLeasesShown) reply.waiters.resize(kLeasesShown);
  out.json = service::list_json(reply);
  if (leases > kLeasesShown || waiters > kLeasesShown) {
    text += "Shown: " + std::to_string(reply.leases.size()) + " of " + std::to_string(leases) +
            " leases and " + std::to_string(reply.waiters.size()) + " of " +
            std::to_string(waiters) + " waiting requests.\n";
    out.json["total"] = {{"leases", leases}, {"waiters", waiters}};
  }
  text += "Next: call lock_status with the resources that you want";
  return out;
}

// Checks each resource separately.
Result<ToolText> LockServer::each_of(const core::Owner& owner, const service::Wanted& wanted) {
  service::Locks locks = locks_of(owner);
  std::vector<std::string> free, mine, held;
  std::vector<core::Conflict> conflicts;
  LK_CHECK(canonical(wanted));
  for (const std::string& resource : wanted.texts) {
    service::CheckCommand command;
    command.wanted = wanted;
    command.wanted.texts = {resource};
    LK_ASSIGN(core::CheckReply reply, locks.check(command));
    (!reply.free ? held : reply.mine ? mine : free).push_back(resource);
    for (core::Conflict& each : reply.conflicts) conflicts.push_back(std::move(each));
  }
  ToolText out;
  add_line(out.message, "Free: ", free);
  add_line(out.message, "Yours: ", mine);
  // The lines below name each holder once, not each held resource.
  if (held.size() > 1) add_line(out.message, "Held: ", held);
  if (!held.empty()) out.message += blocked_text(conflicts, now_wall_ms()) + "\n";
  if (!free.empty()) {
    out.message += "Next: lock_acquire what is free, in one call";
  } else if (!held.empty()) {
    out.message += "Next: lock_acquire it with wait_s: 45 to queue for it";
  } else {
    out.message += "Next: make your changes, then call lock_release";
  }
  out.json = {{"free", free}, {"mine", mine}, {"held", held}};
  put_conflicts(out.json, conflicts);
  return out;
}

Result<ToolText> LockServer::message(const core::Owner& owner, Call& /*call*/,
                                     const Json& arguments) {
  const bool sends =
      arguments.contains("text") || arguments.contains("to") || arguments.contains("holding");
  return sends ? send(owner, arguments) : read(owner);
}

Result<ToolText> LockServer::read(const core::Owner& owner) {
  LK_ASSIGN(const std::vector<core::Message> unread, service::Messages(site_, owner).read({}));
  ToolText out;
  out.json = service::messages_json("messages", unread);
  for (const core::Message& each : unread) {
    out.message += service::message_text(each, now_wall_ms()) + "\n";
  }
  out.message += unread.empty() ? "No new messages. Next: continue"
                                : "Next: answer with lock_message, or lock_release what is asked "
                                  "for";
  return out;
}

Result<ToolText> LockServer::send(const core::Owner& owner, const Json& arguments) {
  service::SendCommand command;
  command.text = text_argument(arguments, "text");
  command.to.agent = text_argument(arguments, "to");
  const std::string held = text_argument(arguments, "holding");
  if (!held.empty()) command.to_holders_of.texts = {held};
  if (command.to.agent.empty() && held.empty()) {
    return fail(Code::kInvalidInput, "the message has no receiver",
                "give to (an agent) or holding (a resource)");
  }
  LK_ASSIGN(const std::vector<core::Message> sent, service::Messages(site_, owner).send(command));
  ToolText out;
  out.json = service::messages_json("messages", sent);
  std::vector<std::string> whom;
  for (const core::Message& each : sent) whom.push_back(service::owner_text(each.to));
  out.message = "Sent to " + list_of(whom) +
                ", shown at its next call. Next: work on something else meanwhile";
  return out;
}

}  // namespace lockkeeper::mcp::locks
