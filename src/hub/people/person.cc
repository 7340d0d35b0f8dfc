#include "hub/people/person.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "core/sessions.h"
#include "realm/identity.h"

namespace lockkeeper::hub {
namespace {

constexpr std::array<std::pair<std::string_view, Role>, 4> kRoles = {{{"read", Role::kRead},
                                                                      {"lock", Role::kLock},
                                                                      {"break", Role::kBreak},
                                                                      {"admin", Role::kAdmin}}};

}  // namespace

Result<Role> parse_role(std::string_view name) {
  for (const auto& [known, role] : kRoles) {
    if (known == name) return role;
  }
  return fail(Code::kInvalidInput, "there is no role " + quote(name),
              "the roles are read, lock, break and admin");
}

std::string_view role_name(Role role) {
  return std::ranges::find(kRoles, role, &std::pair<std::string_view, Role>::second)->first;
}

bool is_person_name(std::string_view name) {
  constexpr std::size_t kMost = 64;
  return !name.empty() && name.size() <= kMost && std::ranges::all_of(name, is_name_character);
}

Result<void> Person::must_have(Role role) const {
  if (has(role)) return {};
  return fail(Code::kOperationNotPermitted,
              name + " does not have the role " + std::string(role_name(role)) + " on this hub",
              "ask whoever runs the hub for it");
}

bool Person::may_enter(std::string_view realm) const {
  return std::ranges::any_of(
      realms, [&](const std::string& pattern) { return matches_text(pattern, realm); });
}

Result<core::Owner> Person::signed_owner(const core::Owner& sent) const {
  LK_CHECK(realm::check_agent_name(sent.agent, "agent"));
  if (!sent.session.empty()) LK_CHECK(realm::check_session_name(sent.session, "session"));
  if (name.empty()) return sent;
  if (auto owner = core::signed_owner(sent, name)) return std::move(*owner);
  return fail(Code::kInvalidInput,
              quote(sent.agent) + " or its session " + quote(sent.session) +
                  " carries an @; the hub adds your own name, " + quote(name),
              "send the name without it");
}

bool Person::owns(const core::Owner& owner) const {
  return name.empty() || (owner.agent.ends_with("@" + name) &&
                          owner.agent.find('@') == owner.agent.size() - name.size() - 1);
}

}  // namespace lockkeeper::hub
