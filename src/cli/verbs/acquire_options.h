// The options that `acquire` and `run` share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"

namespace lockkeeper::cli {

struct AcquireOptions {
  std::optional<std::string> mode, ttl, wait, reason, task, request_id, attach, from;
  bool literal = false;
  bool glob = false;
  std::vector<std::string> resources;
};

// Declares them all; `run` has no --attach, because it is attached to its command.
void declare_acquire(Arguments& arguments, AcquireOptions& options, bool with_attach);

// Reads --from FILE and the word "-" (stdin) into options.resources, one per line. usage if no
// resource is given; limit_exceeded beyond 64 MiB.
Result<void> read_resources(const VerbContext& context, AcquireOptions& options);

// Checks the values and fills in the command except on_wait. invalid_input, usage.
Result<service::AcquireCommand> acquire_command(const VerbContext& context,
                                                const AcquireOptions& options);

// For the hint of a refusal.
service::HintContext asked(const VerbContext& context, const AcquireOptions& options);

}  // namespace lockkeeper::cli
