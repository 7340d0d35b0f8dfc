// One thing of ours in one file: the hooks, the MCP server, the plugin, a line of git's exclude
// file; and what is in nobody's file but ours (own_pieces.h). It is put into a text and taken out
// of it; files are left to the caller.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "install/clients.h"
#include "install/jsonc.h"
#include "install/machine.h"

namespace lockkeeper::install {

// A file's text; nullopt: there is no file.
using FileText = std::optional<std::string>;

// Is it known that there was no file?
inline bool had_no_file(const FileText* original) {
  return original != nullptr && !*original;
}

struct Piece {
  enum class Kind : std::uint8_t {
    kHooks,
    kPlugin,
    kServer,
    kTomlServer,
    kExcluded,
    kPolicy,            // [hook] policy in a settings file of ours
    kSettings,          // a lockkeeper.toml to start from
    kAdvice,            // our lines in AGENTS.md
    kGitConfig,         // our lines in a repository's git configuration (git_pieces.h) …
    kGitInclude,        // … and the file that they include
    kShellEnvironment,  // what a client sets in its shells, for the commit guard
  };

  Kind kind = Kind::kHooks;
  Client client = Client::kClaude;
  Scope scope = Scope::kUser;
  std::string file;
  JsoncPath servers = {};  // kServer: where the servers are
  std::string line = {};   // kExcluded; kPolicy: the policy; git: the folder of hooks
  // Of a file and of folders that are created; 0: as the scope says.
  unsigned mode = 0;
  unsigned folder_mode = 0;

  bool is_of_client() const;  // it is in a client's file, and starts our program

  // What it is called in the record: two pieces of one name in one file are the same thing.
  std::string slot() const;
};

// Does a piece of this name start our program?
bool slot_starts_program(std::string_view slot);

// The hooks and the server of one client in one scope. Errors as place_of().
Result<std::vector<Piece>> pieces_of(const Machine& machine, Client client, Scope scope);

// The text with the piece in it. invalid_config: the file is not what the client would read, or the
// place is taken by something that is not ours.
Result<FileText> put_piece(const Piece& piece, const FileText& text, std::string_view program);

// The text without it. `original` is what the file was before us; null: unknown. What it has is not
// removed for being empty. nullopt: there was no file, and nothing is left that we did not write.
Result<FileText> take_out_piece(const Piece& piece, const FileText& text, const FileText* original);

// Why the piece was left alone by put_piece(), for people; empty: it was not.
std::string left_alone(const Piece& piece, const FileText& text);

}  // namespace lockkeeper::install
