// `log`: the realm's history from any point, and new events as they come.
#include <nlohmann/json.hpp>

#include "base/parse.h"
#include "base/text.h"
#include "cli/pager.h"
#include "cli/verbs/log_view.h"
#include "cli/verbs/verbs.h"
#include "host/signals.h"

namespace lockkeeper::cli {
namespace {

constexpr int kFollowEveryMs = 200;

void show(Output& out, const core::Event& event, LogColumns& widths) {
  widths.widen(event);
  if (out.json()) {
    out.object(service::event_json(event));
  } else {
    out.line(event_line(event, out.columns(), widths));
  }
}

// The filters hide how far the history was read, so the newest number is read separately.
Result<void> show_new(Output& out, service::Locks& locks, service::LogCommand& command,
                      LogColumns& widths) {
  service::LogCommand any;
  any.since_seq = command.since_seq;
  LK_ASSIGN(const std::vector<core::Event> all, locks.log(any));
  if (all.empty()) return {};
  const std::uint64_t newest = all.back().seq;
  LK_ASSIGN(const std::vector<core::Event> wanted, locks.log(command));
  for (const core::Event& event : wanted) {
    if (event.seq <= newest) show(out, event, widths);
  }
  command.since_seq = newest;
  return {};
}

Result<int> follow(VerbContext& context, service::Locks& locks, service::LogCommand command) {
  const host::SignalWatch signals;
  constexpr int kLooksApart = 500 / kFollowEveryMs;  // other tools notify nobody
  int looks = 0;
  LogColumns widths;
  for (;;) {
    // Errors are reported by the verbs that they stop.
    if (looks-- == 0) {
      static_cast<void>(locks.scan_layouts());
      looks = kLooksApart;
    }
    LK_CHECK(show_new(context.out(), locks, command, widths));
    if (!context.out().flush()) return exit_status(Code::kFailed);
    if (signals.signal() != 0) return signals.exit_status();
    signals.sleep_ms(kFollowEveryMs);
  }
}

}  // namespace

Result<int> log_verb(VerbContext& context) {
  std::optional<std::string> since, agent, under, lines;
  bool following = false;
  Arguments& arguments = context.arguments();
  arguments.value(
      "--since", since, "SEQ|TIME",
      "10m for 10 minutes ago, or 2026-01-17T15:30:00Z,\nor after this seq of log --json");
  arguments.value("--agent", agent, "NAME", "only events of this agent");
  arguments.offer(Arguments::Complete::kAgents);
  arguments.value("--under", under, "PATH", "only what overlaps this path, glob or key");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.value("--lines", lines, "N", "only the last N events", "-n");
  arguments.flag("--follow", following, "keep printing new events until interrupted", "-f");
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  service::LogCommand command;
  if (since) LK_CHECK(read_since(*since, context.now_wall_ms(), command));
  command.agent = agent.value_or("");
  std::vector<std::string> places;
  if (under) places.push_back(*under);
  LK_ASSIGN(command.under, context.wanted(places));
  context.allow_bad_settings();
  LK_ASSIGN(auto open, context.open(places));
  constexpr std::uint64_t kLinesMax = 1'000'000;
  std::uint64_t most = SIZE_MAX;
  if (lines) {
    LK_ASSIGN(most, parse_number(*lines, "--lines", kLinesMax));
  } else if (following) {
    return follow(context, open->locks, std::move(command));
  }
  LK_ASSIGN(auto events, open->locks.log(command));
  if (events.size() > most) {
    events.erase(events.begin(), events.end() - static_cast<std::ptrdiff_t>(most));
    command.since_seq = events.front().seq - 1;
  }
  if (following) return follow(context, open->locks, std::move(command));
  std::vector<Line> shown;
  LogColumns widths;
  for (const core::Event& event : events) widths.widen(event);
  for (const core::Event& event : events) {
    out.object(service::event_json(event));
    if (!out.json()) shown.push_back(event_line(event, out.columns(), widths));
  }
  if (events.empty() && out.columns() > 0) {  // a pipe gets events only
    const bool filtered = since || agent || under;
    out.text(filtered ? "nothing that matches has happened"
                      : "nothing has happened in " + open->site.realm().root);
  }
  show_lines(context.environment(), out, shown);
  return 0;
}

}  // namespace lockkeeper::cli
