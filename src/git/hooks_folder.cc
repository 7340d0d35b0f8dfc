#include "git/hooks_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/fd.h"
#include "base/folder.h"
#include "base/text.h"
#include "realm/disk_path.h"

namespace lockkeeper::git {
namespace {

// All of githooks(5) that git finds by their names.
constexpr std::string_view kHookNames[] = {"applypatch-msg",
                                           "pre-applypatch",
                                           "post-applypatch",
                                           "pre-commit",
                                           "pre-merge-commit",
                                           "prepare-commit-msg",
                                           "commit-msg",
                                           "post-commit",
                                           "pre-rebase",
                                           "post-checkout",
                                           "post-merge",
                                           "pre-push",
                                           "pre-receive",
                                           "update",
                                           "proc-receive",
                                           "post-receive",
                                           "post-update",
                                           "push-to-checkout",
                                           "pre-auto-gc",
                                           "post-rewrite",
                                           "sendemail-validate",
                                           "p4-changelist",
                                           "p4-prepare-changelist",
                                           "p4-post-changelist",
                                           "p4-pre-submit",
                                           "reference-transaction",
                                           "post-index-change"};
constexpr std::size_t kUsualHooks = std::size(kHookNames) - 2;

constexpr std::size_t kHookBytesMax = 64U << 10;
// The kernel reads 256 bytes of the first line.
constexpr std::size_t kInterpreterBytesMax = 200;

constexpr const char* kBelowData = "git-hooks";

// The text of a hook.
constexpr std::string_view kVerb = " git-hook";
constexpr std::string_view kShell = "#!/bin/sh\nexec ";
constexpr std::string_view kPassedOn = " \"$0\" \"$@\"\n";

Result<std::string> data_folder_of(const realm::Environment& env) {
  const auto data = realm::xdg_folder(env, "XDG_DATA_HOME", ".local/share");
  if (data) return realm::join_path(*data, "lockkeeper");
  return fail(Code::kFailed,
              "there is no folder for git hooks: neither XDG_DATA_HOME nor HOME is set",
              "set HOME");
}

std::string name_of_set(Hooks hooks) {
  return hooks == Hooks::kUsual ? "usual" : "all";
}

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat one{};
  struct stat other{};
  return ::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0 &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

Result<void> make_hook(const std::string& file, const std::string& text) {
  struct stat info{};
  const bool plain =
      ::lstat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) && (info.st_mode & 07777U) == 0700;
  if (plain && read_file(file, kHookBytesMax).value_or("") == text) return {};
  // About fifty files: on a slow disk a sync for each would take minutes.
  return replace_file_durably(file, text, {.mode = 0700, .uid = {}, .gid = {}, .synced = false});
}

Result<void> make_hooks(const std::string& folder, const std::string& program, Hooks hooks) {
  for (const std::string_view name : hook_names(hooks)) {
    LK_CHECK(make_hook(realm::join_path(folder, name), hook_text(program)));
  }
  return {};
}

}  // namespace

std::span<const std::string_view> hook_names(Hooks hooks) {
  const std::span<const std::string_view> all(kHookNames);
  return hooks == Hooks::kAll ? all : all.first(kUsualHooks);
}

bool is_hook_name(std::string_view name) {
  return std::ranges::find(kHookNames, name) != std::end(kHookNames);
}

Result<std::string> hooks_folder(const realm::Environment& env, Hooks hooks) {
  LK_ASSIGN(const std::string data, data_folder_of(env));
  return realm::join_path(realm::join_path(data, kBelowData), name_of_set(hooks));
}

bool is_hooks_folder(const realm::Environment& env, const std::string& folder,
                     const std::string& another) {
  if (!another.empty() && (folder == another || is_same_file(folder, another))) return true;
  for (const Hooks hooks : {Hooks::kUsual, Hooks::kAll}) {
    const auto ours = hooks_folder(env, hooks);
    if (ours && (folder == *ours || is_same_file(folder, *ours))) return true;
  }
  return false;
}

Result<void> make_hooks_folders(const realm::Environment& env, const std::string& program) {
  if (!program.starts_with('/') || program.contains('\0') || program.contains('\n')) {
    return fail(Code::kFailed, "git hooks cannot start " + shown(program),
                "install lockkeeper in a folder with a plain absolute path");
  }
  for (const Hooks hooks : {Hooks::kUsual, Hooks::kAll}) {
    LK_ASSIGN(const std::string folder, hooks_folder(env, hooks));
    LK_CHECK(make_folders(folder));
    LK_CHECK(make_hooks(folder, program, hooks));
  }
  return {};
}

Result<void> remove_hooks_folders(const realm::Environment& env) {
  LK_ASSIGN(const std::string data, data_folder_of(env));
  const auto folder = Folder::open(data, "", Folder::Kind::kPrivate);
  if (!folder) return {};
  return folder->remove_all(kBelowData);
}

// The kernel gives the hook's own path as the next argument, as the shell's "$0" does.
std::string hook_text(const std::string& program) {
  const bool plain = program.size() <= kInterpreterBytesMax &&
                     std::ranges::none_of(program, [](char c) { return c == ' ' || c == '\t'; });
  if (plain) return "#!" + program + std::string(kVerb) + "\n";
  return std::string(kShell) + shell_quote(program) + std::string(kVerb) + std::string(kPassedOn);
}

std::string program_of_hook(std::string_view text) {
  const bool shell = text.starts_with(kShell);
  text.remove_prefix(std::min(shell ? kShell.size() : 2, text.size()));
  const std::size_t end = text.rfind(kVerb);
  if (end == std::string_view::npos) return {};
  std::string word(text.substr(0, end));
  if (!shell || !word.starts_with('\'')) return word;
  // As shell_quote() writes it: '\'' for one quote.
  word = word.substr(1, word.size() - 2);
  for (std::size_t at = word.find("'\\''"); at != std::string::npos;
       at = word.find("'\\''", at + 1)) {
    word.replace(at, 4, "'");
  }
  return word;
}

Result<void> keep_hooks_folders(const realm::Environment& env, const std::string& program) {
  for (const Hooks hooks : {Hooks::kUsual, Hooks::kAll}) {
    LK_ASSIGN(const std::string folder, hooks_folder(env, hooks));
    const auto text = read_file(realm::join_path(folder, "pre-commit"), kHookBytesMax);
    const std::string known = text ? program_of_hook(*text) : std::string();
    const bool works = !known.empty() && ::access(known.c_str(), X_OK) == 0;
    if (!works) return make_hooks_folders(env, program);
  }
  return {};
}

}  // namespace lockkeeper::git
