// Codex runs a hook only if its user trusted exactly this hook: config.toml has a hash of it, by
// file and position. As of Codex 0.166.
#pragma once

#include <string>
#include <string_view>

#include "install/clients.h"
#include "install/hooks_edit.h"

namespace lockkeeper::install {

// The key below hooks.state: "FILE:pre_tool_use:0:0".
std::string codex_trust_key(const std::string& file, const FoundHook& hook);

// "sha256:…" of a hook as put_hooks() writes it.
std::string codex_trust_hash(std::string_view program, const HookEvent& event);

}  // namespace lockkeeper::install
