// The input schemas of other protocols' tools: their names, required arguments and defaults. Our
// additions are optional.
#include "mcp/locks/dialects.h"
#include "mcp/locks/schemas.h"

namespace lockkeeper::mcp::locks {
namespace {

// Their clients also send null for what they omit; that it is the default need not be said.
Json maybe(const char* type, Json otherwise, const char* description = nullptr) {
  Json json{{"type", {type, "null"}}};
  if (!otherwise.is_null()) json["default"] = std::move(otherwise);
  if (description != nullptr) json["description"] = description;
  return json;
}

Json texts() {
  return {{"type", "array"}, {"items", text_schema()}};
}

Tool tool(const char* name, const char* description, Json properties, Json required,
          Json annotations) {
  Tool tool;
  tool.name = name;
  tool.description = description;
  tool.input_schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) tool.input_schema["required"] = std::move(required);
  tool.input_schema["additionalProperties"] = false;
  tool.output_schema = {{"type", "object"}, {"properties", {{"success", {{"type", "boolean"}}}}}};
  tool.annotations = std::move(annotations);
  return tool;
}

// The caller, where one server has several agents.
Json caller_and(Json properties) {
  properties["agent_id"] = maybe("string", nullptr, "your id; default: AGENT_ID");
  properties["session_id"] = maybe("string", nullptr);
  return properties;
}

Json project_and(Json properties) {
  properties["project_name"] = maybe("string", nullptr);
  properties["workspace_path"] = maybe("string", nullptr);
  return properties;
}

}  // namespace

std::vector<Tool> Dialects::coordmcp_tools() {
  const Json files{{"agent_id", text_schema()}, {"project_id", text_schema()}, {"files", texts()}};
  Json lock = files;
  lock["reason"] = text_schema();
  lock["expected_duration_minutes"] = maybe("integer", 60);
  lock["wait"] = maybe("string", nullptr, "wait in the queue, at most 45s");
  return {
      with(tool("lock_files",
                "Lock files before changing them: all or none. A conflict names the holders.", lock,
                {"agent_id", "project_id", "files", "reason"}, hints(false, true)),
           &Dialects::lock_files),
      with(tool("unlock_files", "Unlock files as soon as the work on them is done.", files,
                {"agent_id", "project_id", "files"}, hints(false, true)),
           &Dialects::unlock_files),
      with(tool("get_locked_files", "Which files are locked, and by whom. Call it before you plan.",
                project_and({{"project_id", maybe("string", nullptr)}}), Json::array(),
                hints(true, true)),
           &Dialects::get_locked_files),
      with(tool("get_free_files", "Which of these files are free, and who holds the others.", files,
                {"agent_id", "project_id", "files"}, hints(true, true)),
           &Dialects::get_free_files),
      with(tool("cleanup_stale_locks", "Remove expired locks.",
                project_and({{"project_id", maybe("string", nullptr)}}), Json::array(),
                hints(false, true)),
           &Dialects::cleanup_stale_locks),
      with(
          tool("send_message", "Send a message to an agent, or to all: \"broadcast\".",
               {{"from_agent_id", text_schema()},
                {"to_agent_id", text_schema()},
                {"project_id", text_schema()},
                {"content", text_schema()},
                {"message_type", maybe("string", "update", "request update alert question review")},
                {"related_task_id", maybe("string", nullptr)}},
               {"from_agent_id", "to_agent_id", "project_id", "content"}, hints(false, false)),
          &Dialects::send_message),
      with(tool("get_messages", "Messages to an agent, newest first.",
                project_and({{"agent_id", text_schema()},
                             {"project_id", maybe("string", nullptr)},
                             {"unread_only", maybe("boolean", false)},
                             {"limit", maybe("integer", 50)}}),
                {"agent_id"}, hints(true, true)),
           &Dialects::get_messages),
      with(tool("mark_message_read", "Mark a message as read.",
                {{"agent_id", text_schema()}, {"message_id", text_schema()}},
                {"agent_id", "message_id"}, hints(false, true)),
           &Dialects::mark_message_read)};
}

std::vector<Tool> Dialects::coordinator_tools() {
  Json lock = {
      {"file_path", text_schema("a path from the repository's root, or a key like api:GET /v1/x")},
      {"reason", maybe("string", nullptr)},
      {"ttl_minutes", maybe("integer", nullptr, "1 to 480, default 120")}};
  lock = caller_and(std::move(lock));
  lock["agent_type"] = maybe("string", nullptr);
  Tool check =
      tool("check_locks", "The locks on these paths, or all locks.",
           caller_and({{"file_paths", {{"type", {"array", "null"}}, {"items", text_schema()}}}}),
           Json::array(), hints(true, true));
  check.output_schema = {{"type", "object"}, {"properties", {{"result", {{"type", "array"}}}}}};
  return {with(tool("acquire_lock", "Lock a file or a key before changing it.", lock, {"file_path"},
                    hints(false, true)),
               &Dialects::acquire_lock),
          with(tool("release_lock", "Release a lock that you hold.",
                    caller_and({{"file_path", text_schema()}}), {"file_path"}, hints(false, true)),
               &Dialects::release_lock),
          with(std::move(check), &Dialects::check_locks),
          with(tool("allocate_ports", "Four ports for the services of a session.",
                    {{"session_id", text_schema()}}, {"session_id"}, hints(false, true)),
               &Dialects::allocate_ports),
          with(tool("release_ports", "Release a session's ports.", {{"session_id", text_schema()}},
                    {"session_id"}, hints(false, true)),
               &Dialects::release_ports),
          with(tool("ports_status", "Which session has which ports.", Json::object(), Json::array(),
                    hints(true, true)),
               &Dialects::ports_status)};
}

}  // namespace lockkeeper::mcp::locks
