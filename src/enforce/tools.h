// What a tool call does to files: the paths that it names, and how.
//
// Clients, and the MCP servers that they talk to, spell their tools differently. tool_table.h has
// the known ones; the settings may add others, or change what is known.
//
// Thread safety: plain values and free functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "enforce/event.h"

namespace lockkeeper::enforce {

struct Touch {
  enum class What {
    kNothing,  // it reads, or does something else that changes no file
    kEdit,     // `paths` are created, changed, deleted or moved
    kShell,    // any file may change; `command` is what runs, as far as the client says
    kOwnMcp,   // a tool of our own MCP server
    kUnknown,  // any file may change
  };
  What what = What::kUnknown;
  std::vector<std::string> paths = {};  // as the call has them, each once; may be relative to cwd
  std::vector<std::string> replaced = {};  // those of `paths` whose content goes, whatever it is
  std::string command = {};
};

// A line of the settings' `[hook.tools]`. Rules are asked in their order, before our own table.
struct ToolRule {
  std::string tool;                // the tool's name; matches_text() of base/text.h
  std::vector<std::string> paths;  // arguments: "path", "target.file", "/edits/0/path"; in an array
                                   // each element is looked at
  std::string does;                // "edit", "replace", "patch", "shell" or "nothing"
};

// A call that edits files must name them. If an argument is missing or is not a string, that is an
// error (invalid_input): whoever asks refuses the call. A rule that makes no sense is
// invalid_config.
Result<Touch> touch_of(Client client, const ToolCall& call, std::span<const ToolRule> rules = {});

}  // namespace lockkeeper::enforce
