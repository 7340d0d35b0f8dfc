#include "cli/verbs/plan_input.h"

#include "base/fd.h"
#include "yaml/document.h"

namespace lockkeeper::cli {

Result<PlanRules> plan_rules(const VerbContext& context) {
  const auto realm = context.realm({});
  if (!realm) return PlanRules{};
  LK_ASSIGN(const realm::Settings settings, realm::load_settings(*realm, context.runtime().env));
  PlanRules rules{settings.key_rules(*realm), realm->root};
  rules.keys.strict = false;
  return rules;
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
