// For tests alone: what Claude Code and Codex tell their hooks, for any file and session.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace lockkeeper::enforce::hook {

using nlohmann::json;

struct Payloads {
  std::string root;  // of the repository
  std::string at(const std::string& name) const { return root + "/" + name; }

  json claude(const std::string& session, const std::string& name) const {
    return {{"session_id", session},
            {"transcript_path", "/t"},
            {"cwd", at("")},
            {"prompt_id", "p"},
            {"hook_event_name", name}};
  }
  static json as_subagent(json payload, const std::string& id) {
    payload["agent_id"] = id;
    payload["agent_type"] = "general-purpose";
    return payload;
  }
  json call(const std::string& session, const std::string& tool, const json& input,
            const std::string& id, const std::string& name = "PreToolUse") const {
    json payload = claude(session, name);
    payload["tool_name"] = tool;
    payload["tool_input"] = input;
    payload["tool_use_id"] = id;
    return payload;
  }
  json edit(const std::string& session, const std::string& file, const std::string& id) const {
    return call(session, "Edit",
                {{"file_path", at(file)}, {"old_string", "a"}, {"new_string", "b"}}, id);
  }
  json whole(const std::string& session, const std::string& file, const std::string& id) const {
    return call(session, "Write", {{"file_path", at(file)}, {"content", "x"}}, id);
  }
  json shell(const std::string& session, const std::string& id) const {
    return call(session, "Bash", {{"command", "make"}}, id);
  }
  // All calls of one answer of the model are over, each with what the model is told.
  json batch(const std::string& session,
             const std::vector<std::pair<json, std::string>>& calls) const {
    json payload = claude(session, "PostToolBatch");
    payload["tool_calls"] = json::array();
    for (const auto& [made, response] : calls) {
      payload["tool_calls"].push_back({{"tool_name", made["tool_name"]},
                                       {"tool_input", made["tool_input"]},
                                       {"tool_use_id", made["tool_use_id"]},
                                       {"tool_response", response}});
    }
    return payload;
  }
  json patch(const std::string& session, const std::string& text, const std::string& id) const {
    return {{"session_id", session},
            {"turn_id", "t"},
            {"cwd", at("")},
            {"hook_event_name", "PreToolUse"},
            {"model", "gpt-5.5"},
            {"tool_name", "apply_patch"},
            {"tool_use_id", id},
            {"tool_input", {{"command", "*** Begin Patch\n" + text + "*** End Patch\n"}}}};
  }
  json codex(const std::string& session, const std::string& name) const {
    return {{"session_id", session},
            {"turn_id", "t"},
            {"cwd", at("")},
            {"model", "gpt-5.5"},
            {"hook_event_name", name}};
  }
  static json after(json payload) {
    payload["hook_event_name"] = "PostToolUse";
    payload["tool_response"] = "ok";
    return payload;
  }
};

}  // namespace lockkeeper::enforce::hook
