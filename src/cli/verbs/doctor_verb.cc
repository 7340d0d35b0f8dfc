// `doctor [--repair]`: explains a damaged store and repairs it on request. Declares its flags, then
// calls CliEnvironment::doctor.
#include "base/assert.h"
#include "cli/context.h"
#include "cli/verbs/verbs.h"

namespace lockkeeper::cli {

Result<int> doctor_verb(VerbContext& context) {
  bool repair = false;
  context.arguments().flag("--repair", repair,
                           "rebuild the store from what can be read; the damaged files are kept");
  if (const auto status = context.parse()) return *status;
  LOCKKEEPER_ASSERT(context.environment().doctor);
  return context.environment().doctor(context, repair);
}

}  // namespace lockkeeper::cli
