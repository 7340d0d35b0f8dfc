#include "guard/own_hooks.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/fd.h"
#include "base/folder.h"
#include "base/parse.h"
#include "base/sha256.h"
#include "base/text.h"
#include "git/config_block.h"
#include "git/hooks_folder.h"
#include "guard/arming.h"
#include "realm/disk_path.h"

namespace lockkeeper::guard {
namespace {

constexpr std::size_t kConfigBytesMax = 4U << 20;

// May this file say where hooks are? Whatever cannot be read may.
bool may_name_hooks(const std::string& file) {
  const auto text = read_file(file, kConfigBytesMax);
  if (!text) return text.error().code != Code::kNotFound;
  const std::string lower = lowered(git::without_config_block(*text));
  return lower.contains("hookspath") || lower.contains("include");
}

// The files that git reads for this repository (git-config(1), FILES).
std::vector<std::string> config_files(const Repository& repository, const realm::Environment& env) {
  std::vector<std::string> files = {realm::join_path(repository.common, "config"),
                                    realm::join_path(repository.git_folder, "config.worktree")};
  if (const auto global = env("GIT_CONFIG_GLOBAL")) {
    if (!global->empty()) files.push_back(*global);
  } else {
    if (const auto home = env("HOME")) files.push_back(*home + "/.gitconfig");
    if (const auto config = realm::xdg_folder(env, "XDG_CONFIG_HOME", ".config")) {
      files.push_back(*config + "/git/config");
    }
  }
  if (const auto system = env("GIT_CONFIG_SYSTEM")) {
    files.push_back(*system);
  } else if (!realm::variable(env, "GIT_CONFIG_NOSYSTEM")) {
    files.emplace_back("/etc/gitconfig");
  }
  return files;
}

// Another core.hooksPath in the environment, which precedes every file; the last one counts.
std::optional<std::string> path_in_environment(const realm::Environment& env,
                                               const std::string& ours) {
  std::optional<std::string> found;
  for (auto& [key, value] : config_pairs(env)) {
    const bool named = lowered(key) == "core.hookspath";
    if (named && !git::is_hooks_folder(env, value, ours)) found = std::move(value);
  }
  return found;
}

// The last value of the files that is not ours.
Result<std::optional<std::string>> path_in_files(const Repository& repository,
                                                 const realm::Environment& env,
                                                 const std::string& ours) {
  Repository asked = repository;
  for (const char* const name : {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"}) {
    if (const auto value = env(name)) asked.variables[name] = *value;
  }
  LK_ASSIGN(const git::Reader reader, reader_of(asked));
  LK_ASSIGN(const auto answer, reader.try_to_ask({"config", "-z", "--show-scope", "--type=path",
                                                  "--get-all", "core.hooksPath"}));
  std::optional<std::string> found;
  const std::vector<std::string> parts = git::split_at_nul(answer.text);
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
    const bool asked_by_us = parts[i] == "command";
    if (!asked_by_us && !git::is_hooks_folder(env, parts[i + 1], ours)) found = parts[i + 1];
  }
  return found;
}

// A file, beside our folder, that sets core.hooksPath as it is without us. Nullopt: it cannot be
// written.
std::optional<std::string> own_hooks_config(const Repository& repository, const std::string& ours,
                                            const std::string& own) {
  if (!ours.starts_with('/')) return std::nullopt;
  const auto beside = Folder::open(realm::parent_path(ours), "", Folder::Kind::kPrivate);
  if (!beside) return std::nullopt;
  const std::string name = "own-" + sha256_hex(repository.common).substr(0, 16) + ".config";
  const std::string text = git::included_text(own);
  const auto there = beside->read(name, text.size() + 1);
  const bool good = there && *there && **there == text;
  if (!good && !beside->write(name, text)) return std::nullopt;
  return realm::join_path(beside->path(), name);
}

}  // namespace

Result<std::string> own_hooks_folder(const Repository& repository, const realm::Environment& env,
                                     const std::string& ours) {
  std::optional<std::string> named = path_in_environment(env, ours);
  const auto files = config_files(repository, env);
  if (!named && std::ranges::any_of(files, may_name_hooks)) {
    LK_ASSIGN(named, path_in_files(repository, env, ours));
  }
  if (!named || named->empty()) return realm::join_path(repository.common, "hooks");
  return named->starts_with('/') ? *named : realm::join_path(repository.folder, *named);
}

std::optional<std::string> own_hook(const std::string& folder, std::string_view name) {
  std::string hook = realm::join_path(folder, name);
  const bool runs = ::access(hook.c_str(), X_OK) == 0;
  return runs ? std::optional(std::move(hook)) : std::nullopt;
}

std::string ignored_hook_words(const Repository& repository, const std::string& folder,
                               std::string_view name) {
  const std::string hook = realm::join_path(folder, name);
  struct stat info{};
  const bool ignored =
      ::access(hook.c_str(), X_OK) != 0 && errno == EACCES && ::stat(hook.c_str(), &info) == 0;
  if (!ignored) return {};
  const auto reader = reader_of(repository);
  if (!reader) return {};
  const auto advice = reader->try_to_ask({"config", "--type=bool", "advice.ignoredHook"});
  if (advice && advice->text.starts_with("false")) return {};
  return "hint: The '" + hook + "' hook was ignored because it's not set as executable.\n" +
         "hint: You can disable this warning with `git config advice.ignoredHook false`.\n";
}

void hide_our_folder(const Repository& repository, const realm::Environment& env,
                     const std::string& ours, const std::string& own) {
  disarm_process(env, ours);
  const auto config = read_file(realm::join_path(repository.common, "config"), kConfigBytesMax);
  if (!config || !git::has_config_block(*config)) return;
  const char* const count = std::getenv("GIT_CONFIG_COUNT");
  const auto pairs = number_in<unsigned>(count == nullptr ? "0" : count);
  const auto file = pairs ? own_hooks_config(repository, ours, own) : std::nullopt;
  if (!file) return;
  // In this repository alone: a hook may work in another, which has hooks of its own.
  std::string common;
  for (const char c : repository.common) {
    if (std::string_view("*?[\\").contains(c)) common += '\\';
    common += c;
  }
  unsigned number = *pairs;
  for (const std::string& folder : {common, common + "/**"}) {  // and in its worktrees
    const std::string digits = std::to_string(number++);
    ::setenv(("GIT_CONFIG_KEY_" + digits).c_str(), ("includeIf.gitdir:" + folder + ".path").c_str(),
             1);
    ::setenv(("GIT_CONFIG_VALUE_" + digits).c_str(), file->c_str(), 1);
  }
  ::setenv("GIT_CONFIG_COUNT", std::to_string(number).c_str(), 1);
}

Error become(const std::string& hook, const std::vector<std::string>& arguments,
             const std::string* input) {
  if (input != nullptr) {
    std::FILE* const file = std::tmpfile();
    const bool ready = file != nullptr && write_all(::fileno(file), *input) &&
                       ::lseek(::fileno(file), 0, SEEK_SET) == 0 &&
                       ::dup2(::fileno(file), STDIN_FILENO) >= 0;
    const int why = errno;
    if (file != nullptr) std::fclose(file);  // the hook has only its stdin
    if (!ready) return errno_error(why, "cannot pass on the input of " + hook, Code::kFailed);
  }
  std::vector<std::string> words = {hook};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  // Like git, gives a script without a first line to the shell.
  ::execvp(hook.c_str(), pointers.data());
  return errno_error(errno, "cannot start " + hook, Code::kFailed);
}

}  // namespace lockkeeper::guard
