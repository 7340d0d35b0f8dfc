// Sessions within sessions. The session "S/x" is a part of session "S", at any depth: a subagent,
// whatever its agent is called, or a command that an owner with that session runs, in its own name.
// The session "-/x" is a part of its agent where that agent has no session. A session that is a
// path ("/…") has no parts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/types.h"

namespace lockkeeper::core {

inline constexpr std::size_t kSessionDepthMax = 8;

// The part of this owner's session with this name.
Owner part_of(const Owner& whole, const std::string& name);
// The name of the part that `owner` is, or is in. REQUIRES: is_part_of(owner, whole)
std::string part_name(const Owner& owner, const Owner& whole);

// A command that is run under a lock is a part, too, with a name like "run-9a1c03e2".
std::string command_name(std::uint32_t number);
bool is_command_name(std::string_view name);
// Who reads what is written to this owner: itself, or whoever runs the command that it is.
Owner reader_of(const Owner& owner);

// Is `owner` a part of `whole`, at any depth? Nobody is a part of itself.
bool is_part_of(const Owner& owner, const Owner& whole);

// Do they answer for each other: an owner, and everything that is a part of the same session of the
// same agent?
bool is_one_party(const Owner& a, const Owner& b);

// The names of all that it is a part of, the outermost first; and those that the owner has as the
// whole of others. `owner` is a part of `whole` if one of the former is one of the latter.
std::vector<std::string> wholes_of(const Owner& owner);
std::vector<std::string> whole_names(const Owner& owner);
// Whom such a name means: an owner, or whoever has that session (`agent` is empty).
Owner named_whole(const std::string& name);
// What it is a part of directly, under its own agent's name.
std::optional<Owner> nearest_whole(const Owner& owner);

// The owner as a hub knows it: with "@person" behind agent and session, unless it is there already.
// nullopt: one of them carries another '@'.
std::optional<Owner> signed_owner(const Owner& owner, const std::string& person);

}  // namespace lockkeeper::core
