#include "cli/verbs/crew_view.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "crew/record/record_json.h"
#include "crew/report/report_parts.h"

namespace lockkeeper::cli {
namespace {

using crew::AgentRecord;
using crew::CrewEvent;
using crew::Standing;
using crew::Wait;

constexpr std::size_t kNameColumns = 24;  // at most; a third of a narrow terminal
constexpr std::size_t kHeldColumns = 20;
constexpr std::int64_t kRedrawMs = 200;
constexpr std::size_t kBarColumns = 24;

// In the order of CrewEvent::What.
constexpr const char* kEventNames[] = {"waiting", "started",  "ended", "again",  "skipped",
                                       "note",    "stopping", "found", "merged", "unmerged"};
static_assert(std::size(kEventNames) == static_cast<std::size_t>(CrewEvent::What::kUnmerged) + 1);

// How often Enter was pressed since the last call. The terminal echoes it, which moves the picture
// up; nobody else reads what is typed here. In the background reading would stop us.
std::size_t lines_typed() {
  std::size_t lines = 0;
  if (::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) return lines;
  char typed[256];
  for (pollfd wanted{STDIN_FILENO, POLLIN, 0}; ::poll(&wanted, 1, 0) > 0;) {
    const ssize_t count = ::read(STDIN_FILENO, typed, sizeof typed);
    if (count <= 0) break;  // Ctrl-D, or the terminal is gone
    lines += static_cast<std::size_t>(std::count(typed, typed + count, '\n'));
  }
  return lines;
}

std::string wait_text(const Wait& wait) {
  switch (wait.what) {
    case Wait::For::kNeed:
      return "needs " + wait.on;
    case Wait::For::kAgent:
      return "waits for " + wait.on + ", which holds what it needs";
    case Wait::For::kJob:
      return "waits for a free slot";
    case Wait::For::kLock:
      return "waits: " + wait.on;
    case Wait::For::kPause:
      return "paused: " + wait.on;
  }
  return "";
}

// Fields for programs about a worktree that was merged or not.
void add_merge(service::Json& json, const CrewEvent& event) {
  if (event.what == CrewEvent::What::kMerged || event.what == CrewEvent::What::kUnmerged) {
    json["worktree"] = crew::tree_json(event.agent->tree);
  }
}

// Fields for programs about an attempt that began or ended.
void add_attempt(service::Json& json, const CrewEvent& event) {
  const bool ended = event.what == CrewEvent::What::kEnded;
  if (!ended && event.what != CrewEvent::What::kStarted) return;
  const crew::Attempt& attempt = event.agent->attempts.back();
  json["attempt"] = attempt.number;
  if (!ended) return;
  json["ending"] = crew::ending_name(attempt.ending);
  json["exit_status"] = attempt.exit_status;
}

std::string cell(std::string_view text, std::size_t columns) {
  return padded(cut(text, columns), columns);
}

// What the agent holds, in short: "src/api.c +2".
std::string held_text(const AgentRecord& agent) {
  if (agent.locks.empty()) return "";
  const std::size_t more = agent.locks.size() - 1;
  const std::string rest = more == 0 ? "" : " +" + std::to_string(more);
  return cut(agent.locks.front(), kHeldColumns - width(rest)) + rest;
}

std::size_t name_room(std::size_t columns) {
  return columns == 0 ? kNameColumns : std::min(kNameColumns, columns / 3);
}

struct Mark {
  const char* sign;
  Style style;
};

// In the order of Standing.
constexpr Mark kMarks[] = {{"○", Style::kDim},   {"○", Style::kDim}, {"●", Style::kGreen},
                           {"✓", Style::kGreen}, {"✗", Style::kRed}, {"–", Style::kYellow},
                           {"■", Style::kYellow}};
static_assert(std::size(kMarks) == static_cast<std::size_t>(Standing::kStopped) + 1);

const Mark& mark_of(Standing standing) {
  return kMarks[static_cast<std::size_t>(standing)];
}

std::int64_t worked_ms(const AgentRecord& agent) {
  std::int64_t total = 0;
  for (const crew::Attempt& attempt : agent.attempts) {
    if (attempt.started_ms != 0 && attempt.ended_ms != 0) {
      total += attempt.ended_ms - attempt.started_ms;
    }
  }
  return total;
}

// Rounded down to seconds.
std::string seconds(std::int64_t ms) {
  return format_duration(std::max<std::int64_t>(0, ms) / 1000 * 1000);
}

}  // namespace

bool CrewView::is_drawn() const {
  return out_.options().out_is_terminal && !out_.json() && !out_.quiet() && out_.options().draws;
}

void CrewView::show(const CrewEvent& event) {
  if (out_.json()) {
    service::Json json{{"event", kEventNames[static_cast<std::size_t>(event.what)]},
                       {"at", format_time(clock_.now().wall_ms)}};
    json["agent"] = event.agent == nullptr ? service::Json() : service::Json(event.agent->id);
    if (event.what == CrewEvent::What::kWaiting && !event.agent->waits.empty()) {
      json["for"] = crew::wait_name(event.agent->waits.back().what);
    }
    add_attempt(json, event);
    add_merge(json, event);
    json["text"] = event.text;
    out_.object(json);
    return;
  }
  // Waits for other agents of this run appear only in the picture and the report.
  if (event.what == CrewEvent::What::kWaiting) {
    const Wait::For what = event.agent->waits.back().what;
    if (is_drawn() || (what != Wait::For::kLock && what != Wait::For::kPause)) return;
  }
  clear();
  const std::string time = format_time(clock_.now().wall_ms).substr(11, 8) + "  ";
  Line line{{time, Style::kDim}};
  if (event.agent != nullptr) line.push_back({event.agent->id + "  ", Style::kBold});
  const bool failed = event.what == CrewEvent::What::kEnded &&
                      event.agent->attempts.back().ending != crew::Ending::kDone;
  const bool bad = failed || event.what == CrewEvent::What::kUnmerged;
  const std::string text =
      event.what == CrewEvent::What::kWaiting ? wait_text(event.agent->waits.back()) : event.text;
  const bool skipped = event.what == CrewEvent::What::kSkipped;
  line.push_back({(skipped ? "skipped: " : "") + text, bad ? Style::kRed : Style::kPlain});
  out_.line(line);
  out_.flush();
  drawn_ms_ = 0;  // redraw the picture at once, below this line
}

Line CrewView::headline(const crew::RunRecord& record, std::size_t columns) const {
  const std::size_t all = record.agents.size();
  const std::size_t done = crew::count_of(record, Standing::kDone);
  const std::size_t failed = crew::count_of(record, Standing::kFailed);
  const std::size_t skipped = crew::count_of(record, Standing::kSkipped);
  const std::size_t over = done + failed + skipped;
  const std::size_t whole = std::min(kBarColumns, columns / 5);
  const std::size_t filled = all == 0 ? whole : over * whole / all;
  std::string bar;
  for (std::size_t i = 0; i < whole; ++i) bar += i < filled ? "█" : "░";
  std::string text = "  " + std::to_string(done) + "/" + std::to_string(all) + " done, " +
                     std::to_string(crew::count_of(record, Standing::kRunning)) + " running";
  if (failed > 0) text += ", " + std::to_string(failed) + " failed";
  if (skipped > 0) text += ", " + std::to_string(skipped) + " skipped";
  text += "  " + seconds(clock_.now().wall_ms - record.started_ms);
  const std::size_t rest = whole + width(text) + 2;
  const std::size_t room = columns > rest + 4 ? columns - rest : 8;
  return {{cut(title_, room) + "  ", Style::kBold},
          {bar, failed > 0 ? Style::kYellow : Style::kGreen},
          {text}};
}

Line CrewView::agent_line(const AgentRecord& agent, std::size_t name_width) const {
  const Mark mark = mark_of(agent.standing);
  Line line{{std::string(mark.sign) + " ", mark.style}, {cell(agent.id, name_width) + "  "}};
  if (agent.standing == Standing::kRunning) {
    const std::string since = seconds(clock_.now().wall_ms - foreman_->running_since(agent));
    line.push_back({cell(since, 7), Style::kBold});
    line.push_back({cell(held_text(agent), kHeldColumns) + "  "});
    line.push_back({foreman_->last_line(agent), Style::kDim});
  } else if (const Wait* const wait = crew::open_wait(agent)) {
    line.push_back({wait_text(*wait), Style::kDim});
  } else {
    line.push_back({"acquiring its locks", Style::kDim});
  }
  return line;
}

void CrewView::redraw() {
  if (!is_drawn() || foreman_ == nullptr) return;
  const std::int64_t now = clock_.now().wall_ms;
  if (now - drawn_ms_ < kRedrawMs) return;
  drawn_ms_ = now;
  const crew::RunRecord& record = foreman_->record();
  const auto [columns, rows] = screen_size(out_);
  const std::size_t room = rows > 5 ? rows - 4 : 1;
  std::vector<const AgentRecord*> shown;
  for (const Standing standing : {Standing::kRunning, Standing::kWaiting}) {
    for (const AgentRecord& agent : record.agents) {
      if (agent.standing == standing) shown.push_back(&agent);
    }
  }
  std::size_t name_width = 8;
  for (const AgentRecord* const agent : shown) {
    name_width = std::max(name_width, std::min(name_room(columns), width(agent->id)));
  }
  std::vector<Line> lines = {fit(headline(record, columns), columns)};
  for (std::size_t i = 0; i < shown.size() && i < room; ++i) {
    lines.push_back(fit(agent_line(*shown[i], name_width), columns));
  }
  if (shown.size() > room) {
    lines.push_back({{"  and " + std::to_string(shown.size() - room) + " more", Style::kDim}});
  }
  note_typed();
  picture_.draw(lines);
  drawn_ = true;
}

void CrewView::note_typed() {
  if (!drawn_) return;
  if (const std::size_t lines = lines_typed(); lines > 0) picture_.disturbed(lines);
}

void CrewView::clear() {
  note_typed();
  picture_.clear();
  drawn_ = false;
}

std::string why_text(const AgentRecord& agent) {
  constexpr std::string_view kFailed = "failed: ";
  if (agent.standing == Standing::kStopped && agent.attempts.empty()) return "it had not started";
  if (agent.standing != Standing::kFailed || !agent.why.starts_with(kFailed)) return agent.why;
  return agent.why.substr(kFailed.size());
}

void show_tail(Output& out, const crew::AgentRecord& agent, const std::vector<std::string>& tail) {
  if (tail.empty()) return;
  out.line({{"the end of " + agent.id + "'s log:", Style::kDim}});
  for (const std::string& line : tail)
    out.line(fit({{"  │ ", Style::kDim}, {line}}, out.columns()));
}

void show_outcome(Output& out, const crew::RunRecord& record) {
  if (out.json()) return;
  std::size_t name_width = 5;
  for (const AgentRecord& agent : record.agents) {
    name_width = std::max(name_width, std::min(name_room(out.columns()), width(agent.id)));
  }
  for (const AgentRecord& agent : record.agents) {
    const Mark mark = mark_of(agent.standing);
    Line line{{std::string(mark.sign) + " ", mark.style},
              {cell(agent.id, name_width) + "  "},
              {cell(crew::standing_name(agent.standing), 9), mark.style}};
    if (!agent.attempts.empty()) line.push_back({cell(seconds(worked_ms(agent)), 8)});
    if (agent.attempts.size() > 1) {
      line.push_back({std::to_string(agent.attempts.size()) + " attempts  "});
    }
    if (agent.standing != Standing::kDone) line.push_back({why_text(agent), Style::kDim});
    if (const std::string tree = crew::tree_text(agent.tree); !tree.empty()) {
      const bool after = agent.standing != Standing::kDone && !why_text(agent).empty();
      line.push_back(
          {(after ? "; " : "") + tree, crew::is_unmerged(agent.tree) ? Style::kRed : Style::kDim});
    }
    out.line(fit(std::move(line), out.columns()));
  }
}

}  // namespace lockkeeper::cli
