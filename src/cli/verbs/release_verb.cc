// `release` and `renew`.
#include <nlohmann/json.hpp>

#include "cli/verbs/untold_messages.h"
#include "cli/verbs/verbs.h"

namespace lockkeeper::cli {
namespace {

std::string released_text(const core::ReleaseReply& reply) {
  std::string text;
  const auto add = [&](const std::string& line) { text += (text.empty() ? "" : "\n") + line; };
  for (const std::string& key : reply.released) add("released " + key);
  if (reply.released.empty()) add("nothing to release");
  return text;
}

void tell_rest(Output& out, const core::ReleaseReply& reply) {
  for (const std::string& key : reply.not_held) out.note(key + " was not held by you");
  for (const auto& [key, owner] : reply.not_owner) {
    out.note(key + " is held by " + service::owner_text(owner));
  }
}

}  // namespace

Result<int> release_verb(VerbContext& context) {
  service::ReleaseCommand command;
  std::vector<std::string> resources;
  std::optional<std::string> task;
  bool literal = false;
  Arguments& arguments = context.arguments();
  arguments.words("RESOURCE…", resources, "what to release, each exactly as it was acquired");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.values("--lease", command.lease_ids, "ID", "a whole lease; may be repeated");
  arguments.value("--task", task, "ID", "all your leases of that task");
  arguments.flag("--all", command.all, "all your leases");
  arguments.flag("--literal", literal, "take * ? [ { literally, never as a pattern");
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  command.task = task.value_or("");
  LK_ASSIGN(command.wanted, context.wanted(resources));
  if (literal) command.wanted.syntax = key::Syntax::kLiteral;
  LK_ASSIGN(auto open, context.open(resources));
  expect_messages(context, *open);
  LK_ASSIGN(const auto reply, open->locks.release(command));
  service::Json json = service::release_json(reply);
  tell_messages(context, *open, json);
  // The lease may have been taken away; then its owner must be told.
  if (!reply.not_held.empty()) {
    const auto losses = open->locks.take_lost_notices();
    for (const core::LostLease& lost : losses.value_or(std::vector<core::LostLease>())) {
      out.warning(service::lost_text(lost));
      json["lost"].push_back(service::lost_json(lost));
    }
  }
  const std::optional<Error> error = service::release_error(reply, command.all);
  if (!error || !reply.released.empty()) out.text(released_text(reply));
  if (error) return out.failed(*error, std::move(json));
  tell_rest(out, reply);
  out.object(json);
  return 0;
}

Result<int> renew_verb(VerbContext& context) {
  service::RenewCommand command;
  std::vector<std::string> resources;
  std::optional<std::string> ttl;
  Arguments& arguments = context.arguments();
  arguments.words("RESOURCE…", resources, "renew the leases on these");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.values("--lease", command.lease_ids, "ID", "a lease; may be repeated");
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
  expect_messages(context, *open);
  LK_ASSIGN(const auto renewed, open->locks.renew(command));
  service::Json json = service::leases_json("renewed", renewed);
  tell_messages(context, *open, json);
  out.object(json);
  for (const core::Lease& lease : renewed) {
    for (const core::Claim& claim : lease.claims) {
      out.text("renewed " + claim.resource.text() + ", " +
               service::end_text(lease, context.now_wall_ms()));
    }
  }
  if (renewed.empty()) out.text("nothing to renew");
  return 0;
}

}  // namespace lockkeeper::cli
