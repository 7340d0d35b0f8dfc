// Our lines in a repository's `config`, by which everybody's git there runs our hooks (`install
// git`). They come last and include a file of ours: so core.hooksPath as others have set it, or set
// it later, stays in the file, is found by our hooks, and is in force again once the lines are
// gone.
#pragma once

#include <string>
#include <string_view>

namespace lockkeeper::git {

// The file that the lines include, beside `config`; and what is in it.
inline constexpr std::string_view kIncludedConfig = "lockkeeper-hooks.config";
std::string included_text(std::string_view hooks_folder);

bool has_config_block(std::string_view config);
std::string with_config_block(std::string_view config);
// As it was before with_config_block(), whatever else has changed. Lines that somebody has written
// into our section stay in one of its name.
std::string without_config_block(std::string_view config);

}  // namespace lockkeeper::git
