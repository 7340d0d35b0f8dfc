// A person or machine that uses a hub: the name that its token has, what it may do, and where.
//
// The hub puts the name behind every agent and session that the person's clients send: claude-code
// of alice becomes claude-code@alice. So nobody can act as an owner of somebody else.
//
// Thread safety: plain values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/types.h"

namespace lockkeeper::hub {

enum class Role : unsigned {
  kRead = 1,   // look; every other role may, too
  kLock = 2,   // take, keep and give back; messages
  kBreak = 4,  // end others' leases
  kAdmin = 8,  // realms, drain, purge
};
inline constexpr unsigned kEveryRole = 15;
// "read", "lock", "break", "admin"; invalid_input names the choices.
Result<Role> parse_role(std::string_view name);
std::string_view role_name(Role role);

struct Person {
  std::string name;  // empty: nobody in particular, where a hub has no tokens
  unsigned roles = 0;
  std::vector<std::string> realms;  // names, or patterns with * for any characters

  bool has(Role role) const {
    return role == Role::kRead ? roles != 0 : (roles & static_cast<unsigned>(role)) != 0;
  }
  // operation_not_permitted names the role and who lacks it.
  Result<void> must_have(Role role) const;
  bool may_enter(std::string_view realm) const;

  // The owner as the hub knows it: with this person's name in agent and session. An owner that has
  // it already stays as it is. invalid_input: a name breaks a rule, or carries another's '@'.
  Result<core::Owner> signed_owner(const core::Owner& sent) const;
  // Is that owner one of this person's?
  bool owns(const core::Owner& owner) const;
};

// Letters, digits, '.', '_' and '-', at most 64.
bool is_person_name(std::string_view name);

}  // namespace lockkeeper::hub
