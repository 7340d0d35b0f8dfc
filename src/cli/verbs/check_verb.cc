// `check`: is it free, or mine? Changes nothing, creates nothing.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/verbs/untold_messages.h"
#include "cli/verbs/verbs.h"

namespace lockkeeper::cli {
namespace {

constexpr std::uint64_t kFenceMax = (std::uint64_t{1} << 53) - 1;

std::string names(const std::vector<std::string>& resources) {
  std::string text = resources.front();
  if (resources.size() > 1) text += " and " + std::to_string(resources.size() - 1) + " more";
  return text;
}

}  // namespace

int check_verb(VerbContext& context) {
  service::CheckCommand command;
  std::vector<std::string> resources;
  std::optional<std::string> mode, fence;
  bool held = false, literal = false, glob = false;
  Arguments& arguments = context.arguments();
  arguments.words("RESOURCE…", resources, "what to check");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.value("--mode", mode, "MODE", "exclusive (default) or shared");
  arguments.offer({"exclusive", "shared"});
  arguments.value("--fence", fence, "N", "is the lease with this fence live and on RESOURCE?");
  arguments.flag("--held", held, "succeed only if you hold it");
  arguments.flag("--literal", literal, "take * ? [ { literally, never as a pattern");
  arguments.flag("--glob", glob, "a pattern, even if a file has that name");
  if (const auto status = context.parse_some(resources, "a resource")) return *status;
  Output& out = context.out();
  auto wanted = context.wanted(resources);
  if (!wanted) return out.failed(wanted.error());
  command.wanted = std::move(*wanted);
  if (literal) command.wanted.syntax = key::Syntax::kLiteral;
  if (glob) command.wanted.syntax = key::Syntax::kGlob;
  const auto parsed_mode = parse_mode(mode);
  if (!parsed_mode) return out.failed(parsed_mode.error());
  command.wanted.mode = *parsed_mode;
  if (fence) {
    const auto number = parse_number(*fence, "--fence", kFenceMax);
    if (!number) return out.failed(number.error());
    command.fence = *number;
  }
  auto open = context.open(resources);
  if (!open) return out.failed(open.error());
  expect_messages(context, **open);
  const auto reply = (*open)->locks.check(command);
  if (!reply) return out.failed(reply.error());
  service::Json json = service::check_json(*reply);
  tell_messages(context, **open, json);
  if (fence && !reply->fence_current) {
    return out.failed(
        {Code::kLost, "no live lease with fence " + *fence + " covers " + names(resources),
         "stop changing it and ask for it again"},
        std::move(json));
  }
  if (!fence && !reply->free && !reply->mine) {
    service::HintContext asked;
    asked.resources = resources;
    asked.flags = (mode ? " --mode " + *mode : "") + context.repeated_flags();
    asked.now_wall_ms = context.now_wall_ms();
    asked.checked = true;
    return out.failed(service::held_error(reply->conflicts, asked), std::move(json));
  }
  if (held && !reply->mine) {
    return out.failed(
        {Code::kNotFound, (*open)->locks.owner().agent + " does not hold " + names(resources),
         "acquire it first: lockkeeper acquire " + shell_quote(resources.front()) +
             context.repeated_flags()},
        std::move(json));
  }
  out.object(json);
  out.text(fence ? "current" : reply->mine ? "mine" : "free");
  return 0;
}

}  // namespace lockkeeper::cli
