#include "cli/verbs/feature_option.h"

#include "base/text.h"
#include "service/pause.h"

namespace lockkeeper::cli {

Result<std::string> feature_to_obey(const VerbContext& context,
                                    const std::optional<std::string>& flag) {
  const auto& env = context.runtime().env;
  std::string feature = flag ? *flag : realm::variable(env, "LOCKKEEPER_FEATURE").value_or("");
  if (!flag && feature.empty()) return feature;
  if (auto parsed = key::parse(service::pause_key(feature), {}); !parsed) {
    return fail(Code::kInvalidInput,
                std::string(flag ? "--feature" : "LOCKKEEPER_FEATURE") + " " + quote(feature, 60) +
                    ": " + parsed.error().message,
                parsed.error().hint);
  }
  return feature;
}

}  // namespace lockkeeper::cli
