// `release` and `renew`.
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "cli/verbs/notices.h"
#include "cli/verbs/verbs.h"
#include "core/encoding.h"

namespace lockkeeper::cli {
namespace {

std::string released_text(const core::ReleaseReply& reply, const service::Names& names) {
  std::string text;
  const auto add = [&](const std::string& line) { text += (text.empty() ? "" : "\n") + line; };
  for (const std::string& key : service::spelled(reply.released)) {
    add("released " + shown(names.name(key)));
  }
  if (reply.released.empty()) add("nothing to release");
  return text;
}

void tell_ended(Output& out, const core::ReleaseReply& reply) {
  for (const auto& [key, cause] : reply.ended_before) {
    out.warning(service::ended_before_text(key, cause));
  }
}

void tell_rest(Output& out, const core::ReleaseReply& reply, const service::Names& names) {
  for (const std::string& key : reply.not_held) {
    out.note(shown(names.name(key)) + " was not held by you");
  }
  for (const auto& [key, owner] : reply.not_owner) {
    out.note(shown(names.name(key)) + " is held by " + service::owner_text(owner));
  }
}

// It was taken before the repository that it now lies in was made.
void tell_outside(VerbContext& context, const OpenLocks& open, const service::Wanted& wanted) {
  const std::string own = open.locks.own_outside(wanted);
  if (own.empty()) return;
  std::string flags;
  add_flag(flags, "--agent", context.common().agent);
  add_flag(flags, "--session", context.common().session);
  context.out().note(own + flags);
}

// What was not released because another session holds it may be the caller's own.
void tell_other_sessions(VerbContext& context, OpenLocks& open, const core::ReleaseReply& reply,
                         bool all) {
  const core::Owner& asker = open.locks.owner();
  std::set<std::string> flags;
  for (const auto& [key, owner] : reply.not_owner) flags.insert(service::flag_to_be(owner, asker));
  if (all && reply.released.empty()) {
    service::ListCommand command;
    command.agent = asker.agent;
    const auto listed = open.locks.list(command);
    for (const auto& one : listed ? listed->leases : std::vector<service::ListedLease>()) {
      if (!one.lease.foreign) flags.insert(service::flag_to_be(one.lease.owner, asker));
    }
  }
  flags.erase("");
  for (const std::string& flag : flags) {
    context.out().note(asker.agent + " holds locks in another session; this may be you: add " +
                       flag);
  }
}

}  // namespace

Result<int> release_verb(VerbContext& context) {
  service::ReleaseCommand command;
  std::vector<std::string> resources;
  std::optional<std::string> task;
  bool literal = false;
  Arguments& arguments = context.arguments();
  arguments.words("[RESOURCE…]", resources, "what to release, each exactly as it was acquired");
  arguments.offer(Arguments::Complete::kHeld);
  arguments.values("--lease", command.lease_ids, "ID",
                   "a whole lease, by id or a part of it that list shows;\nmay be repeated");
  arguments.offer(Arguments::Complete::kOwnLeases);
  arguments.value("--task", task, "ID", "all your leases of that task");
  arguments.flag("--all", command.all, "all your leases");
  arguments.flag("--literal", literal, "take * ? [ { literally, never as a pattern");
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  if (command.all && !resources.empty()) {
    return fail(Code::kUsage, "release takes resources or --all, not both",
                "omit --all, or the resources");
  }
  command.task = task.value_or("");
  LK_ASSIGN(command.wanted, context.wanted(resources));
  if (literal) command.wanted.syntax = key::Syntax::kLiteral;
  context.allow_bad_settings();
  LK_ASSIGN(auto open, context.open(resources));
  expect_notices(context, *open);
  LK_ASSIGN(const auto reply, open->locks.release(command));
  service::Json json = service::release_json(reply);
  tell_notices(context, *open, json);
  const service::Names names = names_of(context, *open, command.wanted);
  const std::optional<Error> error = service::release_error(reply, command.all, open->locks.owner(),
                                                            context.repeated_flags(), names);
  if (!error || !reply.released.empty()) out.prose(released_text(reply, names));
  tell_ended(out, reply);
  tell_other_sessions(context, *open, reply, command.all);
  if (error) {
    tell_outside(context, *open, command.wanted);
    return out.failed(*error, std::move(json));
  }
  tell_rest(out, reply, names);
  out.object(json);
  return 0;
}

Result<int> renew_verb(VerbContext& context) {
  service::RenewCommand command;
  std::vector<std::string> resources;
  std::optional<std::string> ttl;
  Arguments& arguments = context.arguments();
  arguments.words("[RESOURCE…]", resources, "renew the leases on these");
  arguments.offer(Arguments::Complete::kHeld);
  arguments.values("--lease", command.lease_ids, "ID",
                   "a lease, by id or a part of it that list shows; may\nbe repeated");
  arguments.offer(Arguments::Complete::kOwnLeases);
  arguments.flag("--all", command.all, "all your leases");
  arguments.value("--ttl", ttl, "DURATION",
                  "from now on; never shortens (default: each\nlease's own ttl)");
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  if (ttl) {
    LK_ASSIGN(command.ttl_ms, parse_duration_ms(*ttl, {.allow_none = true}));
  }
  LK_ASSIGN(command.wanted, context.wanted(resources));
  LK_ASSIGN(auto open, context.open(resources));
  expect_notices(context, *open);
  LK_ASSIGN(const auto renewed, open->locks.renew(command));
  service::Json json = service::leases_json("renewed", renewed);
  const bool lost = tell_notices(context, *open, json);
  out.object(json);
  for (const core::Lease& lease : renewed) {
    for (const std::string& text : service::spelled_texts(lease)) {
      out.prose("renewed " + shown(text) + ", " + service::end_text(lease, context.now_wall_ms()));
    }
    const bool longer = command.ttl_ms && *command.ttl_ms != kNoEnd &&
                        (lease.expires_wall_ms == kNoEnd || lease.terms.ttl_ms > *command.ttl_ms);
    if (longer) out.note("a renewal never shortens a lease: it ends when it would have ended");
  }
  if (renewed.empty()) out.text(lost ? "nothing is left to renew" : "nothing to renew");
  return lost ? exit_status(Code::kLost) : 0;
}

}  // namespace lockkeeper::cli
