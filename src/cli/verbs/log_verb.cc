// `log`: the realm's history from any point, and new events as they come.
#include <nlohmann/json.hpp>

#include "base/parse.h"
#include "base/text.h"
#include "cli/verbs/verbs.h"
#include "host/signals.h"

namespace lockkeeper::cli {
namespace {

constexpr int kFollowEveryMs = 200;

// A log number, a time, or how long ago.
Result<void> read_since(const std::string& text, std::int64_t now_wall_ms,
                        service::LogCommand& command) {
  constexpr std::size_t kDigitsMax = 19;
  const auto number = number_in<std::uint64_t>(text);
  if (number && text.size() <= kDigitsMax) {
    command.since_seq = *number;
    return {};
  }
  if (const auto ago = parse_duration_ms(text)) {
    command.since_wall_ms = now_wall_ms - *ago;
    return {};
  }
  const auto moment = parse_time(text);
  if (!moment) {
    return fail(Code::kInvalidInput,
                "--since " + quote(text) + " is not a log number, a time or a duration",
                "write --since 41, --since 10m or --since 2026-01-17T15:30:00Z");
  }
  command.since_wall_ms = *moment;
  return {};
}

Line event_line(const core::Event& event, std::size_t columns) {
  std::string time = format_time(event.at_wall_ms);  // 2026-01-17T15:30:00.000Z
  time = columns > 0 ? time.substr(11, 8) : time;
  std::string rest = list_of(event.resources, 3);
  if (!event.cause.empty() && event.cause != event.what) rest += " (" + event.cause + ")";
  if (!event.by.agent.empty()) rest += " by " + event.by.agent;
  if (!event.reason.empty()) rest += " " + quote(event.reason);
  constexpr std::size_t kEventColumns = 10;
  constexpr std::size_t kAgentColumns = 12;
  const std::string what = padded(printable(event.what), kEventColumns);
  const std::string agent = padded(printable(event.owner.agent), kAgentColumns);
  const std::size_t before = time.size() + width(what) + width(agent) + 6;
  if (columns > before) rest = cut(printable(rest), columns - before);
  return {{time + "  ", Style::kDim}, {what + "  "}, {agent + "  ", Style::kBold}, {rest}};
}

void show(Output& out, const core::Event& event) {
  if (out.json()) {
    out.object(service::event_json(event));
  } else {
    out.line(event_line(event, out.columns()));
  }
}

// The filters hide how far the history was read, so the newest number is read separately.
Result<void> show_new(Output& out, service::Locks& locks, service::LogCommand& command) {
  service::LogCommand any;
  any.since_seq = command.since_seq;
  LK_ASSIGN(const std::vector<core::Event> all, locks.log(any));
  if (all.empty()) return {};
  const std::uint64_t newest = all.back().seq;
  LK_ASSIGN(const std::vector<core::Event> wanted, locks.log(command));
  for (const core::Event& event : wanted) {
    if (event.seq <= newest) show(out, event);
  }
  command.since_seq = newest;
  return {};
}

Result<int> follow(VerbContext& context, service::Locks& locks, service::LogCommand command) {
  const host::SignalWatch signals;
  constexpr int kLooksApart = 500 / kFollowEveryMs;  // other tools notify nobody
  int looks = 0;
  for (;;) {
    // Errors are reported by the verbs that they stop.
    if (looks-- == 0) {
      static_cast<void>(locks.scan_layouts());
      looks = kLooksApart;
    }
    LK_CHECK(show_new(context.out(), locks, command));
    if (!context.out().flush()) return exit_status(Code::kFailed);
    if (signals.signal() != 0) return signals.exit_status();
    signals.sleep_ms(kFollowEveryMs);
  }
}

}  // namespace

Result<int> log_verb(VerbContext& context) {
  std::optional<std::string> since, agent, under;
  bool following = false;
  Arguments& arguments = context.arguments();
  arguments.value(
      "--since", since, "SEQ|TIME",
      "after this log number, or since a time:\n2026-01-17T15:30:00Z, or 10m for 10 minutes ago");
  arguments.value("--agent", agent, "NAME", "only events of this agent");
  arguments.offer(Arguments::Complete::kAgents);
  arguments.value("--under", under, "PATH", "only what overlaps this path, glob or key");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.flag("--follow", following, "keep printing new events until interrupted");
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  service::LogCommand command;
  if (since) LK_CHECK(read_since(*since, context.now_wall_ms(), command));
  command.agent = agent.value_or("");
  std::vector<std::string> places;
  if (under) places.push_back(*under);
  LK_ASSIGN(command.under, context.wanted(places));
  LK_ASSIGN(auto open, context.open(places));
  if (following) return follow(context, open->locks, std::move(command));
  LK_ASSIGN(const auto events, open->locks.log(command));
  for (const core::Event& event : events) show(out, event);
  return 0;
}

}  // namespace lockkeeper::cli
