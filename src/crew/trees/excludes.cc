#include "crew/trees/excludes.h"

#include <sys/stat.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/text.h"
#include "git/reader.h"

namespace lockkeeper::crew {
namespace {

constexpr const char* kExcludesName = "exclude";
constexpr const char* kConfigCount = "GIT_CONFIG_COUNT";
constexpr std::size_t kListedMax = 1'000;  // git compares every file with every line

// The path itself, from the root, as a line of such a list.
std::string line_for(const std::string& path) {
  std::string line = "/";
  for (const char c : path) {
    if (std::string_view("*?[\\ ").contains(c)) line += '\\';
    line += c;
  }
  return line + "\n";
}

// What the user has git ignore everywhere.
Result<std::string> users_own(const std::string& tree, const realm::Environment& env) {
  LK_ASSIGN(const git::Reader reader, git::Reader::open(tree, {.reads_files = false}));
  LK_ASSIGN(const auto answer,
            reader.try_to_ask({"config", "-z", "--type=path", "--get", "core.excludesFile"}));
  std::string path;
  if (answer.status == 0) {
    path = answer.text.substr(0, answer.text.find('\0'));
    if (!path.empty() && !path.starts_with('/')) path = tree + "/" + path;
  } else if (const auto folder = realm::xdg_folder(env, "XDG_CONFIG_HOME", ".config")) {
    path = *folder + "/git/ignore";
  }
  struct stat info{};
  if (path.empty() || ::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return "";
  LK_ASSIGN(std::string text, read_file(path));
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  return text;
}

}  // namespace

Result<std::map<std::string, std::string>> excluding(const std::string& tree,
                                                     const Provided& provided, const Folder& marks,
                                                     const realm::Environment& env) {
  std::map<std::string, std::string> variables;
  if (provided.copies.empty() && provided.links.empty()) return variables;
  const auto given = realm::variable(env, kConfigCount);
  const auto count = number_in<unsigned>(given.value_or("0"));
  if (!count) return variables;  // git refuses it as well
  LK_ASSIGN(std::string text, users_own(tree, env));
  std::set<std::string> paths = files_of(provided);
  if (paths.size() > kListedMax) {
    paths = std::set<std::string>(provided.links.begin(), provided.links.end());
    for (const Provided::Copy& copy : provided.copies) paths.insert(copy.path);
  }
  for (const std::string& path : paths) {
    if (!path.contains('\n')) text += line_for(path);
  }
  LK_CHECK(marks.write(kExcludesName, text));
  const std::string number = std::to_string(*count);
  variables[kConfigCount] = std::to_string(*count + 1);
  variables["GIT_CONFIG_KEY_" + number] = "core.excludesFile";
  variables["GIT_CONFIG_VALUE_" + number] = marks.path_of(kExcludesName);
  return variables;
}

}  // namespace lockkeeper::crew
