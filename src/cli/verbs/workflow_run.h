// `workflow run`: a plan's agents, side by side, each under its locks; and `workflow keep`, the
// process that stands behind each of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"

namespace lockkeeper::cli {

struct WorkflowRunOptions {
  std::string file;
  std::optional<std::string> output;
  std::optional<std::string> jobs;
  std::optional<std::string> grace;
  std::vector<std::string> command;
  bool resume = false;
  bool restart = false;
  bool strict_scope = false;
  bool no_scope_check = false;
};

int workflow_run(VerbContext& context, const WorkflowRunOptions& options);

// Started by `workflow run` alone, with its attempt's folder.
int workflow_keep(VerbContext& context, const std::string& folder);

}  // namespace lockkeeper::cli
