#include "git/writer.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/parse.h"
#include "base/text.h"
#include "git/reader.h"

namespace lockkeeper::git {
namespace {

// What git would start behind our back outlives it and holds the lock.
constexpr std::array<std::pair<const char*, const char*>, 3> kSettings = {{
    {"gc.auto", "0"},
    {"maintenance.auto", "false"},
    {"core.fsmonitor", "false"},
}};

std::vector<std::string> writer_environment(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> made;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string name(text.substr(0, text.find('=')));
    const bool passed_on =
        !name.starts_with("GIT_") ||
        std::ranges::find(kIdentityVariables, name) != std::end(kIdentityVariables);
    if (passed_on && !variables.contains(name)) made.emplace_back(text);
  }
  made.emplace_back("GIT_TERMINAL_PROMPT=0");
  made.emplace_back("GIT_EDITOR=:");
  made.emplace_back("GIT_MERGE_AUTOEDIT=no");
  made.push_back("GIT_CONFIG_COUNT=" + std::to_string(kSettings.size()));
  for (std::size_t i = 0; i < kSettings.size(); ++i) {
    made.push_back("GIT_CONFIG_KEY_" + std::to_string(i) + "=" + kSettings[i].first);
    made.push_back("GIT_CONFIG_VALUE_" + std::to_string(i) + "=" + kSettings[i].second);
  }
  for (const auto& [name, value] : variables) {
    made.push_back(name);
    made.back().append("=").append(value);
  }
  return made;
}

// What git itself complains about: from its first "error:" or "fatal:" on to the end of that
// paragraph. What follows is advice for people at a terminal. Empty: git has none.
std::vector<std::string> complaint_in(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    bool begins = false;
    for (const std::string_view word : {"error: ", "fatal: "}) {
      begins = begins || line.starts_with(word);
      if (line.starts_with(word)) line.remove_prefix(word.size());
    }
    if (lines.empty() && !begins) continue;
    if (line.empty()) break;
    const bool advice = line.starts_with("hint:") || line.starts_with("Please ") ||
                        line == "Aborting" || line.starts_with("Merge with strategy ");
    if (!advice) lines.emplace_back(line);
  }
  return lines;
}

}  // namespace

Result<Writer> Writer::open(const std::string& root, WriterOptions options) {
  LK_ASSIGN(std::string program, find_git());
  return Writer(std::move(program), root, std::move(options));
}

Result<Answer> Writer::try_to_run(const std::vector<std::string>& words) const {
  host::Program git;
  git.argv = {program_, "-C", root_, "--no-pager"};
  git.argv.insert(git.argv.end(), words.begin(), words.end());
  git.environment = writer_environment(options_.variables);
  git.third = options_.lock;
  return carry_out(std::move(git), options_.limits, true, options_.go_on);
}

Result<std::string> Writer::run(const std::vector<std::string>& words) const {
  LK_ASSIGN(Answer answer, try_to_run(words));
  if (answer.status == 0) return std::move(answer.text);
  const std::string said = last_words(answer.text);
  return fail(
      Code::kFailed,
      "git " + words.front() + " failed in " + quote(root_) +
          (said.empty() ? " with exit status " + std::to_string(answer.status) : ": " + said));
}

std::string last_words(const std::string& text) {
  constexpr std::size_t kLines = 3;
  constexpr std::size_t kFilesNamed = 3;
  constexpr std::size_t kBytes = 400;
  std::vector<std::string> lines = complaint_in(text);
  if (lines.empty()) {
    lines = words_in(text, "\n");
    std::erase_if(lines, [](const std::string& line) { return line.starts_with("hint:"); });
    lines.erase(lines.begin(),
                lines.end() - static_cast<std::ptrdiff_t>(std::min(lines.size(), kLines)));
  }
  std::string said;
  std::vector<std::string> files;  // git lists them below its sentence, each after a tab
  const auto name_files = [&] {
    if (!files.empty()) said += (said.empty() ? "" : " ") + shown_list(files, kFilesNamed);
    files.clear();
  };
  for (const std::string& line : lines) {
    if (line.starts_with('\t')) {
      files.push_back(line.substr(1));
      continue;
    }
    name_files();
    said += (said.empty() ? "" : "; ") + escaped(line);
  }
  name_files();
  return cut_utf8(said, kBytes);
}

}  // namespace lockkeeper::git
