// `break`: ends another owner's lease, with a reason, on record.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/verbs/keep_first.h"
#include "cli/verbs/verbs.h"
#include "service/names.h"

namespace lockkeeper::cli {

Result<int> break_verb(VerbContext& context) {
  service::BreakCommand command;
  std::vector<std::string> resources;
  std::optional<std::string> agent, reason;
  bool literal = false;
  Arguments& arguments = context.arguments();
  arguments.words("[RESOURCE…]", resources, "end the leases on these, each exactly as held");
  arguments.offer(Arguments::Complete::kTaken);
  arguments.values("--lease", command.lease_ids, "ID",
                   "end this lease, by id or a part of it that list shows;\nmay be repeated");
  arguments.offer(Arguments::Complete::kLeases);
  arguments.value("--agent", agent, "NAME",
                  "end all leases of this agent; with RESOURCE or\n--lease: your own name");
  arguments.offer(Arguments::Complete::kAgents);
  arguments.value("--reason", reason, "TEXT", "why; shown to the former holder");
  arguments.flag("--expired", command.only_expired, "only expired leases");
  arguments.flag("--dead", command.only_dead, "only leases whose process is gone");
  arguments.flag("--foreign", command.foreign, "only other tools' locks; removes their files");
  arguments.flag("--literal", literal, "take * ? [ { literally, never as a pattern");
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  if (resources.empty() && command.lease_ids.empty()) {
    command.agent = agent.value_or("");
  } else {
    context.act_as(agent);
  }
  command.reason = reason.value_or("");
  LK_ASSIGN(command.wanted, context.wanted(resources));
  if (literal) command.wanted.syntax = key::Syntax::kLiteral;
  context.allow_bad_settings();
  LK_ASSIGN(auto open, context.open(resources));
  keep_first(context, *open, snapshot::Why::kBreak, command.agent);
  LK_ASSIGN(const auto broken, open->locks.break_leases(command));
  out.object(service::leases_json("broken", broken));
  for (const core::Lease& lease : broken) {
    for (const std::string& text : service::spelled_texts(lease)) {
      out.prose("broke " + shown(text) + ", held by " + service::owner_text(lease.owner));
    }
  }
  return 0;
}

}  // namespace lockkeeper::cli
