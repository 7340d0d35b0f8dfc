#include "install/codex_trust.h"

#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "base/text.h"
#include "install/entry.h"

namespace lockkeeper::install {
namespace {

// "PreToolUse" → "pre_tool_use"
std::string snake_case(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const char small = ascii_lower(c);
    if (small != c && !out.empty()) out += '_';
    out += small;
  }
  return out;
}

}  // namespace

std::string codex_trust_key(const std::string& file, const FoundHook& hook) {
  return file + ":" + snake_case(hook.event) + ":" + std::to_string(hook.entry) + ":" +
         std::to_string(hook.handler);
}

std::string codex_trust_hash(std::string_view program, const HookEvent& event) {
  // Codex hashes compact JSON with sorted keys, which this type writes.
  nlohmann::json hashed = hook_entry(program, facts_of(Client::kCodex), Scope::kUser, event);
  hashed["event_name"] = snake_case(event.name);
  for (nlohmann::json& handler : hashed["hooks"]) handler["async"] = false;
  return "sha256:" +
         sha256_hex(hashed.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace lockkeeper::install
