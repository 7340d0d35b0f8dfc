// `workflow run`: runs a plan's agents side by side, each under its locks; and `workflow keep`, the
// process behind each of them.
#pragma once

#include "cli/context.h"

namespace lockkeeper::cli {

// Below the realm's root: the OUTPUT of runs without --output.
inline constexpr const char* kDefaultOutputs = ".workflow";

Result<int> workflow_run(VerbContext& context);

// The folder of --output, physical; created with its missing parents.
Result<std::string> make_output_folder(const std::string& path);

// Started only by `workflow run`, with its attempt's folder.
Result<int> workflow_keep(VerbContext& context);

}  // namespace lockkeeper::cli
