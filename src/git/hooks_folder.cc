#include "git/hooks_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/fd.h"
#include "base/folder.h"
#include "base/text.h"
#include "host/file_ops.h"
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
constexpr mode_t kFolderMode = 0500;
constexpr mode_t kHookMode = 0500;
constexpr std::int64_t kLockWaitMs = 5'000;

// The text of a hook.
constexpr std::string_view kVerb = " git-hook";
constexpr std::string_view kShell = "#!/bin/sh\nexec ";
constexpr std::string_view kPassedOn = " \"$0\" \"$@\"\n";

Result<std::string> data_folder_of(const realm::Environment& env) {
  const auto data = realm::xdg_folder(env, "XDG_DATA_HOME", ".local/share");
  if (data) return realm::join_path(*data, "lockkeeper");
  return fail(Code::kFailed, "its git hooks have no place: neither XDG_DATA_HOME nor HOME is set",
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

Result<std::string> folders_above(const realm::Environment& env) {
  LK_ASSIGN(const std::string data, data_folder_of(env));
  return realm::join_path(data, kBelowData);
}

bool has_mode(int folder, const std::string& name, mode_t type, mode_t mode) {
  struct stat info{};
  return ::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         (info.st_mode & S_IFMT) == type && (info.st_mode & 07777U) == mode;
}

bool is_in_set(std::string_view name, Hooks hooks) {
  const auto names = hook_names(hooks);
  return std::ranges::find(names, name) != names.end();
}

// What is not as we made it: a name; empty: nothing. `program`: empty as long as none is known;
// then the one that the first hook starts.
std::string foreign_file(const Folder& folder, Hooks hooks, std::string& program) {
  const auto names = folder.names();
  if (!names) return folder.path();
  for (const std::string& name : *names) {
    if (!is_in_set(name, hooks)) return name;
  }
  for (const std::string_view hook : hook_names(hooks)) {
    std::string name(hook);
    if (!has_mode(folder.fd(), name, S_IFREG, kHookMode)) return name;
    const auto text = folder.read(name, kHookBytesMax);
    if (!text || !*text) return name;
    if (program.empty()) program = program_of_hook(**text);
    if (program.empty() || **text != hook_text(program)) return name;
  }
  return {};
}

// The program that most likely all of them started: whatever another tool has left of ours.
std::string program_in(const Folder& folder) {
  for (const std::string_view hook : hook_names(Hooks::kUsual)) {
    const auto text = folder.read(std::string(hook), kHookBytesMax);
    if (!text || !*text) continue;
    std::string program = program_of_hook(**text);
    if (!program.empty() && ::access(program.c_str(), X_OK) == 0) return program;
  }
  return {};
}

Result<void> remove_hooks(const Folder& above, const std::string& name) {
  LK_ASSIGN(const auto there, above.folder_if_any(name));
  if (there) static_cast<void>(::fchmod(there->fd(), 0700));
  return above.remove_all(name);
}

// Nobody writes there by accident, a tool that manages hooks for instance.
Result<void> write_hooks(const Folder& folder, const std::string& program, Hooks hooks) {
  const std::string text = hook_text(program);
  for (const std::string_view hook : hook_names(hooks)) {
    const std::string name(hook);
    // About fifty files: on a slow disk a sync for each would take minutes.
    const int error = replace_durably_at(
        folder.fd(), name, text, {.mode = kHookMode, .uid = {}, .gid = {}, .synced = false});
    if (error != 0) return folder.failed(error, "write", name);
  }
  if (::fchmod(folder.fd(), kFolderMode) != 0) return folder.failed(errno, "close", "");
  return {};
}

// In one step: at any moment git finds all hooks of the old folder or of the new one. REQUIRES:
// nobody else makes it at the same time.
Result<void> make_hooks(const Folder& above, const std::string& program, Hooks hooks) {
  const std::string name = name_of_set(hooks);
  LK_ASSIGN(const auto there, above.folder_if_any(name));
  std::string known = program;
  const bool closed = has_mode(above.fd(), name, S_IFDIR, kFolderMode);
  if (there && closed && foreign_file(*there, hooks, known).empty()) return {};
  const std::string fresh = name + ".new";
  LK_CHECK(remove_hooks(above, fresh));
  LK_ASSIGN(const Folder folder, above.folder(fresh));
  LK_CHECK(write_hooks(folder, program, hooks));
  LK_ASSIGN(const bool first, host::rename_new(above, fresh, name));
  if (first) return {};
  // Where the file system cannot exchange two names, there is a moment without hooks.
  if (!host::exchange(above, fresh, name)) {
    LK_CHECK(remove_hooks(above, name));
    LK_ASSIGN(const bool renamed, host::rename_new(above, fresh, name));
    return renamed ? Result<void>() : above.failed(EEXIST, "put in its place", name);
  }
  return remove_hooks(above, fresh);
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
  LK_ASSIGN(const std::string path, folders_above(env));
  LK_CHECK(make_folders(path));
  LK_ASSIGN(const Folder above, Folder::open(path, "", Folder::Kind::kPrivate));
  LK_ASSIGN(const Fd lock, above.lock("lock", kLockWaitMs));
  // The usual ones last: are_hooks_folders_there() asks for them.
  for (const Hooks hooks : {Hooks::kAll, Hooks::kUsual}) {
    LK_CHECK(make_hooks(above, program, hooks));
  }
  return {};
}

Result<void> remove_hooks_folders(const realm::Environment& env) {
  LK_ASSIGN(const std::string data, data_folder_of(env));
  const auto folder = Folder::open(data, "", Folder::Kind::kPrivate);
  if (!folder) return {};
  LK_ASSIGN(const auto above, folder->folder_if_any(kBelowData));
  if (!above) return {};
  LK_ASSIGN(const std::vector<std::string> names, above->names());
  for (const std::string& name : names) LK_CHECK(remove_hooks(*above, name));
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

bool are_hooks_folders_there(const realm::Environment& env) {
  const auto folder = hooks_folder(env, Hooks::kUsual);
  return folder && ::access(folder->c_str(), F_OK) == 0;
}

std::string hooks_folders_trouble(const realm::Environment& env) {
  std::string program;
  for (const Hooks hooks : {Hooks::kUsual, Hooks::kAll}) {
    const auto path = hooks_folder(env, hooks);
    if (!path) return {};
    const auto folder = Folder::open(*path, "", Folder::Kind::kPrivate);
    if (!folder) return folder.error().message;
    if (!has_mode(AT_FDCWD, *path, S_IFDIR, kFolderMode)) return *path + " is not read-only";
    const std::string file = foreign_file(*folder, hooks, program);
    if (!file.empty()) return folder->path_of(file) + " is not ours";
  }
  if (::access(program.c_str(), X_OK) == 0) return {};
  return "the hooks start " + shown(program) + ", which is not there";
}

Result<void> keep_hooks_folders(const realm::Environment& env, const std::string& program) {
  if (hooks_folders_trouble(env).empty()) return {};
  LK_ASSIGN(const std::string path, hooks_folder(env, Hooks::kUsual));
  const auto folder = Folder::open(path, "", Folder::Kind::kPrivate);
  const std::string known = folder ? program_in(*folder) : std::string();
  return make_hooks_folders(env, known.empty() ? program : known);
}

}  // namespace lockkeeper::git
