#include <algorithm>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "crew/report/report.h"
#include "crew/report/report_parts.h"
#include "draw/svg_text.h"

namespace lockkeeper::crew {
namespace {

constexpr std::size_t kNameBytes = 160;
constexpr std::size_t kLinesListed = 200;
constexpr std::size_t kFilesListed = 40;

// Foreign text as one plain line.
std::string plain(std::string_view text) {
  constexpr std::string_view kMarkup = "\\`*_[]<>|~&#";
  std::string out;
  for (const char c : draw::picture_line(text)) {
    if (kMarkup.contains(c)) out += '\\';
    out += c;
  }
  return out;
}

bool is_plain_line(std::string_view text) {
  return is_valid_utf8(text) && draw::picture_line(text) == text;
}

// A name as a code span, so that nothing in it is markup, a link or a mention. Invisible characters
// are written as \xNN.
std::string code(std::string_view name) {
  std::string text(name);
  if (!is_plain_line(name) || name.size() > kNameBytes) text = quote(name, kNameBytes);
  text = draw::picture_line(text);
  std::size_t longest = 0;
  for (std::size_t i = 0, run = 0; i < text.size(); ++i) {
    run = text[i] == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  // Markdown removes one space at each side again; they keep backticks and spaces apart.
  const bool pad = text.empty() || text.find_first_not_of(' ') == std::string::npos ||
                   text.starts_with('`') || text.ends_with('`') ||
                   (text.starts_with(' ') && text.ends_with(' '));
  return fence + (pad ? " " + text + " " : text) + fence;
}

// In a table '|' ends the cell even inside a code span.
std::string cell(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '|' && (i == 0 || text[i - 1] != '\\')) out += '\\';
    out += text[i];
  }
  return out;
}

std::string times(std::size_t count) {
  return count == 1 ? "once" : count == 2 ? "twice" : std::to_string(count) + " times";
}

// "2026-01-17 15:30:00 UTC".
std::string moment(std::int64_t ms) {
  std::string text = format_time(ms);
  text.resize(text.find('.'));
  std::ranges::replace(text, 'T', ' ');
  return text + " UTC";
}

std::string names(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& name : list) out += (out.empty() ? "" : ", ") + code(name);
  return out;
}

class Writer {
 public:
  explicit Writer(const RunRecord& record)
      : record_(record), now_(last_moment(record)), suspects_(record) {}

  std::string write() {
    head();
    went_wrong();
    agents();
    worktrees();
    waits();
    changes();
    return std::move(out_);
  }

 private:
  void head();
  void went_wrong();
  void trouble_of(const AgentRecord& agent);
  void agents();
  void worktrees();
  void waits();
  void changes();
  void changes_of(const AgentRecord& agent);
  // Counts a line of a list; false: it is beyond the limit.
  bool listed(std::size_t limit) { return ++lines_ <= limit; }
  void end_list(std::size_t limit, const char* what) {
    if (lines_ > limit) {
      out_ += "\n… and " + std::to_string(lines_ - limit) + " more " + what +
              "; the JSON report has them all.\n";
    }
    lines_ = 0;
  }

  const RunRecord& record_;
  std::int64_t now_;
  const Suspects suspects_;
  std::size_t lines_ = 0;
  std::string out_;
};

void Writer::head() {
  out_ +=
      "# Workflow " + std::string(outcome_name(record_)) + ": " + outcome_text(record_) + "\n\n";
  const std::int64_t took = length_ms(record_.started_ms, record_.ended_ms, now_);
  out_ += "Plan " + code(record_.plan);
  if (!record_.feature.empty()) out_ += ", feature " + code(record_.feature);
  out_ += ", run " + code(record_.id) + ".\n";
  if (record_.started_ms == 0) return;
  out_ += "Started " + moment(record_.started_ms) +
          (record_.ended_ms == 0 ? ", not ended yet" : ", took " + short_time(took));
  if (record_.resumed > 0) out_ += ", resumed " + times(record_.resumed);
  if (record_.jobs > 0) out_ += ", at most " + std::to_string(record_.jobs) + " at once";
  out_ += ".\n";
  std::int64_t worked = 0;
  for (const AgentRecord& agent : record_.agents) worked += worked_ms(agent, now_);
  if (took > 0 && worked > 0) {
    const std::int64_t tenths = worked * 10 / took;
    out_ += "The agents worked " + short_time(worked) +
            " in total: " + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) +
            " at once on average.\n";
  }
  const std::string_view outcome = outcome_name(record_);
  if (outcome == "stopped" || outcome == "failed") {
    out_ += "To continue, run the same command with `--resume`.\n";
  }
}

void Writer::went_wrong() {
  const std::size_t before = out_.size();
  for (const std::string& problem : record_.problems) {
    if (listed(kLinesListed)) out_ += "- " + plain(problem) + "\n";
  }
  for (const AgentRecord& agent : record_.agents) trouble_of(agent);
  end_list(kLinesListed, "problems");
  if (out_.size() > before) out_.insert(before, "\n## What went wrong\n\n");
}

