// `doctor [--repair [--force]]`: explains a damaged store and repairs it on request. Declares its
// flags, then calls CliEnvironment::doctor.
#include "base/assert.h"
#include "cli/context.h"
#include "cli/verbs/verbs.h"

namespace lockkeeper::cli {

Result<int> doctor_verb(VerbContext& context) {
  bool repair = false;
  bool force = false;
  context.arguments().flag("--repair", repair,
                           "rebuild a damaged store from what can be read; the\ndamaged files are "
                           "kept, the last three of them");
  context.arguments().flag("--force", force, "with --repair: rebuild it even if nothing is wrong");
  if (const auto status = context.parse()) return *status;
  if (force && !repair) {
    return fail(Code::kUsage, "--force only goes with --repair",
                "lockkeeper doctor --repair --force");
  }
  LOCKKEEPER_ASSERT(context.environment().doctor);
  const Repair how = force ? Repair::kAnyway : repair ? Repair::kIfNeeded : Repair::kNo;
  return context.environment().doctor(context, how);
}

}  // namespace lockkeeper::cli
