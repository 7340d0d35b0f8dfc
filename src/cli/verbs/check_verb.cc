// `check`: is it free, or mine? Changes nothing, creates nothing.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/verbs/notices.h"
#include "cli/verbs/verbs.h"
#include "service/questions.h"
#include "service/report.h"

namespace lockkeeper::cli {
namespace {

constexpr std::uint64_t kFenceMax = (std::uint64_t{1} << 53) - 1;

// Names those of them that are not the caller's own.
Result<Error> not_held_error(VerbContext& context, service::Locks& locks,
                             service::CheckCommand command,
                             const std::vector<std::string>& resources) {
  std::vector<std::string> missing;
  for (const std::string& resource : resources) {
    command.wanted.texts = {resource};
    LK_ASSIGN(const auto one, locks.check(command));
    if (!one.mine) missing.push_back(resource);
  }
  if (missing.empty()) missing = resources;  // it may have changed meanwhile
  return Error{Code::kNotFound,
               shown(locks.owner().agent) + " does not hold " + shown_list(missing, 3),
               "acquire it first: lockkeeper acquire " + service::shell_name(missing.front()) +
                   context.repeated_flags()};
}

void tell_warnings(Output& out, const std::vector<std::string>& texts, service::Json& json) {
  for (const std::string& text : texts) {
    json["warnings"].push_back(text);
    out.warning(text);
  }
}

// All but the flags.
service::HintContext asked_by(const VerbContext& context, const OpenLocks& open,
                              const service::Wanted& wanted) {
  service::HintContext asked;
  asked.resources = wanted.texts;
  asked.asker = open.locks.owner();
  asked.now_wall_ms = context.now_wall_ms();
  asked.checked = true;
  asked.names = names_of(context, open, wanted);
  return asked;
}

}  // namespace

Result<int> check_verb(VerbContext& context) {
  service::CheckCommand command;
  std::vector<std::string> resources;
  std::optional<std::string> mode, fence, lease;
  bool held = false, literal = false, glob = false;
  Arguments& arguments = context.arguments();
  arguments.words("RESOURCE…", resources, "what to check");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.value("--mode", mode, "MODE", "exclusive (default) or shared");
  arguments.offer({"exclusive", "shared"});
  arguments.value("--fence", fence, "N",
                  "is your lease with this fence live and on RESOURCE, in\nany mode or in --mode?");
  arguments.value("--lease", lease, "ID", "with --fence: not yours, but that lease");
  arguments.offer(Arguments::Complete::kLeases);
  arguments.flag("--held", held, "succeed only if you hold it");
  arguments.flag("--literal", literal, "take * ? [ { only as a name, never as a pattern");
  arguments.flag("--glob", glob, "take * ? [ { only as a pattern, not also as a name");
  if (const auto status = context.parse_some(resources, "a resource")) return *status;
  Output& out = context.out();
  LK_ASSIGN(command.wanted, context.wanted(resources));
  if (literal) command.wanted.syntax = key::Syntax::kLiteral;
  if (glob) command.wanted.syntax = key::Syntax::kGlob;
  LK_ASSIGN(command.wanted.mode, parse_mode(mode));
  if (lease && !fence) {
    return fail(Code::kUsage, "--lease needs --fence", "add --fence N, or omit --lease");
  }
  if (fence) {
    LK_ASSIGN(command.fence, parse_number(*fence, "--fence", kFenceMax));
    command.lease_id = lease.value_or("");
    // Whatever the mode of the lease is, unless it matters.
    if (!mode) command.wanted.mode = core::Mode::kShared;
  }
  if (held) context.allow_bad_settings();
  LK_ASSIGN(auto open, context.open(resources));
  expect_notices(context, *open);
  LK_ASSIGN(const auto resolved, open->locks.resolve(command.wanted));
  LK_ASSIGN(const auto reply, open->locks.check(command, resolved));
  service::Json json = service::check_json(reply);
  tell_notices(context, *open, json);
  if (fence && !reply.fence_current) {
    return out.failed(
        {Code::kLost,
         (lease ? "no live lease " + shown(*lease) + " with fence "
                : shown(open->locks.owner().agent) + " has no live lease that has fence ") +
             *fence + (lease ? " covers " : " and covers ") + shown_list(resources, 1),
         "stop changing it and ask for it again"},
        std::move(json));
  }
  if (!reply.mine && !fence) tell_warnings(out, open->locks.doubts(resolved), json);
  if (!fence && service::is_held(reply)) {
    service::HintContext asked = asked_by(context, *open, command.wanted);
    add_flag(asked.flags, "--mode", mode);
    asked.flags += std::string(literal ? " --literal" : "") + (glob ? " --glob" : "");
    asked.flags += context.repeated_flags();
    return out.failed(service::held_error(reply.conflicts, asked), std::move(json));
  }
  if (held && !reply.mine) {
    LK_ASSIGN(const Error error, not_held_error(context, open->locks, command, resources));
    return out.failed(error, std::move(json));
  }
  if (!reply.mine) {
    tell_warnings(out, service::ended_texts(open->site, open->locks.owner()), json);
    tell_remarks(context, *open, command.wanted, resolved, json);
  }
  out.object(json);
  out.text(fence ? "current" : reply.mine ? "mine" : "free");
  return 0;
}

}  // namespace lockkeeper::cli
