// What is known about each coding agent: where its settings are, what its hooks look like, and
// which of its events we need. A client that changes is corrected here and nowhere else.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lockkeeper::install {

enum class Client : std::uint8_t { kClaude, kCodex, kGemini, kCopilot, kOpencode, kCursor };
inline constexpr std::size_t kClients = 6;

enum class Scope : std::uint8_t {
  kUser,     // everything this user does
  kProject,  // this repository, for this user alone: files that are not committed
  kShared,   // this repository, for everybody: files that are committed
};
inline constexpr std::size_t kScopes = 3;
std::string_view scope_name(Scope scope);  // "user", "project", "shared"

// The name of our MCP server, and of the files that are ours alone.
inline constexpr std::string_view kOurName = "lockkeeper";

struct SettingsFile {
  enum class Base : std::uint8_t { kNone, kHome, kConfigHome, kRepository };

  Base base = Base::kNone;       // kNone: the client has no such file
  std::string_view folder = {};  // below the base; may be empty
  std::string_view name = {};
  std::string_view other_name = {};  // an existing file of this name is used instead
};

struct HookEvent {
  std::string_view name;
  std::string_view matcher = {};  // which tools; empty: all
  bool guard = false;             // before a tool runs: where the client can, it fails closed
  int timeout_s = 20;
  bool wake = false;  // nobody waits for it: it wakes the agent when a refused file is free
};

struct HookFormat {
  enum class Shape : std::uint8_t {
    kGroups,  // hooks.EVENT = [{matcher, hooks: [handler]}]
    kFlat,    // hooks.EVENT = [handler]
    kPlugin,  // a file of JavaScript
  };

  Shape shape = Shape::kGroups;
  bool versioned = false;  // "version": 1 at the top
  bool typed = true;       // "type": "command" in a handler
  bool named = false;      // "name": "lockkeeper" in a handler
  // The user's own file has the program and its "args", which start without a shell. Files of a
  // repository have one shell line, because other clients read them as well and ignore "args".
  bool exec = false;
  std::string_view command_field = "command";
  std::string_view timeout_field = "timeout";
  int timeout_unit = 1;               // per second
  std::string_view guard_field = {};  // what makes a guard fail closed …
  std::string_view guard_value = {};  // … if it is a text; empty: true
  bool shell_guard = false;           // the client knows no such field: the shell does it
};

struct ServerFormat {
  enum class Kind : std::uint8_t { kJson, kToml };

  Kind kind = Kind::kJson;
  std::string_view member = "mcpServers";  // the servers by name
  std::string_view type = {};              // "type" of a server; empty: none
  bool one_list = false;                   // command and arguments are one list
  bool all_tools = false;                  // "tools": ["*"]
};

struct ClientFacts {
  Client client;
  std::string_view name;     // as in `lockkeeper hook NAME`
  std::string_view title;    // for people
  std::string_view program;  // to find it on PATH
  // The variable that names a folder used instead of ~/FOLDER (or of ~ itself); empty: none.
  std::string_view home_variable;
  bool variable_is_home = false;
  std::string_view home_folder;
  bool experimental = false;
  bool sets_environment = false;  // its settings file can set variables in its shells
  bool runs_copies = true;        // the same command in two scopes runs twice
  // What the user still has to do, and what is needed in a repository; empty: nothing.
  std::string_view trust_step = {};
  std::string_view repository_step = {};
  HookFormat hooks;
  std::span<const HookEvent> events;
  SettingsFile hook_files[kScopes];
  ServerFormat server;
  SettingsFile server_files[kScopes];
};

const ClientFacts& facts_of(Client client);
std::span<const ClientFacts> all_clients();
std::optional<Client> client_named(std::string_view name);

}  // namespace lockkeeper::install
