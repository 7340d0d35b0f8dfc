#include "cli/verbs/recover_git.h"

#include <algorithm>

#include "base/parse.h"
#include "base/text.h"
#include "git/reader.h"

namespace lockkeeper::cli {
namespace {

constexpr std::size_t kPathsAtOnce = 500;
constexpr std::size_t kGitAnswerBytes = 16U << 20;
constexpr std::int64_t kGitPatience = 5'000;
constexpr std::int64_t kSlackMs = std::int64_t{24} * 3'600'000;  // commits' clocks may be others

// ":100644 100644 OLD NEW M", then the path. The old content is in the commit before.
void read_log(std::string_view answer, std::map<std::string, std::set<std::string>>& into) {
  std::vector<std::string> contents;
  for (const std::string& part : git::split_at_nul(answer)) {
    const std::size_t begin = part.find_first_not_of('\n');
    if (begin == std::string::npos) continue;
    if (part[begin] == ':') {
      const std::vector<std::string> words = words_in(part, " ");
      if (words.size() > 3) contents = {words[2], words[3]};
    } else if (!contents.empty()) {
      into[part].insert(contents.begin(), contents.end());
      contents.clear();
    }
  }
}

// "100644 blob CONTENT\tPATH"
void read_tree(std::string_view answer, std::map<std::string, std::set<std::string>>& into) {
  for (const std::string& part : git::split_at_nul(answer)) {
    const std::size_t tab = part.find('\t');
    if (tab == std::string::npos) continue;
    const std::vector<std::string> words = words_in(part.substr(0, tab), " ");
    if (words.size() == 3) into[part.substr(tab + 1)].insert(words[2]);
  }
}

}  // namespace

void CommittedContents::ask(const std::vector<std::string>& paths,
                            std::optional<std::int64_t> since_wall_ms) {
  git::Options options;
  options.limits = {kGitAnswerBytes, kGitPatience};
  options.reads_files = false;
  const auto reader = git::Reader::open(root_, options);
  if (!reader) return;
  for (std::size_t i = 0; i < paths.size(); i += kPathsAtOnce) {
    const auto from = paths.begin() + static_cast<std::ptrdiff_t>(i);
    const auto to =
        paths.begin() + static_cast<std::ptrdiff_t>(std::min(i + kPathsAtOnce, paths.size()));
    std::vector<std::string> log = {"log",  "--branches",   "--tags", "--remotes",
                                    "HEAD", "--format=",    "--raw",  "--no-abbrev",
                                    "-m",   "--no-renames", "-z"};
    if (since_wall_ms) {
      log.push_back("--since=" + std::to_string((*since_wall_ms - kSlackMs) / 1000));
    }
    log.emplace_back("--");
    log.insert(log.end(), from, to);
    if (const auto answer = reader->ask(log)) read_log(*answer, contents_);
    std::vector<std::string> tree = {"ls-tree", "-r", "-z", "HEAD", "--"};
    tree.insert(tree.end(), from, to);
    if (const auto answer = reader->ask(tree)) read_tree(*answer, contents_);
  }
}

void CommittedContents::take_away(std::vector<snapshot::Loss>& losses) const {
  std::erase_if(losses, [&](const snapshot::Loss& loss) {
    const auto known = contents_.find(loss.version.path);
    return loss.version.kind == snapshot::Kind::kFile && known != contents_.end() &&
           known->second.contains(loss.version.content);
  });
}

void CommittedContents::without(std::vector<snapshot::Loss>& losses) {
  std::set<std::string> paths;
  std::int64_t since_wall_ms = 0;
  for (const snapshot::Loss& loss : losses) {
    if (loss.version.kind != snapshot::Kind::kFile || loss.version.content.empty()) continue;
    const bool first = paths.empty() || loss.version.at_wall_ms < since_wall_ms;
    if (first) since_wall_ms = loss.version.at_wall_ms;
    paths.insert(loss.version.path);
  }
  if (paths.empty()) return;
  ask({paths.begin(), paths.end()}, since_wall_ms);
  take_away(losses);
  // What nobody is known to have written may come from an old commit, of another branch perhaps.
  std::set<std::string> old;
  for (const snapshot::Loss& loss : losses) {
    if (!loss.writer.known() && paths.contains(loss.version.path)) old.insert(loss.version.path);
  }
  if (old.empty()) return;
  ask({old.begin(), old.end()}, std::nullopt);
  take_away(losses);
}

}  // namespace lockkeeper::cli
