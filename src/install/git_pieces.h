// The commit guard as an install brings it: into a repository's git configuration, for everybody's
// git there; and into the environment of the shells of Codex.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "install/machine.h"
#include "install/piece.h"

namespace lockkeeper::install {

// Our lines in the repository's `config`, and the file that they include. operation_not_permitted:
// core.hooksPath is set for every repository, or other users share this one. usage: there is no
// repository.
Result<std::vector<Piece>> git_pieces(const Machine& machine);
// The same for taking them out: no refusal.
std::vector<Piece> git_pieces_there(const Machine& machine);

// Codex sets these variables in its shells.
Result<Piece> shell_environment_piece(const Machine& machine, Client client, Scope scope,
                                      std::string file);

// For put_piece() and take_out_piece(), whose contracts they have.
Result<FileText> put_git_config(const FileText& text);
FileText take_out_git_config(const std::string& text, const FileText* original);
Result<FileText> put_git_include(const Piece& piece, const FileText& text);
FileText take_out_git_include(const std::string& text);
Result<FileText> put_shell_environment(const Piece& piece, const FileText& text);
Result<FileText> take_out_shell_environment(const Piece& piece, const std::string& text,
                                            const FileText* original);

// An install has put the guard into this repository, but its git does not run our hooks: why not.
// Empty: it does, or nobody has installed it.
std::string git_guard_trouble(const Machine& machine);
bool is_git_guard_installed(const Machine& machine);

}  // namespace lockkeeper::install
