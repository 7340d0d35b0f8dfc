// How clients spell the tools of MCP servers:
//
//   Claude Code, Codex   mcp__SERVER__TOOL, and mcp__plugin_PLUGIN_SERVER__TOOL
//   Gemini CLI           mcp_SERVER_TOOL
//   Copilot              SERVER-TOOL
//   opencode             SERVER_TOOL
//   Cursor               MCP:TOOL, without its server
#include <array>
#include <span>

#include "enforce/tool_table.h"

namespace lockkeeper::enforce {
namespace {

constexpr auto kOurServers = std::to_array<std::string_view>({"lockkeeper", "lock"});
constexpr auto kFileServers =
    std::to_array<std::string_view>({"filesystem", "server-filesystem", "fs"});

// What stands behind "SERVER" and `between`, for the first server that fits; empty: none does.
std::string_view behind_server(std::string_view name, std::span<const std::string_view> servers,
                               std::string_view between) {
  for (const std::string_view server : servers) {
    if (!name.starts_with(server)) continue;
    const std::string_view rest = name.substr(server.size());
    if (rest.size() > between.size() && rest.starts_with(between)) {
      return rest.substr(between.size());
    }
  }
  return {};
}

McpTool of_server(std::string_view name, std::string_view between) {
  if (!behind_server(name, kOurServers, between).empty()) return {.ours = true, .files = {}};
  return {.ours = false, .files = behind_server(name, kFileServers, between)};
}

McpTool with_double_underscores(std::string_view name) {
  constexpr std::string_view kOurPlugin = "plugin_lockkeeper_";
  if (name.starts_with(kOurPlugin)) name.remove_prefix(kOurPlugin.size());
  return of_server(name, "__");
}

McpTool without_server(std::string_view tool) {
  if (tool.starts_with("lock_")) return {.ours = true, .files = {}};
  return {.ours = false, .files = filesystem_tool(tool) != nullptr ? tool : std::string_view()};
}

}  // namespace

std::optional<McpTool> mcp_tool(Client client, std::string_view tool) {
  if (tool.starts_with("mcp__")) return with_double_underscores(tool.substr(5));
  if (client == Client::kGemini) {
    if (!tool.starts_with("mcp_")) return std::nullopt;
    return of_server(tool.substr(4), "_");
  }
  if (client == Client::kCursor) {
    if (!tool.starts_with("MCP:")) return std::nullopt;
    return without_server(tool.substr(4));
  }
  // The others mark no MCP tool as such: only the servers that are known can be told.
  if (client != Client::kCopilot && client != Client::kOpencode) return std::nullopt;
  McpTool found = of_server(tool, client == Client::kCopilot ? "-" : "_");
  if (!found.ours && found.files.empty()) return std::nullopt;
  return found;
}

}  // namespace lockkeeper::enforce
