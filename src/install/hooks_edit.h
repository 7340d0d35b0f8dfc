// Our hooks and our MCP server in a client's JSON files. Others' entries keep their places: some
// clients remember by position which hooks their user trusts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "install/clients.h"
#include "install/entry.h"
#include "install/jsonc.h"

namespace lockkeeper::install {

// Where one of our hooks is.
struct FoundHook {
  std::string event;
  std::size_t entry = 0;    // its number in the event's list
  std::size_t handler = 0;  // its number in the group; 0 in a flat list
  std::string program;
  bool as_wanted = false;  // exactly what put_hooks() writes for this program
  CommandLine command = {};
};
std::vector<FoundHook> find_hooks(const Jsonc& document, const ClientFacts& facts, Scope scope);

// Afterwards each event that we need has our hook once, with this program, and no other event has
// it. An older hook of ours is replaced where it is.
Result<void> put_hooks(Jsonc& document, const ClientFacts& facts, Scope scope,
                       std::string_view program);

// Takes out every hook of ours. What is then empty goes as well, unless `original` has it, too.
Result<void> remove_hooks(Jsonc& document, const ClientFacts& facts, const Jsonc* original);

struct FoundServer {
  std::string name;
  std::optional<std::string> program;  // nullopt: it has our name, but is not ours
  CommandLine command = {};
};
// The server of our name, or another one that starts our program.
std::optional<FoundServer> find_server(const Jsonc& document, const JsoncPath& servers);

// Leaves a server alone that has our name but is not ours, or that is ours under another name.
Result<void> put_server(Jsonc& document, const JsoncPath& servers, const ClientFacts& facts,
                        std::string_view program);
// Takes out the server that has our name and is ours.
Result<void> remove_server(Jsonc& document, const JsoncPath& servers, const Jsonc* original);

}  // namespace lockkeeper::install
