#include "cli/verbs/plan_input.h"

#include <algorithm>

#include "base/fd.h"
#include "base/text.h"
#include "cli/verbs/plan_view.h"
#include "layout/registry.h"
#include "plan/validate.h"
#include "realm/children.h"
#include "realm/identity.h"
#include "yaml/document.h"

namespace lockkeeper::cli {

Result<PlanRules> plan_rules(const VerbContext& context) {
  const auto realm = context.realm({});
  if (!realm) return PlanRules{};
  LK_ASSIGN(const realm::Settings settings, layout::load_settings(context.runtime(), *realm));
  PlanRules rules{settings.key_rules(*realm), realm->root};
  rules.keys.strict = false;
  return rules;
}

plan::Children names_on_disk(const PlanRules& rules) {
  constexpr std::size_t kNamesMax = 20'000;
  return rules.root.empty() ? plan::Children() : realm::children_on_disk(rules.root, kNamesMax);
}

Result<void> check_planned_name(std::string_view name) {
  return realm::check_agent_name(name, "the name");
}

void tell_unknown_words(Output& out, const std::string& file,
                        const std::vector<plan::Finding>& findings) {
  constexpr std::size_t kTold = 10;
  std::size_t unknown = 0;
  for (const plan::Finding& each : findings) {
    if (each.rule != "schema" || ++unknown > kTold) continue;
    out.warning(place_of(file, each) + ": " + each.message +
                (each.hint.empty() ? "" : "; " + each.hint));
  }
  if (unknown > kTold) {
    out.warning("and " + counted(unknown - kTold, "more warning") + "; see: lockkeeper validate " +
                shell_quote(file));
  }
}

std::size_t tell_refusals(Output& out, const std::string& file, const std::string& text,
                          const key::Rules& keys) {
  plan::ValidateOptions options;
  options.agent_name = check_planned_name;
  options.keys = keys;
  const plan::Validated result = plan::validate(text, options);
  const std::size_t errors = result.count(plan::Severity::kError);
  if (errors == 0) return 0;
  const plan::Finding& first =
      *std::ranges::find(result.findings, plan::Severity::kError, &plan::Finding::severity);
  out.warning("validate refuses this plan: " + place_of(file, first) + ": " +
              printable(first.message) +
              (errors > 1 ? ", and " + counted(errors - 1, "more error") : "") +
              "; see: lockkeeper validate " + shell_quote(file));
  return errors;
}

Result<std::string> read_plan_text(const std::string& file) {
  auto text = read_file(file, yaml::DocumentLimits().bytes);
  if (text) return text;
  Error& error = text.error();
  if (error.code == Code::kFailed) error.code = Code::kInvalidInput;
  if (error.hint.empty()) {
    error.hint = error.code == Code::kNotFound        ? "name a file that exists"
                 : error.code == Code::kLimitExceeded ? "split the plan"
                                                      : "name a readable file with a plan";
  }
  return text;
}

}  // namespace lockkeeper::cli
