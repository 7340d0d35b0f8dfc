// Do the artefacts on disk agree with the table? For `doctor`. Writes nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layout/lock_table.h"

namespace lockkeeper::layout {

// How a lease of ours differs from what should mirror it.
struct LayoutDisagreement {
  std::string path;     // of the artefact
  std::string message;  // what is wrong with it
};

// Checks every live lease that is recorded as mirrored, in every layout; nullopt: there is none.
// What is about to be published counts as mirrored. store_unavailable: a layout cannot be read.
Result<std::optional<std::vector<LayoutDisagreement>>> check_layouts(LockTable& table);

// Why a layout cannot be read, for each that cannot: the file's name and what to do.
Result<std::vector<Error>> unreadable_layouts(const LockTable& table);

}  // namespace lockkeeper::layout
