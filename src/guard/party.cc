#include "guard/party.h"

#include <algorithm>
#include <string_view>

#include "core/sessions.h"

namespace lockkeeper::guard {
namespace {

// As if nobody had named it.
realm::Environment without_names(const realm::Environment& env) {
  return [env](const char* name) -> std::optional<std::string> {
    const std::string_view asked = name;
    if (asked == "LOCKKEEPER_AGENT" || asked == "LOCKKEEPER_SESSION") return std::nullopt;
    return env(name);
  };
}

}  // namespace

bool Party::has(const core::Owner& who) const {
  return core::is_one_party(who, owner) || std::ranges::any_of(also, [&](const core::Owner& one) {
           return core::is_one_party(who, one);
         });
}

Result<Party> find_party(const realm::IdentityRequest& request) {
  LK_ASSIGN(const realm::Identity named, realm::find_identity(request));
  Party party;
  party.owner = {named.agent, named.session};
  const bool in_client = !realm::coding_agent_around(request.env).empty();
  party.person = !in_client && !realm::variable(request.env, "LOCKKEEPER_AGENT");
  if (!in_client) return party;
  realm::IdentityRequest plain = request;
  plain.env = without_names(request.env);
  plain.agent.reset();
  plain.session.reset();
  LK_ASSIGN(const realm::Identity client, realm::find_identity(plain));
  if (client.session.empty()) return party;
  for (const std::string& agent : {named.agent, client.agent}) {
    const core::Owner owner{agent, client.session};
    if (owner != party.owner) party.also.push_back(owner);
  }
  return party;
}

}  // namespace lockkeeper::guard
