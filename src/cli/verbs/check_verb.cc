// `check`: is it free, or mine? Changes nothing, creates nothing.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/verbs/untold_messages.h"
#include "cli/verbs/verbs.h"

namespace lockkeeper::cli {
namespace {

constexpr std::uint64_t kFenceMax = (std::uint64_t{1} << 53) - 1;

}  // namespace

Result<int> check_verb(VerbContext& context) {
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
  LK_ASSIGN(command.wanted, context.wanted(resources));
  if (literal) command.wanted.syntax = key::Syntax::kLiteral;
  if (glob) command.wanted.syntax = key::Syntax::kGlob;
  LK_ASSIGN(command.wanted.mode, parse_mode(mode));
  if (fence) {
    LK_ASSIGN(command.fence, parse_number(*fence, "--fence", kFenceMax));
  }
  LK_ASSIGN(auto open, context.open(resources));
  expect_messages(context, *open);
  LK_ASSIGN(const auto reply, open->locks.check(command));
  service::Json json = service::check_json(reply);
  tell_messages(context, *open, json);
  if (fence && !reply.fence_current) {
    return out.failed(
        {Code::kLost, "no live lease with fence " + *fence + " covers " + list_of(resources, 1),
         "stop changing it and ask for it again"},
        std::move(json));
  }
  if (!fence && !reply.free && !reply.mine) {
    service::HintContext asked;
    asked.resources = resources;
    asked.flags = (mode ? " --mode " + *mode : "") + context.repeated_flags();
    asked.now_wall_ms = context.now_wall_ms();
    asked.checked = true;
    return out.failed(service::held_error(reply.conflicts, asked), std::move(json));
  }
  if (held && !reply.mine) {
    return out.failed(
        {Code::kNotFound, open->locks.owner().agent + " does not hold " + list_of(resources, 1),
         "acquire it first: lockkeeper acquire " + shell_quote(resources.front()) +
             context.repeated_flags()},
        std::move(json));
  }
  out.object(json);
  out.text(fence ? "current" : reply.mine ? "mine" : "free");
  return 0;
}

}  // namespace lockkeeper::cli
