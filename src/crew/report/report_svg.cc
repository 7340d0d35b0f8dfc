#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "crew/report/report.h"
#include "crew/report/report_parts.h"
#include "draw/timeline_svg.h"

namespace lockkeeper::crew {
namespace {

struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Maps times to the picture's axis, without the long gaps before a resume.
class Axis {
 public:
  Axis(const RunRecord& record, std::int64_t now_ms) : origin_(record.started_ms) {
    std::vector<Span> busy;
    for (const AgentRecord& agent : record.agents) {
      for (const Attempt& one : agent.attempts) {
        if (one.started_ms == 0) continue;
        busy.push_back(
            {one.started_ms, one.started_ms + length_ms(one.started_ms, one.ended_ms, now_ms)});
      }
    }
    std::ranges::sort(busy, {}, &Span::begin);
    std::int64_t worked = 0;
    std::int64_t until = origin_;
    std::vector<Span> idle;
    for (const Span& span : busy) {
      if (span.begin > until) idle.push_back({until, span.begin});
      worked += std::max<std::int64_t>(0, span.end - std::max(until, span.begin));
      until = std::max(until, span.end);
    }
    // A run that was never resumed keeps its gaps.
    if (record.resumed == 0) return;
    std::erase_if(
        idle, [&](const Span& gap) { return gap.end - gap.begin < std::max(kGapMs, worked / 4); });
    gaps_ = std::move(idle);
  }

  std::int64_t at(std::int64_t ms) const { return ms - origin_ - left_out_before(ms); }
  std::int64_t left_out_before(std::int64_t ms) const {
    std::int64_t sum = 0;
    for (const Span& gap : gaps_) {
      sum += std::max<std::int64_t>(0, std::min(ms, gap.end) - gap.begin);
    }
    return sum;
  }

 private:
  static constexpr std::int64_t kGapMs = 10'000;
  std::int64_t origin_;
  std::vector<Span> gaps_;
};

draw::Bar::Kind kind_of(Ending ending) {
  using Kind = draw::Bar::Kind;
  if (ending == Ending::kNone || ending == Ending::kDone) return Kind::kWork;
  return ending == Ending::kStopped ? Kind::kStopped : Kind::kFailed;
}

// "15:30:00".
std::string clock_time(std::int64_t ms) {
  constexpr std::size_t kDate = 11;
  constexpr std::size_t kTime = 8;
  return format_time(ms).substr(kDate, kTime);
}

std::string span_text(std::int64_t begin, std::int64_t length) {
  return clock_time(begin) + " to " + clock_time(begin + length) + " UTC, " + short_time(length);
}

std::string as_it_is(std::string_view text) {
  return std::string(text);
}

void add_bars(std::vector<draw::Bar>& bars, std::size_t row, const AgentRecord& agent,
              const Axis& axis, std::int64_t now_ms, std::size_t jobs) {
  for (const Wait& wait : agent.waits) {
    const std::int64_t length = length_ms(wait.begin_ms, wait.end_ms, now_ms);
    if (length == 0) continue;
    bars.push_back({row, axis.at(wait.begin_ms), axis.at(wait.begin_ms + length),
                    draw::Bar::Kind::kWaiting, "",
                    agent.id + " waited for " + wait_text(wait, jobs, as_it_is, as_it_is) + "\n" +
                        span_text(wait.begin_ms, length)});
  }
  for (const Attempt& one : agent.attempts) {
    if (one.started_ms == 0) continue;
    const std::int64_t length = length_ms(one.started_ms, one.ended_ms, now_ms);
    std::string label = short_time(length);
    std::string hover = agent.id;
    if (agent.attempts.size() > 1) {
      label = "attempt " + std::to_string(one.number);
      hover += ", " + label;
    }
    hover += ": " + ending_text(one) + "\n" + span_text(one.started_ms, length);
    if (!one.changes.empty()) {
      hover += "\nfiles changed: " + std::to_string(one.changes.size());
    }
    bars.push_back({row, axis.at(one.started_ms), axis.at(one.started_ms + length),
                    kind_of(one.ending), std::move(label), std::move(hover)});
  }
}

// By their first start; agents that never started come last, in the plan's order.
std::vector<const AgentRecord*> by_begin(const RunRecord& record) {
  std::vector<std::pair<std::int64_t, const AgentRecord*>> order;
  for (const AgentRecord& agent : record.agents) {
    std::int64_t began = INT64_MAX;
    for (const Attempt& one : agent.attempts) {
      if (one.started_ms != 0) began = std::min(began, one.started_ms);
    }
    order.emplace_back(began, &agent);
  }
  std::ranges::stable_sort(order, {}, &std::pair<std::int64_t, const AgentRecord*>::first);
  std::vector<const AgentRecord*> agents;
  agents.reserve(order.size());
  for (const auto& [began, agent] : order) agents.push_back(agent);
  return agents;
}

}  // namespace

std::string report_svg(const RunRecord& record) {
  const std::int64_t now_ms = last_moment(record);
  const Axis axis(record, now_ms);
  draw::TimelinePicture picture;
  picture.title = "Workflow " + std::string(outcome_name(record)) + ": " + outcome_text(record);
  picture.subtitle = record.plan;
  if (record.started_ms != 0) {
    std::string day = format_time(record.started_ms);
    day.resize(10);
    picture.subtitle += " · " + day + " " + clock_time(record.started_ms) + " UTC · " +
                        short_time(length_ms(record.started_ms, record.ended_ms, now_ms));
  }
  if (const std::int64_t gaps = axis.left_out_before(now_ms); gaps > 0) {
    picture.subtitle += " · " + short_time(gaps) + " without work left out";
  }
  for (const AgentRecord* agent : by_begin(record)) {
    add_bars(picture.bars, picture.rows.size(), *agent, axis, now_ms, record.jobs);
    const bool ran = !agent->attempts.empty() || agent->standing == Standing::kPending;
    picture.rows.push_back(ran ? agent->id
                               : agent->id + " (" + standing_name(agent->standing) + ")");
  }
  return draw::timeline_svg(picture);
}

}  // namespace lockkeeper::crew
