#include "cli/verbs/doctor_verb.h"

#include "base/assert.h"

namespace lockkeeper::cli {

int doctor_verb(VerbContext& context) {
  bool repair = false;
  context.arguments().flag(
      "--repair", repair,
      "build the store anew from what can be read, keeping the bad files aside");
  if (const auto status = context.parse()) return *status;
  LOCKKEEPER_ASSERT(context.environment().doctor);
  return context.environment().doctor(context, repair);
}

}  // namespace lockkeeper::cli
