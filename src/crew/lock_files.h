// The run's locks as files of the workflow protocol: OUTPUT/locks/ shows who works on what, and
// lock files that other tools write there count.
#pragma once

#include <string>

#include "core/types.h"
#include "crew/record/run_files.h"
#include "service/site.h"

namespace lockkeeper::crew {

// Notes in the attempt's folder which lease it got, for forget_lost().
Result<void> note_lease(const Folder& attempt, const core::Lease& lease);
// Removes what shows that lease to other tools, if the table does not know the lease: it was lost
// with its store, so nobody else would ever recognise its files as ours. REQUIRES: whoever worked
// under it is gone.
Result<void> forget_lost(service::Site& site, const Folder& attempt);

class LockFiles {
 public:
  // Registers OUTPUT as a workflow layout, if the program has that kind. The agents of the run with
  // that session are shown as {agent}.lock.
  Result<void> show(service::Site& site, const Folder& output, const std::string& session);
  // Unregisters it, unless it was registered before; removes locks/ if it is empty.
  Result<void> hide(service::Site& site, const Folder& output);

 private:
  std::string layout_;  // registered by us
};

}  // namespace lockkeeper::crew
