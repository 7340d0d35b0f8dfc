// opencode starts no programs as hooks. Our plugin for it does: one process of `lockkeeper hook
// opencode` for each event, with the event on its standard input.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lockkeeper::install {

// The whole file.
std::string plugin_text(std::string_view program);
// Is this file a plugin that we wrote, of any version?
bool is_our_plugin(std::string_view text);
// The program that it starts; nullopt: it is not ours.
std::optional<std::string> program_of_plugin(std::string_view text);

}  // namespace lockkeeper::install