void Writer::trouble_of(const AgentRecord& agent) {
  const auto say = [&](const std::string& words) {
    if (listed(kLinesListed)) out_ += "- " + code(agent.id) + " " + words + "\n";
  };
  const std::size_t tries = agent.attempts.size();
  for (const Attempt& one : agent.attempts) {
    std::size_t outside = 0;
    std::size_t perhaps = 0;
    for (const Change& change : one.changes) {
      if (change.outside) ++(suspects_.of(change).empty() ? outside : perhaps);
    }
    const std::string which = tries > 1 ? " (attempt " + std::to_string(one.number) + ")" : "";
    if (one.ending != Ending::kDone && one.ending != Ending::kNone) {
      say(plain(ending_text(one)) + which +
          (agent.standing == Standing::kDone ? "; a later attempt succeeded" : ""));
    }
    const bool said = one.ending == Ending::kStrayed;
    if (outside > 0 && !said) {
      say("changed " + counted(outside, "file") + " outside its scope" + which);
    }
    if (perhaps > 0 && !said) {
      say("or another agent changed " + counted(perhaps, "file") + " outside every scope" + which);
    }
    if (!one.changes_unknown.empty()) {
      say("made unknown changes" + which + ": " + plain(one.changes_unknown));
    }
    if (one.processes_ended > 0) {
      say(left_behind_text(one.processes_ended) + which);
    }
    if (one.log_cut) say("printed more than its log holds" + which);
  }
  if (is_unmerged(agent.tree))
    say(plain(tree_text(agent.tree)) + ", on " + code(agent.tree.branch));
  if (agent.standing == Standing::kSkipped || (agent.standing == Standing::kFailed && tries == 0)) {
    say(std::string("was ") + (agent.standing == Standing::kSkipped ? "skipped" : "not run") +
        (agent.why.empty() ? "" : ": " + plain(agent.why)));
  }
}

void Writer::agents() {
  if (record_.agents.empty()) return;
  out_ +=
      "\n## Agents\n\n| Agent | Result | Began | Worked | Waited | Attempts | Files changed |\n"
      "|---|---|--:|--:|--:|--:|--:|\n";
  for (const AgentRecord& agent : record_.agents) {
    std::vector<std::string> files;
    std::int64_t began = 0;
    for (const Attempt& one : agent.attempts) {
      for (const Change& change : one.changes) files.push_back(change.path);
      if (began == 0) began = one.started_ms;
    }
    std::ranges::sort(files);
    files.erase(std::ranges::unique(files).begin(), files.end());
    const std::int64_t waited = waited_ms(agent, now_);
    out_ += "| " + cell(code(agent.id)) + " | " + standing_name(agent.standing) + " | " +
            (began == 0 ? "" : "+" + short_time(began - record_.started_ms)) + " | " +
            (began == 0 ? "" : short_time(worked_ms(agent, now_))) + " | " +
            (waited == 0 ? "" : short_time(waited)) + " | " +
            std::to_string(agent.attempts.size()) + " | " + std::to_string(files.size()) + " |\n";
  }
}

void Writer::worktrees() {
  if (record_.trees.folder.empty()) return;
  constexpr std::size_t kDigits = 12;
  out_ += "\n## Worktrees\n\nThe run began at " + code(record_.trees.base.substr(0, kDigits)) +
          " of " + code(record_.trees.branch) + ".\n\n" +
          "| Agent | Branch | Commit | What became of it |\n|---|---|---|---|\n";
  for (const AgentRecord& agent : record_.agents) {
    const TreeRecord& tree = agent.tree;
    if (tree.branch.empty()) continue;
    out_ += "| " + cell(code(agent.id)) + " | " + cell(code(tree.branch)) + " | " +
            (tree.commit.empty() ? "" : code(tree.commit.substr(0, kDigits))) + " | " +
            cell(plain(tree_text(tree))) + " |\n";
  }
}

void Writer::waits() {
  const std::size_t before = out_.size();
  for (const AgentRecord& agent : record_.agents) {
    std::vector<std::pair<std::string, std::int64_t>> sums;  // one line for each reason
    for (const Wait& wait : agent.waits) {
      const std::string words = wait_text(wait, record_.jobs, code, plain);
      auto sum = std::ranges::find(sums, words, &std::pair<std::string, std::int64_t>::first);
      if (sum == sums.end()) sum = sums.emplace(sums.end(), words, 0);
      sum->second += length_ms(wait.begin_ms, wait.end_ms, now_);
    }
    for (const auto& [words, ms] : sums) {
      if (ms == 0 || !listed(kLinesListed)) continue;
      out_ += "| " + cell(code(agent.id)) + " | " + short_time(ms) + " | " + cell(words) + " |\n";
    }
  }
  end_list(kLinesListed, "waits");
  if (out_.size() > before) {
    out_.insert(before, "\n## Waits\n\n| Agent | How long | For |\n|---|--:|---|\n");
  }
}

void Writer::changes() {
  const std::size_t before = out_.size();
  for (const AgentRecord& agent : record_.agents) changes_of(agent);
  if (out_.size() > before) out_.insert(before, "\n## Changes\n");
}

void Writer::changes_of(const AgentRecord& agent) {
  const std::size_t before = out_.size();
  for (const Attempt& one : agent.attempts) {
    for (const Change& change : one.changes) {
      if (!listed(kFilesListed)) continue;
      out_ += std::string("- ") + change_name(change.kind) + " " + code(change.path);
      if (change.outside) out_ += ", **outside its scope**";
      if (const auto others = suspects_.of(change); !others.empty()) {
        out_ += ", perhaps by " + names(others);
      }
      if (agent.attempts.size() > 1) out_ += ", attempt " + std::to_string(one.number);
      out_ += "\n";
    }
  }
  const std::size_t all = lines_;
  end_list(kFilesListed, "files");
  if (all > 0) out_.insert(before, "\nBy " + code(agent.id) + ":\n\n");
}

}  // namespace

std::string report_markdown(const RunRecord& record) {
  return Writer(record).write();
}

}  // namespace lockkeeper::crew
