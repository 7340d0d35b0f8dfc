// The tools that are known: what each does, and which of its arguments are paths.
#pragma once

#include <optional>
#include <string_view>

#include "enforce/event.h"

namespace lockkeeper::enforce {

enum class Does {
  kNothing,
  kEdit,
  kReplace,      // the whole content
  kMove,         // the second path becomes what the first was
  kPatch,        // the arguments are the text of a patch
  kShell,        // the argument is a command
  kEditOrPatch,  // one name for two tools
  kByCommand,    // its argument "command" says which
  kBatch,        // several calls in one, for which no hook runs
};

struct KnownTool {
  std::string_view tool;
  Does does = Does::kNothing;
  // Each must be there: "source destination". Of "a|b" one must.
  std::string_view arguments = {};
};

// nullptr: not known.
const KnownTool* known_tool(Client client, std::string_view tool);

// A tool of an MCP server, as the client spells it.
struct McpTool {
  bool ours = false;       // of our own server
  std::string_view files;  // of a filesystem server: the tool's own name; otherwise empty
};
// nullopt: not the name of an MCP tool.
std::optional<McpTool> mcp_tool(Client client, std::string_view tool);
// nullptr: not a tool of the filesystem servers.
const KnownTool* filesystem_tool(std::string_view tool);

}  // namespace lockkeeper::enforce
