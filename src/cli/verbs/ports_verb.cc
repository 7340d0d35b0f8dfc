// `ports`: four ports for the services of a session, that no other session has.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/verbs/list_view.h"
#include "cli/verbs/verbs.h"
#include "dialect/coordinator/ports.h"
#include "host/listener.h"

namespace lockkeeper::cli {
namespace {

using dialect::coordinator::PortAllocation;

// The range is the repository's or the user's; the allocations are the machine's.
Result<dialect::coordinator::PortRange> range_here(const VerbContext& context) {
  LK_ASSIGN(const realm::Realm realm, context.realm({}));
  LK_ASSIGN(const realm::Settings settings, realm::load_settings(realm, context.runtime().env));
  return dialect::coordinator::port_range(settings, context.runtime().env);
}

int allocate(VerbContext& context, dialect::coordinator::Ports& ports, const std::string& session) {
  Output& out = context.out();
  const auto range = range_here(context);
  if (!range) return out.failed(range.error());
  const auto taken = ports.allocate(session, *range);
  if (!taken) return out.failed(taken.error());
  service::Json json = dialect::coordinator::allocate_json(*taken);
  if (!*taken) {
    json["reason"] = json["error"];
    return out.failed(
        {Code::kLimitExceeded,
         "no_ports_available: none of " + std::to_string(range->sessions) + " slots from port " +
             std::to_string(range->base) + " on is free of sessions and of listeners",
         "see who has them: lockkeeper ports status; or raise ports.sessions"},
        std::move(json));
  }
  out.object(json);
  out.text((*taken)->env_snippet());
  return 0;
}

int release(VerbContext& context, dialect::coordinator::Ports& ports, const std::string& session) {
  const auto released = ports.release(session);
  if (!released) return context.out().failed(released.error());
  context.out().object({{"success", true}, {"session_id", session}, {"released", *released}});
  context.out().text(*released ? "released the ports of " + session : session + " had no ports");
  return 0;
}

int status(VerbContext& context, dialect::coordinator::Ports& ports,
           const std::optional<std::string>& session) {
  Output& out = context.out();
  auto all = ports.status();
  if (!all) return out.failed(all.error());
  if (session) std::erase_if(*all, [&](const auto& one) { return one.session != *session; });
  service::Json json = {{"success", true}, {"allocations", service::Json::array()}};
  std::vector<std::vector<Span>> rows = {{{"SESSION", Style::kBold},
                                          {"DB", Style::kBold},
                                          {"REST", Style::kBold},
                                          {"REALTIME", Style::kBold},
                                          {"API", Style::kBold},
                                          {"PROJECT", Style::kBold},
                                          {"ENDS IN", Style::kBold}}};
  const std::int64_t now = context.now_wall_ms();
  for (const PortAllocation& one : *all) {
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
  if (session && all->empty()) {
    json["success"] = false;
    return out.failed({Code::kNotFound, "session " + quote(*session, 60) + " has no ports",
                       "take some: lockkeeper ports allocate " + shell_quote(*session)},
                      std::move(json));
  }
  out.object(json);
  if (all->empty()) {
    out.text("no session has ports");
  } else {
    for (const Line& line : table_lines(std::move(rows), out.columns())) out.line(line);
  }
  return 0;
}

}  // namespace

int ports_verb(VerbContext& context) {
  std::vector<std::string> words;
  context.arguments().words("allocate|release|status [SESSION]", words,
                            "what to do, and for which session");
  context.arguments().offer({"allocate", "release", "status"});
  if (const auto status = context.parse_some(words, "a word: allocate, release or status")) {
    return *status;
  }
  Output& out = context.out();
  const std::string what = words.front();
  const bool known = what == "allocate" || what == "release" || what == "status";
  if (!known || words.size() > 2 || (words.size() == 1 && what != "status")) {
    return out.failed(
        {Code::kUsage,
         known ? "ports " + what + " needs one session" : "ports: unknown word " + quote(what),
         "lockkeeper ports allocate|release|status SESSION"});
  }
  auto table = dialect::coordinator::machine_table(context.runtime());
  if (!table) return out.failed(table.error());
  dialect::coordinator::Ports ports(**table, host::may_have_listener);
  if (what == "allocate") return allocate(context, ports, words[1]);
  if (what == "release") return release(context, ports, words[1]);
  return status(context, ports,
                words.size() == 2 ? std::optional<std::string>(words[1]) : std::nullopt);
}

}  // namespace lockkeeper::cli
