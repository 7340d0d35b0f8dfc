#include "git/paths.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "base/parse.h"
#include "base/text.h"
#include "git/lfs.h"
#include "realm/disk_path.h"

namespace lockkeeper::git {
namespace {

// Far below what the kernel takes (128 KiB for a single word, 2 MiB for all of them).
constexpr std::size_t kWordsBytesMax = 96U << 10;

constexpr std::string_view kEmptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
constexpr std::string_view kEmptyTreeSha256 =
    "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";

std::unexpected<Error> not_understood(std::string_view line) {
  return fail(Code::kFailed, "git's answer was not understood: " + shown(line));
}

// Asks once, or several times for many paths. `take` gets each answer.
template <class Take>
Result<void> ask_in_batches(const Reader& reader, const std::vector<std::string>& question,
                            std::span<const std::string> paths, const Take& take) {
  while (!paths.empty()) {
    std::vector<std::string> words = question;
    std::size_t bytes = 0;
    std::size_t used = 0;
    while (used < paths.size() && (used == 0 || bytes + paths[used].size() < kWordsBytesMax)) {
      bytes += paths[used].size() + sizeof(char*) + 1;
      words.push_back(paths[used++]);
    }
    paths = paths.subspan(used);
    LK_ASSIGN(const std::string answer, reader.ask(words));
    LK_CHECK(take(answer));
  }
  return {};
}

// What follows so many blanks.
std::string_view after_blanks(std::string_view line, std::size_t blanks) {
  for (; blanks > 0 && !line.empty(); --blanks) {
    line.remove_prefix(std::min(line.find(' '), line.size() - 1) + 1);
  }
  return line;
}

std::vector<std::string> status_question() {
  return {"status",       "--porcelain=v2",           "-z", "--untracked-files=all", "--ignored=no",
          "--no-renames", "--ignore-submodules=dirty"};
}

// "1 XY SUB MODE MODE MODE ID ID PATH": of HEAD, the index and the worktree.
bool is_unchanged_in_lfs(const Reader& reader, std::string_view line, std::string_view path) {
  constexpr std::size_t kIndexMode = 4;
  constexpr std::size_t kFields = 8;
  if (!reader.has_lfs()) return false;
  const std::vector<std::string> fields = words_in(line.substr(0, line.size() - path.size()), " ");
  return fields.size() == kFields && fields[kIndexMode] == fields[kIndexMode + 1] &&
         is_kept_by_lfs(realm::join_path(reader.root(), std::string(path)), fields.back());
}

Result<void> take_status(const Reader& reader, std::string_view answer,
                         std::vector<ChangedPath>& into) {
  for (const std::string& line : split_at_nul(answer)) {
    if (line.starts_with("? ") && line.size() > 2) {
      into.push_back({line.substr(2), '?', '?'});
      continue;
    }
    const bool ordinary = line.starts_with("1 ");
    if ((!ordinary && !line.starts_with("u ")) || line.size() < 5) return not_understood(line);
    const std::string_view path = after_blanks(line, ordinary ? 8 : 10);
    if (path.empty()) return not_understood(line);
    ChangedPath changed{std::string(path), line[2], line[3]};
    const bool content = ordinary && changed.unstaged == 'M';
    if (content && is_unchanged_in_lfs(reader, line, path)) changed.unstaged = '.';
    if (changed.staged != '.' || changed.unstaged != '.') into.push_back(std::move(changed));
  }
  return {};
}

void sort_by_path(std::vector<ChangedPath>& found) {
  std::ranges::sort(found, {}, &ChangedPath::path);
  const auto same = std::ranges::unique(found, {}, &ChangedPath::path);
  found.erase(same.begin(), same.end());
}

// ":100644 100755 OLD NEW M", then the path.
Result<std::vector<Difference>> read_raw(std::string_view answer) {
  std::vector<Difference> found;
  const std::vector<std::string> parts = split_at_nul(answer);
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
    const std::vector<std::string> fields = words_in(parts[i], ": ");
    if (!parts[i].starts_with(':') || fields.size() != 5) return not_understood(parts[i]);
    found.push_back({parts[i + 1], fields[4].front(), fields[0], fields[1], fields[2], fields[3]});
  }
  if (parts.size() % 2 != 0) return not_understood(parts.back());
  return found;
}

Result<std::string> empty_tree(const Reader& reader) {
  LK_ASSIGN(const std::string format, reader.ask({"rev-parse", "--show-object-format"}));
  return std::string(format.starts_with("sha256") ? kEmptyTreeSha256 : kEmptyTree);
}

// What is in each of the lists, as the first has it.
std::vector<Difference> in_all(std::vector<std::vector<Difference>> lists) {
  std::vector<Difference> found = std::move(lists.front());
  for (const auto& other : std::span(lists).subspan(1)) {
    std::set<std::string_view> paths;
    for (const Difference& each : other) paths.insert(each.path);
    std::erase_if(found, [&](const Difference& each) { return !paths.contains(each.path); });
  }
  return found;
}

}  // namespace

Result<std::vector<ChangedPath>> changed_paths(const Reader& reader,
                                               std::span<const std::string> paths) {
  std::vector<ChangedPath> found;
  std::vector<std::string> question = status_question();
  question.emplace_back("--");
  LK_CHECK(ask_in_batches(reader, question, paths, [&](const std::string& answer) {
    return take_status(reader, answer, found);
  }));
  sort_by_path(found);
  return found;
}

Result<std::vector<ChangedPath>> all_changed_paths(const Reader& reader) {
  std::vector<ChangedPath> found;
  LK_ASSIGN(const std::string answer, reader.ask(status_question()));
  LK_CHECK(take_status(reader, answer, found));
  sort_by_path(found);
  return found;
}

