// What is written into a client's files, as values: our hook of one event, our MCP server; and how
// ours are known again among others'.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "install/clients.h"

namespace lockkeeper::install {

// What the shell says for a hook that failed by itself, in clients that know no such field.
inline constexpr std::string_view kHookFailed = "lockkeeper: the hook failed.";

// The word that makes a hook wake its agent (HookEvent::wake).
inline constexpr std::string_view kWakeFlag = "--wake";

// How a client starts a hook or a server.
struct CommandLine {
  std::vector<std::string> words = {};  // empty: there is none
  std::map<std::string, std::string> variables = {};
};

// One line for a shell: the program, in quotes if it needs them, and `hook NAME`.
std::string hook_command(std::string_view program, const ClientFacts& facts);

// One handler, or a group with one handler. REQUIRES: not a plugin.
Json hook_entry(std::string_view program, const ClientFacts& facts, Scope scope,
                const HookEvent& event);

// Our server as a new entry.
Json server_entry(std::string_view program, const ClientFacts& facts);

// The first words of a shell line as a shell reads them; fewer if it ends or begins something else
// (a pipe, a variable) before.
std::vector<std::string> first_shell_words(std::string_view line, std::size_t most);

// The program that this handler of ours starts; nullopt: it is not ours.
std::optional<std::string> program_of_hook(const Json& handler, const ClientFacts& facts);
CommandLine command_of_hook(const Json& handler);
bool wakes(const CommandLine& hook);
CommandLine command_of_server(const Json& server);
// The same for a server, of any name.
std::optional<std::string> program_of_server(const Json& server);

// Equal, whatever the order of the members.
bool same_value(const Json& a, const Json& b);

}  // namespace lockkeeper::install
