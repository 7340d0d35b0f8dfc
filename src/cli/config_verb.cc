#include "cli/verbs.h"
namespace lockkeeper::cli {
int config_verb(VerbContext& context) {
  if (const auto status = context.parse()) return *status;
  return 1;
}
}  // namespace lockkeeper::cli
