// What an install puts into files that are nobody's but ours or the team's: the policy of the hooks
// in our settings, a lockkeeper.toml to start from, a few lines for agents in AGENTS.md.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "install/machine.h"
#include "install/piece.h"

namespace lockkeeper::install {

// [hook] policy in this file, which a repository's `shared` scope commits. Whatever else is in the
// file stays, with its comments.
Piece policy_piece(Scope scope, std::string file, std::string_view policy);
// lockkeeper.toml in the repository, with every line a comment. One that is there stays.
Piece settings_piece(const Machine& machine);
// Our lines in a file such as AGENTS.md of the repository, between two marks.
Piece advice_piece(const Machine& machine, std::string_view name);

// For put_piece() and take_out_piece(), whose contracts they have.
Result<FileText> put_policy(const Piece& piece, const FileText& text);
Result<FileText> take_out_policy(const Piece& piece, const std::string& text,
                                 const FileText* original);
FileText put_settings(const FileText& text);
FileText take_out_settings(const std::string& text, const FileText* original);
Result<FileText> put_advice(const Piece& piece, const FileText& text);
Result<FileText> take_out_advice(const Piece& piece, const std::string& text,
                                 const FileText* original);

}  // namespace lockkeeper::install
