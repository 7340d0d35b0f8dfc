// A plan as a Mermaid flowchart, and as rows of a timeline.
#include <algorithm>

#include "base/clock.h"
#include "base/text.h"
#include "plan/drawings.h"

namespace lockkeeper::plan {
namespace {

// Even inside quotes Mermaid reads markup, entities and directives: other characters are escaped.
std::string label(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  const std::string line = draw::picture_line(text);
  std::string out;
  std::size_t count = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto byte = static_cast<unsigned char>(line[i]);
    if (!is_utf8_continuation(line[i]) && ++count > kLongest) return out + "…";
    const bool plain =
        is_name_character(line[i]) || byte >= 0x80 || std::string_view(" /,").contains(line[i]);
    out += plain ? std::string(1, line[i]) : "#" + std::to_string(byte) + ";";
  }
  return out;
}

std::string node(std::size_t job) {
  return "j" + std::to_string(job);
}

}  // namespace

std::string mermaid(const Plan& plan, const Analysis& analysis) {
  std::string out = "flowchart LR\n";
  for (std::size_t round = 0; round < analysis.waves.rounds.size(); ++round) {
    const std::string number = std::to_string(round + 1);
    out.append("  subgraph r").append(number).append(" [\"Round ").append(number).append("\"]\n");
    for (const std::size_t job : analysis.waves.rounds[round]) {
      out += "    " + node(job) + "[\"";
      out += label(plan.jobs[job].id) + "<br/>";
      out += format_duration(plan.jobs[job].minutes * kMinuteMs) + "\"]\n";
    }
    out += "  end\n";
  }
  std::size_t links = 0;
  for (const Dependency& each : analysis.dependencies) {
    out += "  " + node(each.earlier) + " --> " + node(each.later) + "\n";
    ++links;
  }
  for (std::size_t i = 0; i < analysis.conflicts.listed.size() && i < kLinesDrawn; ++i) {
    const Conflict& each = analysis.conflicts.listed[i];
    out += "  " + node(each.a) + " -. \"" + label(each.shared.front().witness) + "\" .- " +
           node(each.b) + "\n";
    out += "  linkStyle " + std::to_string(links++) +
           (each.cause == Cause::kLocks ? " stroke:#c0273a" : " stroke:#b4560a") + "\n";
  }
  if (!analysis.critical.empty()) {
    out += "  classDef critical stroke:#b4560a,stroke-width:3px\n  class ";
    for (std::size_t i = 0; i < analysis.critical.size(); ++i) {
      out += (i == 0 ? "" : ",") + node(analysis.critical[i]);
    }
    out += " critical\n";
  }
  return out;
}

draw::TimelinePicture timeline_picture(const Plan& plan, const Analysis& analysis,
                                       const std::string& title) {
  draw::TimelinePicture picture;
  picture.title = title;
  const auto length = [](std::int64_t minutes) { return format_duration(minutes * kMinuteMs); };
  picture.subtitle = length(analysis.cost.minutes) + " instead of " +
                     length(analysis.sequential_minutes) + " one after another, at most " +
                     std::to_string(analysis.most_busy) + " at once";
  for (const Slot& slot : analysis.slots) {
    const Job& job = plan.jobs[slot.package];
    const bool critical =
        std::ranges::find(analysis.critical, slot.package) != analysis.critical.end();
    std::vector<std::string> needs;
    for (const std::size_t need : job.needs) needs.push_back(plan.jobs[need].id);
    picture.bars.push_back({picture.rows.size(), slot.begin * kMinuteMs, slot.end * kMinuteMs,
                            critical ? draw::Bar::Kind::kCritical : draw::Bar::Kind::kWork,
                            length(job.minutes),
                            job.id + ": " + length(slot.begin) + " to " + length(slot.end) +
                                (needs.empty() ? "" : ", after " + join(needs, ", "))});
    picture.rows.push_back(job.id);
  }
  return picture;
}

}  // namespace lockkeeper::plan
