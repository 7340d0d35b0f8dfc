// How it stands with each client, for `lockkeeper doctor`: only reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "install/clients.h"
#include "install/entry.h"
#include "install/machine.h"

namespace lockkeeper::install {

enum class HookState : std::uint8_t {
  kMissing,
  kPresent,   // all events, exactly as an install writes them
  kChanged,   // some events are missing or not as an install writes them
  kDoubled,   // this event runs us twice: twice in this file, or in another scope as well
  kDisabled,  // it is there, but a setting keeps the client from running it
};
std::string_view state_name(HookState state);  // "missing", "present", …

enum class Trust : std::uint8_t {
  kNotNeeded,
  kTrusted,
  kUntrusted,  // the client skips it without a word
  kUnknown,
};
std::string_view trust_name(Trust trust);  // "not needed", "trusted", …

struct ScopeStatus {
  Scope scope = Scope::kUser;
  std::string hook_file;
  HookState hook = HookState::kMissing;
  std::string program;      // what the hook starts; empty: no hook
  bool program_ok = false;  // it is there and may be executed
  // How the client starts the hook before an edit, and whether it refuses if that cannot be done.
  CommandLine guard = {};
  bool fails_closed = false;
  Trust trust = Trust::kNotNeeded;
  std::string server_file;  // empty: this client has none in this scope
  bool server = false;      // an MCP server of ours is in it
  CommandLine server_command = {};
  // Whatever is not as it should be, each with what to do about it. operation_not_permitted: the
  // client waits for its user's trust.
  std::vector<Error> problems;
};

struct ClientStatus {
  Client client = Client::kClaude;
  bool seen = false;                // its program is on PATH, or it has a settings folder
  std::vector<ScopeStatus> scopes;  // those in which there is something of ours

  bool is_installed() const;  // hooks in any scope
};

// Another worktree of the same repository, and who has a hook there.
struct OtherWorktree {
  std::string root;
  std::vector<Client> installed = {};  // in any scope
  std::vector<Client> own = {};        // in its own files, for this user alone
};

// Never fails: what cannot be read is a problem of its scope. Without a repository only the user's
// scope is looked at.
ClientStatus inspect(const Machine& machine, Client client);
std::vector<OtherWorktree> other_worktrees(const Machine& machine);

}  // namespace lockkeeper::install
