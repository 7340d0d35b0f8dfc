// `ports`: four ports for a session's services that no other session has.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/verbs/list_view.h"
#include "cli/verbs/verbs.h"
#include "dialect/coordinator/ports.h"
#include "host/listener.h"
#include "layout/registry.h"

namespace lockkeeper::cli {
namespace {

using dialect::coordinator::PortAllocation;
using dialect::coordinator::Ports;

// The range comes from the repository or the user; the allocations belong to the machine.
Result<dialect::coordinator::PortRange> range_here(const VerbContext& context) {
  LK_ASSIGN(const realm::Realm realm, context.realm({}));
  LK_ASSIGN(const realm::Settings settings, layout::load_settings(context.runtime(), realm));
  return dialect::coordinator::port_range(settings, context.runtime().env);
}

Result<int> ports_allocate(VerbContext& context) {
  std::string session;
  context.arguments().word("SESSION", session, "the session that gets them");
  if (const auto status = context.parse()) return *status;
  LK_ASSIGN(const auto machine, dialect::coordinator::machine_site(context.runtime()));
  Ports ports(*machine, host::may_have_listener);
  Output& out = context.out();
  LK_ASSIGN(const auto range, range_here(context));
  LK_ASSIGN(const auto taken, ports.allocate(session, range));
  service::Json json = dialect::coordinator::allocate_json(taken);
  if (!taken) {
    json["reason"] = json["error"];
    return out.failed(
        {Code::kLimitExceeded,
         "no_ports_available: all " + std::to_string(range.sessions) + " slots from port " +
             std::to_string(range.base) + " on are in use",
         "see who has them: lockkeeper ports status; or raise the setting ports.sessions"},
        std::move(json));
  }
  out.object(json);
  out.text(taken->env_snippet());
  return 0;
}

Result<int> ports_release(VerbContext& context) {
  std::string session;
  context.arguments().word("SESSION", session, "the session that is done");
  if (const auto status = context.parse()) return *status;
  LK_ASSIGN(const auto machine, dialect::coordinator::machine_site(context.runtime()));
  Ports ports(*machine, host::may_have_listener);
  LK_ASSIGN(const auto released, ports.release(session));
  context.out().object({{"success", true}, {"session_id", session}, {"released", released}});
  context.out().text(released ? "released the ports of " + session : session + " had no ports");
  return 0;
}

Result<int> ports_status(VerbContext& context) {
  std::optional<std::string> session;
  context.arguments().optional_word("[SESSION]", session, "only this session");
  if (const auto status = context.parse()) return *status;
  LK_ASSIGN(const auto machine, dialect::coordinator::machine_site(context.runtime()));
  Ports ports(*machine, host::may_have_listener);
  Output& out = context.out();
  LK_ASSIGN(auto all, ports.status());
  if (session) std::erase_if(all, [&](const auto& one) { return one.session != *session; });
  service::Json json = {{"success", true}, {"allocations", service::Json::array()}};
  std::vector<Row> rows = {
      header({"SESSION", "DB", "REST", "REALTIME", "API", "PROJECT", "ENDS IN"})};
  const std::int64_t now = context.now_wall_ms();
  for (const PortAllocation& one : all) {
    json["allocations"].push_back(dialect::coordinator::status_json(one, now));
    const auto port = [&](std::uint64_t at) { return std::to_string(one.first + at); };
    rows.push_back({{one.session},
                    {port(0)},
                    {port(1)},
                    {port(2)},
                    {port(3)},
                    {one.compose_project_name()},
                    {format_duration(std::max<std::int64_t>(0, one.expires_wall_ms - now))}});
  }
  if (session && all.empty()) {
    json["success"] = false;
    return out.failed({Code::kNotFound, "session " + quote(*session, 60) + " has no ports",
                       "allocate some: lockkeeper ports allocate " + shell_quote(*session)},
                      std::move(json));
  }
  out.object(json);
  if (all.empty()) {
    out.text("no session has ports");
  } else {
    for (const Line& line : table_lines(std::move(rows), out.columns())) out.line(line);
  }
  return 0;
}

constexpr Verb kPortsSubcommands[] = {
    {"allocate", "Take four ports that no other session has",
     "  lockkeeper ports allocate backend-1 >ports.env && . ./ports.env\n", ports_allocate},
    {"release", "Release a session's ports", "  lockkeeper ports release backend-1\n",
     ports_release},
    {"status", "Which session has which ports",
     "  lockkeeper ports status\n"
     "  lockkeeper ports status backend-1\n",
     ports_status, Does::kLook},
};

}  // namespace

std::span<const Verb> ports_subcommands() {
  return kPortsSubcommands;
}

}  // namespace lockkeeper::cli
