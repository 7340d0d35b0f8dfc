// The run's locks as files of the workflow protocol: OUTPUT/locks/ shows who works on what, and
// lock files that other tools write there count.
#pragma once

#include <string>

#include "crew/run_files.h"
#include "layout/lock_table.h"

namespace lockkeeper::crew {

class LockFiles {
 public:
  // Registers OUTPUT as a workflow layout, if the program has that kind.
  Result<void> show(layout::LockTable& table, const Folder& output);
  // Unregisters it, unless it was registered before; removes locks/ if it is empty.
  Result<void> hide(layout::LockTable& table, const Folder& output);

 private:
  std::string layout_;  // registered by us
};

}  // namespace lockkeeper::crew
