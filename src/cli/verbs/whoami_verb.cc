// `whoami`: whom the program takes the caller for, and why; which realm and store. Opens nothing.
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/verbs/list_view.h"
#include "cli/verbs/verbs.h"
#include "layout/registry.h"

namespace lockkeeper::cli {
namespace {

// What led to the realm.
std::string realm_source(const VerbContext& context, const realm::Realm& realm) {
  if (context.common().realm) return "--realm";
  const auto inherited = realm::variable(context.runtime().env, "LOCKKEEPER_REALM");
  if (inherited) {
    realm::FindRealm request;
    request.explicit_dir = *inherited;
    request.env = context.runtime().env;
    const auto named = realm::find_realm(request);
    if (named && named->root == realm.root) return "LOCKKEEPER_REALM";
  }
  return "the current folder";
}

}  // namespace

Result<int> whoami_verb(VerbContext& context) {
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  LK_ASSIGN(const realm::Identity who, context.identity(false));
  LK_ASSIGN(const realm::Realm realm, context.realm({}));
  LK_ASSIGN(const realm::StoreState state, realm::check_store(realm));
  LK_ASSIGN(const service::ParentLease under,
            service::parent_lease_from(context.runtime().env, realm));
  std::vector<Error> mistakes;  // told by those verbs that would act on them
  LK_ASSIGN(const realm::Settings settings,
            layout::load_settings(context.runtime(), realm, &mistakes));
  const std::optional<realm::Server>& hub = settings.server;
  const bool exists = state == realm::StoreState::kPresent;
  const std::string from = realm_source(context, realm);
  const std::string lease = under.lease.empty() ? "" : under.lease.text();
  Json json{{"agent", who.agent},
            {"agent_from", who.agent_from},
            {"session", text_or_null(who.session)},
            {"session_from", text_or_null(who.session_from)},
            {"realm", realm.root},
            {"realm_from", from},
            {"store", realm.store_folder},
            {"store_exists", exists},
            {"under", text_or_null(lease)}};
  if (hub) {
    json["server"] = hub->url;
    json["server_from"] = hub->from;
    json["server_person"] = text_or_null(hub->person);
    json["server_realm"] = text_or_null(hub->name);
  }
  out.object(json);
  std::vector<Row> rows = {
      {{"agent"}, {who.agent, Style::kBold}, {"from " + who.agent_from, Style::kDim}},
      {{"session"},
       {who.session.empty() ? "none" : who.session},
       {who.session.empty() ? "everybody called " + who.agent + " without a session is you"
                            : "from " + who.session_from,
        Style::kDim}},
      {{"realm"}, {realm.root}, {"from " + from, Style::kDim}},
  };
  if (hub) {
    rows.push_back({{"server"},
                    {hub->url + (hub->person.empty() ? "" : ", as " + hub->person)},
                    {"from " + hub->from, Style::kDim}});
    rows.push_back(
        {{"there"},
         {hub->name.empty() ? "no name" : hub->name},
         {hub->name.empty() ? realm::unnamed_realm(realm, *hub).hint : "", Style::kDim}});
  } else {
    rows.push_back({{"store"},
                    {realm.store_folder},
                    {exists ? "" : "none yet: nothing is locked", Style::kDim}});
  }
  if (!lease.empty()) rows.push_back({{"under"}, {"lease " + lease}, {"from LOCKKEEPER_LEASE"}});
  for (const Line& line : table_lines(std::move(rows), out.columns())) out.line(line);
  return 0;
}

}  // namespace lockkeeper::cli
