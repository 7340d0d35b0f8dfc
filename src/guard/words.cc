#include "guard/words.h"

#include <algorithm>
#include <set>

#include "base/clock.h"
#include "base/text.h"
#include "service/report.h"

namespace lockkeeper::guard {
namespace {

using Why = Finding::Why;

constexpr std::size_t kFindingsShown = 20;
constexpr std::size_t kPathsNamed = 200;

std::string ago_of(std::int64_t at_wall_ms, std::int64_t now_wall_ms) {
  if (at_wall_ms == 0) return {};
  return " " + format_ago(std::min(at_wall_ms, now_wall_ms - 1'000), now_wall_ms);
}

std::string holder_of(const Finding& finding) {
  return finding.foreign ? shown(finding.holder.agent) : service::owner_text(finding.holder);
}

std::string listed(const std::vector<Finding>& findings, std::int64_t now_wall_ms) {
  std::string text;
  const std::size_t most = std::min(findings.size(), kFindingsShown);
  for (std::size_t i = 0; i < most; ++i) {
    text += "  " + finding_words(findings[i], now_wall_ms) + "\n";
  }
  if (findings.size() > most) {
    text += "  and " + std::to_string(findings.size() - most) + " more\n";
  }
  return text;
}

// Git reads a name with these as a pattern.
bool is_plain_pathspec(const std::string& path) {
  return !path.starts_with(':') && path.find_first_of("*?[\\") == std::string::npos;
}

std::string quoted_paths(const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& path : paths) text += " " + shell_quote(path);
  return text;
}

std::string git_command(const Asked& asked, const std::vector<std::string>& paths) {
  std::string text = "git";
  if (!asked.from_top) text += " -C " + shell_quote(asked.root);
  if (!std::ranges::all_of(paths, is_plain_pathspec)) text += " --literal-pathspecs";
  return text;
}

}  // namespace

std::string finding_words(const Finding& finding, std::int64_t now_wall_ms) {
  const std::string copy =
      finding.copy_of.empty() ? std::string() : "a copy of " + shown(finding.copy_of) + ", ";
  std::string file = shown(finding.path) + ": " + copy;
  const std::string ago = ago_of(finding.at_wall_ms, now_wall_ms);
  switch (finding.why) {
    case Why::kChanged:
      return file + "changed by " + holder_of(finding) + ago + ", not committed";
    case Why::kEdited:
      return file + "being edited by " + holder_of(finding);
    case Why::kHeld:
      return file + "locked by " + holder_of(finding) + ago +
             (finding.text.empty() ? "" : ", reason " + quote(finding.text));
    case Why::kElsewhere:
      return file + "being edited by " + holder_of(finding) + " in another worktree, " +
             shown(finding.text) + ". Expect a merge";
    case Why::kTakenOver:
      return file + "changed by " + holder_of(finding) + ago + ", not committed; you hold it since";
    case Why::kLeft:
      return file + "left uncommitted by " + holder_of(finding) + ", whose session is over";
  }
  return file;
}

std::string way_out(const std::vector<Finding>& refused, const Asked& asked) {
  std::set<std::string> theirs;
  for (const Finding& finding : refused) theirs.insert(finding.path);
  if (!asked.own_index) {
    std::vector<std::string> mine;
    for (const std::string& path : asked.paths) {
      if (!theirs.contains(path)) mine.push_back(path);
    }
    if (mine.empty() || mine.size() > kPathsNamed) return {};
    return git_command(asked, mine) + " commit --" + quoted_paths(mine);
  }
  std::vector<std::string> paths(theirs.begin(), theirs.end());
  if (paths.size() > kPathsNamed) paths = {"."};
  const std::string git = git_command(asked, paths);
  const std::string take_out = asked.first ? " rm -r --cached --" : " restore --staged --";
  return git + take_out + quoted_paths(paths);
}

// A lock that ends with the commit.
std::string take_over(const std::vector<Finding>& findings, const Asked& asked) {
  std::set<std::string> held;
  for (const Finding& one : findings) held.insert(one.copy_of.empty() ? one.path : one.copy_of);
  if (held.size() > kPathsNamed) return "lockkeeper run FILE… --reason WHY -- git commit";
  std::vector<std::string> files;
  for (const std::string& file : held)
    files.push_back(asked.from_top ? file : asked.root + "/" + file);
  std::string text =
      "lockkeeper run --literal" + quoted_paths(files) + " --reason WHY -- git commit -m MESSAGE";
  if (asked.own_index || asked.paths.size() > kPathsNamed) return text;
  return text + " --" + quoted_paths(asked.paths);
}

std::string refusal_words(const std::vector<Finding>& findings, const Asked& asked,
                          std::int64_t now_wall_ms) {
  std::string text =
      "lockkeeper: this commit was refused. It contains files that others are working on:\n" +
      listed(findings, now_wall_ms);
  const std::string command = way_out(findings, asked);
  if (command.empty()) {
    text += "Commit without them: name your own files, as in: git commit -- FILE…\n";
  } else if (asked.own_index) {
    text += "To take them out of the commit, then commit again (the files stay as they are):\n  " +
            command + "\n";
  } else {
    text += "To commit only the rest, with your message:\n  " + command + "\n";
  }
  const bool all_left =
      std::ranges::all_of(findings, [](const Finding& one) { return one.why == Why::kChanged; });
  if (all_left) {
    text +=
        "If this work should go in although it is not yours, hold it for the commit, on record:\n "
        " " +
        take_over(findings, asked) + "\n";
  }
  return text + "Do not commit in another way. To see all locks: lockkeeper list\n";
}

std::string warning_words(const std::vector<Finding>& findings, std::int64_t now_wall_ms) {
  if (findings.empty()) return {};
  const bool left =
      std::ranges::all_of(findings, [](const Finding& one) { return one.why == Why::kLeft; });
  return (left ? "lockkeeper: this commit contains what others have left; that is on record:\n"
               : "lockkeeper: this commit contains files that others are working on; they are "
                 "told:\n") +
         listed(findings, now_wall_ms);
}

std::string unknown_words(const Error& error, bool refused) {
  return "lockkeeper cannot tell whether others work on the files of this commit: " +
         error.message + (error.hint.empty() ? "" : "; " + error.hint) +
         (refused ? ". The commit was refused. To find out more: lockkeeper doctor\n"
                  : ". The commit was let through\n");
}

}  // namespace lockkeeper::guard
