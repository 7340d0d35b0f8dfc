#include "cli/verbs/log_view.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "base/clock.h"
#include "base/parse.h"
#include "base/text.h"
#include "service/names.h"

namespace lockkeeper::cli {
namespace {

// Green: somebody has it. Red: it ended against its holder's will. Yellow: somebody waits, or was
// refused.
Style event_style(std::string_view what) {
  struct KnownEvent {
    std::string_view what;
    Style style;
  };
  constexpr KnownEvent kKnown[] = {
      {"granted", Style::kGreen}, {"adopted", Style::kGreen},  {"broken", Style::kRed},
      {"expired", Style::kRed},   {"ended", Style::kRed},      {"orphaned", Style::kRed},
      {"queued", Style::kYellow}, {"refused", Style::kYellow}, {"withdrawn", Style::kYellow},
      {"purged", Style::kRed},
  };
  for (const KnownEvent& known : kKnown) {
    if (known.what == what) return known.style;
  }
  return Style::kPlain;
}

// Of edits (core rule 16), whose causes are not what a reader would call them.
std::string cause_shown(const std::string& cause) {
  if (cause == "yielded") return "taken over";
  if (cause == "turn_over") return "its turn has ended";
  if (cause == "passed_on") return "passed to its session";
  if (cause == "undone") return "its call failed";
  return shown(cause);
}

}  // namespace

std::string local_time(std::int64_t wall_ms) {
  const auto seconds = static_cast<std::time_t>(wall_ms / 1000);
  std::tm local{};
  std::array<char, 40> text{};
  if (::localtime_r(&seconds, &local) == nullptr) return format_time(wall_ms);
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &local);
  return {text.data(), size};
}

void LogColumns::widen(const core::Event& event) {
  what = std::max(what, width(printable(event.what)));
  agent = std::max(agent, width(shown(event.owner.agent)));
}

Line event_line(const core::Event& event, std::size_t columns, const LogColumns& widths) {
  const std::string time =
      columns > 0 ? local_time(event.at_wall_ms) : format_time(event.at_wall_ms);
  std::string names = printable(shown_list(service::spelled(event.resources), 3));
  std::string rest;
  if (!event.cause.empty() && event.cause != event.what) {
    rest += (names.empty() ? "(" : " (") + cause_shown(event.cause) + ")";
  }
  if (!event.by.agent.empty()) rest += " by " + shown(event.by.agent);
  const std::size_t limit = columns > 0 ? columns : SIZE_MAX;  // a pipe gets all of it
  if (!event.reason.empty()) rest += " " + quote(event.reason, limit);
  constexpr std::size_t kAgentColumnsMax = 24;
  const std::string what = padded(printable(event.what), widths.what);
  std::string name = shown(event.owner.agent);
  std::size_t name_columns = widths.agent;
  if (columns > 0) {
    name_columns = std::min(name_columns, kAgentColumnsMax);
    name = cut_middle(name, name_columns);
  }
  const std::string agent = padded(std::move(name), name_columns);
  const std::size_t before = time.size() + width(what) + width(agent) + 6;
  rest = printable(rest);
  if (columns > before) {
    const std::size_t room = columns - before;
    // Why it ended must be seen; a path is known by its beginning and its end.
    names = cut_middle(names, std::max(room - std::min(room, width(rest)), room / 2));
    rest = cut(rest, room - width(names));
  }
  return {{time + "  ", Style::kDim},
          {what + "  ", event_style(event.what)},
          {agent + "  ", Style::kBold},
          {names + rest}};
}

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
                "--since " + quote(text) + " is not a duration, a time or a seq of log --json",
                "write --since 10m or --since 2026-01-17T15:30:00Z");
  }
  command.since_wall_ms = *moment;
  return {};
}

}  // namespace lockkeeper::cli