Result<std::set<std::string>> as_committed(const Reader& reader,
                                           std::span<const std::string> paths) {
  LK_ASSIGN(const auto changed, changed_paths(reader, paths));
  LK_ASSIGN(const auto head, contents_at(reader, "HEAD", paths));
  std::set<std::string> same;
  for (const std::string& path : paths) {
    const bool differs = std::ranges::find(changed, path, &ChangedPath::path) != changed.end();
    // Git does not tell of ignored files.
    struct stat info{};
    const std::string file = realm::join_path(reader.root(), path);
    const bool told = head.contains(path) || ::lstat(file.c_str(), &info) != 0;
    if (!differs && told) same.insert(path);
  }
  return same;
}

Result<std::vector<Difference>> staged_against(const Reader& reader,
                                               const std::optional<std::string>& commit) {
  std::string tree = commit.value_or("");
  if (!commit) {
    LK_ASSIGN(tree, empty_tree(reader));
  }
  LK_ASSIGN(const std::string answer,
            reader.ask({"diff-index", "--cached", "-z", "--raw", "--no-abbrev", "--no-renames",
                        "--no-ext-diff", "--no-textconv", "--ignore-submodules=none", tree, "--"}));
  return read_raw(answer);
}

Result<std::vector<Difference>> staged_against_all(const Reader& reader,
                                                   std::span<const std::string> commits) {
  if (commits.empty()) return staged_against(reader, std::nullopt);
  std::vector<std::vector<Difference>> lists;
  for (const std::string& commit : commits) {
    LK_ASSIGN(auto found, staged_against(reader, commit));
    lists.push_back(std::move(found));
  }
  return in_all(std::move(lists));
}

Result<std::vector<Difference>> between(const Reader& reader,
                                        const std::optional<std::string>& from,
                                        const std::string& to) {
  std::string tree = from.value_or("");
  if (!from) {
    LK_ASSIGN(tree, empty_tree(reader));
  }
  LK_ASSIGN(const std::string answer,
            reader.ask({"diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames",
                        "--no-ext-diff", "--no-textconv", tree, to, "--"}));
  return read_raw(answer);
}

Result<std::vector<Difference>> made_by(const Reader& reader, const std::string& commit) {
  LK_ASSIGN(const auto parents, parents_of(reader, commit));
  if (parents.empty()) return between(reader, std::nullopt, commit);
  std::vector<std::vector<Difference>> lists;
  for (const std::string& parent : parents) {
    LK_ASSIGN(auto found, between(reader, parent, commit));
    lists.push_back(std::move(found));
  }
  return in_all(std::move(lists));
}

Result<std::vector<std::string>> parents_of(const Reader& reader, const std::string& commit) {
  LK_ASSIGN(const std::string answer,
            reader.ask({"rev-list", "--parents", "-n", "1", "--end-of-options", commit, "--"}));
  std::vector<std::string> ids = words_in(answer, " \n");
  if (ids.empty()) return not_understood(answer);
  ids.erase(ids.begin());
  return ids;
}

Result<std::map<std::string, std::string>> contents_at(const Reader& reader,
                                                       const std::string& commit,
                                                       std::span<const std::string> paths) {
  std::map<std::string, std::string> found;
  // "100644 blob ID\tPATH"
  const auto take = [&](const std::string& answer) -> Result<void> {
    for (const std::string& line : split_at_nul(answer)) {
      const std::size_t tab = line.find('\t');
      const std::vector<std::string> fields = words_in(line.substr(0, tab), " ");
      if (tab == std::string::npos || fields.size() != 3) return not_understood(line);
      found[line.substr(tab + 1)] = fields[2];
    }
    return {};
  };
  const auto asked =
      ask_in_batches(reader, {"ls-tree", "-z", "--full-tree", commit, "--"}, paths, take);
  if (asked) return found;
  LK_ASSIGN(const auto id, commit_named(reader, commit));
  if (id) return fail(asked.error());
  return found;
}

Result<std::set<PathContent>> contents_since(const Reader& reader,
                                             const std::set<std::string>& paths,
                                             std::int64_t since_wall_ms) {
  std::vector<std::string> words = {"--literal-pathspecs",
                                    "log",
                                    "-z",
                                    "--raw",
                                    "--no-abbrev",
                                    "--no-renames",
                                    "-m",
                                    "--format=",
                                    "--max-count=1000",
                                    "--since=@" + std::to_string(since_wall_ms / 1'000),
                                    "HEAD",
                                    "--"};
  words.insert(words.end(), paths.begin(), paths.end());
  LK_ASSIGN(const auto answer, reader.try_to_ask(words));
  std::set<PathContent> found;
  const std::vector<std::string> parts = split_at_nul(answer.text);
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    // ":100644 100644 OLD NEW M", then the path.
    const std::vector<std::string> fields = words_in(parts[i], " \n");
    if (fields.size() != 5 || !fields.front().starts_with(':')) continue;
    found.emplace(parts[i + 1], fields[3]);
    ++i;
  }
  return found;
}

Result<std::optional<std::string>> commit_named(const Reader& reader, const std::string& name) {
  LK_ASSIGN(const Reader::Answer answer,
            reader.try_to_ask(
                {"rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"}));
  const std::vector<std::string> ids = words_in(answer.text, "\n");
  if (answer.status == 0 && ids.size() == 1) return ids.front();
  if (answer.status == 1) return std::nullopt;
  return fail(Code::kFailed,
              "git does not say what " + shown(name) + " is in " + shown(reader.root()));
}

}  // namespace lockkeeper::git
