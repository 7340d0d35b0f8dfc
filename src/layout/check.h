// Do the artefacts on disk agree with the table? For `doctor`. Writes nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layout/lock_table.h"

namespace lockkeeper::layout {

// How one lease of ours and what should show it differ.
struct LayoutDisagreement {
  std::string path;     // of the artefact
  std::string message;  // what is wrong with it
};

// Every live lease that is recorded as shown, in every layout of the realm; nullopt: there is none.
// What is about to be published counts as shown. store_unavailable if a layout cannot be read.
Result<std::optional<std::vector<LayoutDisagreement>>> check_layouts(LockTable& table);

}  // namespace lockkeeper::layout
