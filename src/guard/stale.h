// Traces that tell of nothing any more, because somebody has committed or reverted the file without
// our hooks, or git stores another content than the file has (line ends, filters).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/trace.h"
#include "guard/scene.h"

namespace lockkeeper::guard {

// Takes out those on these paths whose content a later commit of HEAD had. Git is asked only if one
// of them is another party's and not in HEAD.
void drop_committed_since(const Scene& scene, const std::vector<CommittedPath>& paths,
                          std::vector<core::Trace>& traces);

// Those whose file is as the last commit has it. `head`: the contents at their paths.
Result<std::vector<core::Change>> clean_changes(const Scene& scene,
                                                const std::map<std::string, std::string>& head,
                                                const std::vector<core::Trace>& traces);

}  // namespace lockkeeper::guard
