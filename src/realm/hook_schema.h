// The tables of [hook] as a settings file has them: [[hook.path]] and [hook.tools].
#pragma once

#include <vector>

#include "base/error.h"
#include "realm/config_reader.h"
#include "realm/hook_settings.h"

namespace lockkeeper::realm {

// invalid_config names file, line, key, value and what was expected.
Result<RawHookPath> read_hook_path(const ConfigReader& file, const toml::table& table);

// In the order of the file.
Result<std::vector<HookToolRule>> read_hook_tools(const ConfigReader& file, const toml::node& node);

}  // namespace lockkeeper::realm
