// LockServer: lock_release, lock_renew, lock_status and lock_message, which never wait.
#include <algorithm>

#include "base/text.h"
#include "core/encoding.h"
#include "core/sessions.h"
#include "mcp/locks/arguments.h"
#include "mcp/locks/server.h"
#include "service/messages.h"
#include "service/questions.h"
#include "service/report.h"

namespace lockkeeper::mcp::locks {
namespace {

constexpr std::size_t kLeasesShown = 50;
constexpr std::size_t kKeysShown = 50;
constexpr std::size_t kSubagentsNames = 5;

std::vector<std::string> names_of(const core::ReleaseReply& reply) {
  std::vector<std::string> keys;
  for (const auto& [key, owner] : reply.not_owner) keys.push_back(key);
  return keys;
}

bool is_among(const std::vector<std::string>& keys, const std::string& key) {
  return std::ranges::find(keys, key) != keys.end();
}

void add_line(std::string& text, const char* what, const std::vector<std::string>& keys) {
  if (!keys.empty()) text += what + shown_list(keys, kKeysShown) + "\n";
}

// Without the position, which its own call reports.
std::string waiter_text(const core::Waiter& waiter) {
  return shown_list(service::spelled_texts(waiter.request)) + ": waited for by " +
         shown(waiter.request.owner.agent);
}

}  // namespace

Result<ToolText> LockServer::release(Asker& asker, Call& /*call*/, const Json& arguments) {
  service::ReleaseCommand command;
  command.wanted.texts = text_arguments(arguments, "resources");
  const std::string lease = text_argument(arguments, "lease");
  if (!lease.empty()) command.lease_ids = {lease};
  command.all = !arguments.contains("resources") && !arguments.contains("lease");
  if (!command.all && command.wanted.texts.empty() && lease.empty()) {
    return fail(Code::kInvalidInput, "nothing was named to release",
                "name resources or a lease, or omit both to release all you hold");
  }
  command.by = asker.slot;
  WaitingRoom::Left left;
  if (waiting_.knows(asker.owner) && lease.empty()) {
    LK_ASSIGN(const std::vector<std::string> keys, canonical(command.wanted));
    left = waiting_.leave(asker.owner, keys);
  }
  LK_ASSIGN(core::ReleaseReply reply, asker.locks.release(command));
  for (const std::string& key : left.released) {
    if (!is_among(reply.released, key)) reply.released.push_back(key);
  }
  std::erase_if(reply.not_held, [&](const std::string& key) {
    return is_among(left.queue, key) || is_among(left.released, key);
  });
  ToolText out = released(asker, reply, left.queue);
  if (command.all) out.message += held_by_subagents(asker);
  return out;
}

ToolText LockServer::released(Asker& asker, const core::ReleaseReply& reply,
                              const std::vector<std::string>& left) {
  ToolText out;
  out.json = service::release_json(reply);
  if (!left.empty()) out.json["left_queue"] = left;
  std::vector<std::string> sentences;
  if (!reply.released.empty()) {
    sentences.push_back("Released " + shown_list(service::spelled(reply.released)));
  }
  if (!reply.ended_before.empty()) {
    const auto& [key, cause] = reply.ended_before.front();
    std::string sentence = service::ended_before_text(key, cause);
    sentence.front() = 'Y';
    sentences.push_back(std::move(sentence));
  }
  if (!left.empty()) {
    sentences.push_back("Left the queue for " + shown_list(service::spelled(left)));
  }
  out.next = "lock_acquire again before you change any of it";
  if (!reply.not_owner.empty()) {
    service::CheckCommand check;
    check.wanted.texts = names_of(reply);
    const auto others = locks_of(asker.owner).check(check);
    const bool known = others && !others->conflicts.empty();
    sentences.push_back(
        known ? as_sentence(holders_text(others->conflicts, asker.owner, now_wall_ms()))
              : shown_list(check.wanted.texts) + " is held by another agent");
    sentences.emplace_back("Only its holder can release it");
    out.next = "ask with lock_message";
  }
  if (!reply.not_held.empty()) {
    if (auto lost = reclaim_.settle(asker.owner, asker.slot)) out.lost = std::move(*lost);
    sentences.push_back("You do not hold " + shown_list(reply.not_held));
    for (const auto& [key, outer] : reply.covered) {
      sentences.push_back("You hold " + shown(outer) + ", which covers " + shown(key));
    }
    out.next = reply.covered.empty() ? "call lock_status to see what is held"
                                     : "lock_release " + shown(reply.covered.front().second);
  }
  if (sentences.empty()) {
    sentences.emplace_back("You hold nothing");
    out.next = "lock_acquire before you change anything";
  }
  out.message = join(sentences, ". ");
  return out;
}

// Parts of a session keep what they took when the session releases its own.
std::string LockServer::held_by_subagents(Asker& asker) {
  const auto reply = locks_of(asker.owner).list({});
  if (!reply) return {};
  std::string text;
  for (const service::ListedLease& each : reply->leases) {
    const bool theirs = !each.lease.foreign && core::is_part_of(each.lease.owner, asker.owner);
    if (!theirs) continue;
    text += ". Your subagent " + shown(each.lease.owner.agent) + " still holds " +
            shown_list(service::spelled_texts(each.lease), kSubagentsNames);
  }
  return text;
}

Result<ToolText> LockServer::renew(Asker& asker, Call& /*call*/, const Json& arguments) {
  service::RenewCommand command;
  LK_ASSIGN(command.ttl_ms, ttl_of(arguments));
  const std::string lease = text_argument(arguments, "lease");
  if (!lease.empty()) command.lease_ids = {lease};
  command.all = lease.empty();
  LK_ASSIGN(std::vector<core::LostLease> lost, reclaim_.settle(asker.owner, asker.slot));
  const auto renewed = asker.locks.renew(command);
  ToolText out;
  if (!renewed) out = trouble(renewed.error());
  out.lost = std::move(lost);
  if (!renewed) return out;
  add_grants(asker.owner, out);
  if (command.all) waiting_.mark_known(asker.owner);  // all of them are named below
  Json leases = service::leases_json("renewed", *renewed);
  out.json["renewed"] = std::move(leases["renewed"]);
  std::vector<std::string> sentences;
  for (const core::Lease& each : *renewed) {
    sentences.push_back("Renewed " + shown_list(service::spelled_texts(each)) + ", " +
                        service::end_text(each, now_wall_ms()));
  }
  if (renewed->empty()) sentences.emplace_back("You hold nothing");
  out.message += join(sentences, ". ");
  out.next = renewed->empty() ? "lock_acquire before you change anything"
                              : "continue, then call lock_release";
  return out;
}

Result<ToolText> LockServer::status(Asker& asker, Call& /*call*/, const Json& arguments) {
  service::Wanted wanted;
  wanted.texts = text_arguments(arguments, "resources");
  if (text_argument(arguments, "mode") == "shared") wanted.mode = core::Mode::kShared;
  auto out = wanted.texts.empty() ? everything(asker) : each_of(asker, wanted);
  if (!out) return out;
  add_grants(asker.owner, *out);
  if (wanted.texts.empty()) waiting_.mark_known(asker.owner);  // all of them were named
  return out;
}

// The caller's own leases come first.
Result<ToolText> LockServer::everything(Asker& asker) {
  LK_ASSIGN(service::ListReply reply, asker.locks.list({}));
  const auto is_mine = [&](const service::ListedLease& each) {
    return each.lease.held_by(asker.owner);
  };
  std::ranges::stable_partition(reply.leases, is_mine);
  ToolText out;
  std::string& text = out.message;
  const std::size_t leases = reply.leases.size();
  const std::size_t waiters = reply.waiters.size();
  for (std::size_t i = 0; i < leases && i < kLeasesShown; ++i) {
    const service::ListedLease& each = reply.leases[i];
    text += (is_mine(each) ? "Yours: " + own_lease_text(each, now_wall_ms())
                           : lease_text(each, now_wall_ms())) +
            "\n";
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
  out.next = "call lock_status with the resources that you want";
  return out;
}

// Checks each resource separately.
Result<ToolText> LockServer::each_of(Asker& asker, const service::Wanted& wanted) {
  std::vector<std::string> free, mine, held;
  std::vector<core::Conflict> conflicts;
  LK_CHECK(canonical(wanted));
  LK_CHECK(check_places(wanted));
  for (const std::string& resource : wanted.texts) {
    service::CheckCommand command;
    command.wanted = wanted;
    command.wanted.texts = {resource};
    LK_ASSIGN(core::CheckReply reply, asker.locks.check(command));
    (!reply.free ? held : reply.mine ? mine : free).push_back(resource);
    for (core::Conflict& each : reply.conflicts) conflicts.push_back(std::move(each));
  }
  ToolText out;
  for (const std::string& text : service::ended_texts(site_, asker.owner)) {
    out.message += "Stop: " + text + ".\n";
  }
  add_line(out.message, "Free: ", free);
  add_line(out.message, "Yours: ", mine);
  if (!held.empty()) {
    out.message += "Held: " + holders_text(conflicts, asker.owner, now_wall_ms()) + "\n";
  }
  service::Wanted others = wanted;
  others.texts = free;
  others.texts.insert(others.texts.end(), held.begin(), held.end());
  const auto resolved = asker.locks.resolve(others);
  const auto doubts = resolved ? asker.locks.doubts(*resolved) : std::vector<std::string>();
  for (const std::string& text : doubts) out.message += "Warning: " + text + ".\n";
  // Taking what is free and waiting for the rest would be a recipe for deadlock.
  if (!held.empty()) {
    out.next =
        "lock_acquire all that you need in one call, with wait_s: 45 to queue until all of "
        "it is free, or plan without what is held";
  } else if (!free.empty()) {
    out.next = "lock_acquire all that you will change, in one call";
  } else {
    out.next = "make your changes, then call lock_release";
  }
  out.json = {{"free", free}, {"mine", mine}, {"held", held}};
  if (!doubts.empty()) out.json["warnings"] = doubts;
  put_conflicts(out.json, conflicts);
  return out;
}

Result<ToolText> LockServer::message(Asker& asker, Call& /*call*/, const Json& arguments) {
  const bool sends =
      arguments.contains("text") || arguments.contains("to") || arguments.contains("holding");
  return sends ? send(asker, arguments) : read(asker);
}

Result<ToolText> LockServer::read(Asker& asker) {
  LK_ASSIGN(const std::vector<core::Message> unread,
            service::Messages(site_, asker.owner).read({}));
  ToolText out;
  out.json = service::messages_json("messages", unread);
  for (const core::Message& each : unread) {
    out.message += message_line(each, now_wall_ms()) + "\n";
  }
  if (unread.empty()) out.message = "No new messages";
  out.next = unread.empty() ? "continue" : "answer with lock_message if that helps your own task";
  return out;
}

Result<ToolText> LockServer::send(Asker& asker, const Json& arguments) {
  service::SendCommand command;
  command.text = text_argument(arguments, "text");
  command.to = service::receiver_of(text_argument(arguments, "to"));
  const std::string held = text_argument(arguments, "holding");
  if (!held.empty()) command.to_holders_of.texts = {held};
  if (command.to.agent.empty() && held.empty()) {
    return fail(Code::kInvalidInput, "the message has no receiver",
                "give to (an agent) or holding (a resource)");
  }
  service::Messages messages(site_, asker.owner);
  LK_ASSIGN(const std::vector<core::Message> sent, messages.send(command));
  ToolText out;
  out.json = service::messages_json("messages", sent);
  std::vector<std::string> whom;
  for (const core::Message& each : sent) whom.push_back(shown(each.to.agent));
  out.message = "Sent to " + join(whom, ", ") + ", shown at its next call";
  for (const std::string& warning : messages.doubts(sent)) {
    out.json["warnings"].push_back(warning);
    out.message += ". Warning: " + warning;
  }
  out.next = "work on something else meanwhile";
  return out;
}

}  // namespace lockkeeper::mcp::locks
