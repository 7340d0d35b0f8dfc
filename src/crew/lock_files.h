// The run's locks as files of the workflow protocol: OUTPUT/locks/ shows who works on what, and
// lock files that other tools write there count.
#pragma once

#include <string>

#include "crew/run_files.h"
#include "service/site.h"

namespace lockkeeper::crew {

class LockFiles {
 public:
  // Registers OUTPUT as a workflow layout, if the program has that kind.
  Result<void> show(service::Site& site, const Folder& output);
  // Unregisters it, unless it was registered before; removes locks/ if it is empty.
  Result<void> hide(service::Site& site, const Folder& output);

 private:
  std::string layout_;  // registered by us
};

}  // namespace lockkeeper::crew
