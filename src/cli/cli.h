// The command line as one function: main passes in the outside world and gets the exit status.
// Nothing here reads the process's own streams, environment or clock.
#pragma once

#include <cstdio>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "service/runtime.h"

namespace lockkeeper::cli {

// The flags of `mcp`.
struct McpOptions {
  std::optional<std::string> http;  // ADDRESS:PORT; nullopt: stdin and stdout
  std::optional<std::string> token_file;
  bool no_auth = false;
  std::vector<std::string> dialects;
};

// The flags of `serve`.
struct ServeOptions {
  std::optional<std::string> listen;  // ADDRESS:PORT or unix:PATH
  std::optional<std::string> token_file;
  std::optional<std::string> tls_cert;
  std::optional<std::string> tls_key;
  std::vector<std::string> realms;  // NAME=DIR
  std::vector<std::string> hosts;   // what clients may call the server
  bool auto_realms = false;
  bool no_auth = false;
};

// The flags of `open`.
struct OpenOptions {
  bool print = false;  // the address, instead of opening it
};

// What `doctor` does about damage.
enum class Repair { kNo, kIfNeeded, kAnyway };

struct CliEnvironment {
  const service::Runtime* runtime = nullptr;  // must outlive the call
  std::span<const Verb> verbs;
  std::span<const VerbGroup> groups;  // every verb is in one of them
  std::span<const VerbAlias> aliases;
  std::string cwd;      // absolute; empty: find out when needed
  std::string program;  // of this process, for verbs that start it again
  std::FILE* in = stdin;
  std::FILE* out = stdout;
  std::FILE* err = stderr;
  bool in_is_terminal = false;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  std::size_t columns = 80;  // of the terminal
  std::size_t rows = 0;      // of the terminal; 0: unknown, so nothing is shown page by page

  // Can this realm have a store, if it has none? Empty: nobody knows.
  std::function<Result<void>(const realm::Realm&)> table_possible;
  // Checks the realm's store, and repairs it on request. main provides it, because it needs the
  // store's backend, which this room must not know.
  std::function<int(VerbContext&, Repair)> doctor;
  // Serves MCP until its client is gone.
  std::function<Result<int>(VerbContext&, const McpOptions&)> mcp;
  std::function<Result<int>(VerbContext&, const ServeOptions&)> serve;
  std::function<Result<int>(VerbContext&, const OpenOptions&)> open;
  // Asks each address of that login who the token's person is; keeps nothing.
  std::function<std::vector<realm::TriedHub>(const realm::Login&)> try_hubs;
  // Becomes the relay to that hub.
  std::function<Result<int>(VerbContext&, const std::string& url)> relay;
};

// Runs one command and returns its exit status (docs/reference/cli.md). Throws nothing.
int run_cli(int argc, const char* const* argv, const CliEnvironment& environment);

}  // namespace lockkeeper::cli
