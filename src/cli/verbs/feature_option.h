// --feature: whose pause a command obeys.
#pragma once

#include <optional>
#include <string>

#include "cli/context.h"

namespace lockkeeper::cli {

// The value of --feature, or LOCKKEEPER_FEATURE; empty: neither is given. An invalid name is
// refused before anything is done.
Result<std::string> feature_to_obey(const VerbContext& context,
                                    const std::optional<std::string>& flag);

}  // namespace lockkeeper::cli
