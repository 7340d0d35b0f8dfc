// The run's locks as the workflow document has them: whoever reads OUTPUT/locks/ sees who works on
// what, and who writes there is heeded.
#pragma once

#include <string>

#include "crew/run_files.h"
#include "service/site.h"

namespace lockkeeper::crew {

class LockFiles {
 public:
  // Registers OUTPUT as a layout of that kind, where the program knows it.
  Result<void> show(service::Site& site, const Folder& output);
  // Takes it back, unless it was there before; an empty locks/ goes with it.
  Result<void> hide(service::Site& site, const Folder& output);

 private:
  std::string layout_;  // registered by us
};

}  // namespace lockkeeper::crew
