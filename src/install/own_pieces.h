// What an install puts into files that are nobody's but ours or the team's: the policy of the hooks
// in our settings, a lockkeeper.toml to start from, a few lines for agents in AGENTS.md.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "install/machine.h"
#include "install/piece.h"

namespace lockkeeper::install {

// What a hook does if somebody else holds the file.
inline constexpr auto kPolicies =
    std::to_array<std::string_view>({"block", "wait", "warn", "ask", "off"});

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

struct FoundPolicy {
  std::string policy;
  std::string file;
};
// The first of these files that sets a policy decides; nullopt: none does, or it cannot be read.
std::optional<FoundPolicy> find_policy(const std::vector<std::string>& files);

}  // namespace lockkeeper::install
