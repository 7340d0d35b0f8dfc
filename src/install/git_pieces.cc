#include "install/git_pieces.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "git/config_block.h"
#include "git/hooks_folder.h"
#include "git/reader.h"
#include "install/record.h"
#include "install/toml_edit.h"
#include "realm/disk_path.h"
#include "realm/git_folder.h"

namespace lockkeeper::install {
namespace {

constexpr unsigned kConfigMode = 0644;
constexpr unsigned kGitFolderMode = 0755;
constexpr std::string_view kIncludeMark = "# Written by lockkeeper install git.\n";
constexpr const char* kShellFields[] = {"GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0",
                                        "GIT_CONFIG_VALUE_0"};

std::vector<std::string> shell_table() {
  return {"shell_environment_policy", "set"};
}

std::string config_of(const Machine& machine) {
  return realm::join_path(machine.git_folder, "config");
}

struct HooksPath {
  std::string scope;  // "local", "global", …
  std::string value;
};

// All values of core.hooksPath that git reads from files, the one in force last.
Result<std::vector<HooksPath>> hooks_paths(const Machine& machine) {
  git::Options options{.reads_files = false};
  options.variables["HOME"] = machine.home;
  for (const char* const name :
       {"XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"}) {
    if (const auto value = realm::variable(machine.env, name)) options.variables[name] = *value;
  }
  LK_ASSIGN(const git::Reader reader, git::Reader::open(machine.repository, std::move(options)));
  LK_ASSIGN(const auto answer, reader.try_to_ask({"config", "-z", "--show-scope", "--type=path",
                                                  "--get-all", "core.hooksPath"}));
  std::vector<HooksPath> found;
  const std::vector<std::string> parts = git::split_at_nul(answer.text);
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
    if (parts[i] != "command") found.push_back({parts[i], parts[i + 1]});  // not the reader's own
  }
  return found;
}

// Has the repository one of the hooks that the usual folder leaves out?
git::Hooks hooks_needed(const Machine& machine) {
  std::string own = realm::join_path(machine.git_folder, "hooks");
  if (const auto paths = hooks_paths(machine)) {
    for (const HooksPath& path : *paths) {
      if (git::is_hooks_folder(machine.env, path.value)) continue;
      own = path.value.starts_with('/') ? path.value
                                        : realm::join_path(machine.repository, path.value);
    }
  }
  const std::size_t usual = git::hook_names(git::Hooks::kUsual).size();
  for (const std::string_view rare : git::hook_names(git::Hooks::kAll).subspan(usual)) {
    if (::access(realm::join_path(own, rare).c_str(), X_OK) == 0) return git::Hooks::kAll;
  }
  return git::Hooks::kUsual;
}

Result<void> check_repository(const Machine& machine) {
  if (machine.git_folder.empty()) {
    return fail(Code::kUsage, "there is no git repository here", "go into one");
  }
  LK_ASSIGN(const auto git, realm::git_at(machine.repository));
  if (git && git->shared) {
    return fail(Code::kOperationNotPermitted,
                "other users share this repository (core.sharedRepository), and cannot read your "
                "folder of hooks",
                "let each agent bring the guard: lockkeeper install claude, lockkeeper run");
  }
  LK_ASSIGN(const auto paths, hooks_paths(machine));
  for (const HooksPath& path : paths) {
    const bool worktree = path.scope == "worktree";  // it precedes the repository's
    if (!worktree && path.scope != "global" && path.scope != "system") continue;
    return fail(Code::kOperationNotPermitted,
                "core.hooksPath is set for " +
                    std::string(worktree ? "this worktree" : "every repository") + " (" +
                    path.scope + "): " + shown(path.value),
                "unset it: git config --" + path.scope + " --unset core.hooksPath");
  }
  return {};
}

// Is what Codex sets there ours? Nullopt: it sets none of it.
std::optional<bool> sets_ours(const Json& document) {
  const Json* const table = json_at(document, shell_table());
  if (table == nullptr || !table->is_object()) return std::nullopt;
  const bool any =
      std::ranges::any_of(kShellFields, [&](const char* field) { return table->contains(field); });
  if (!any) return std::nullopt;
  return table->value("GIT_CONFIG_KEY_0", "") == "core.hooksPath" &&
         table->value("GIT_CONFIG_VALUE_0", "").contains("/lockkeeper/git-hooks/");
}

}  // namespace

std::vector<Piece> git_pieces_there(const Machine& machine) {
  if (machine.git_folder.empty()) return {};
  const auto folder = git::hooks_folder(machine.env, hooks_needed(machine));
  return {{.kind = Piece::Kind::kGitInclude,
           .scope = Scope::kProject,
           .file = realm::join_path(machine.git_folder, git::kIncludedConfig),
           .line = folder.value_or(""),
           .mode = kConfigMode,
           .folder_mode = kGitFolderMode},
          {.kind = Piece::Kind::kGitConfig,
           .scope = Scope::kProject,
           .file = config_of(machine),
           .mode = kConfigMode,
           .folder_mode = kGitFolderMode}};
}

Result<std::vector<Piece>> git_pieces(const Machine& machine) {
  LK_CHECK(check_repository(machine));
  LK_CHECK(git::hooks_folder(machine.env, git::Hooks::kUsual));
  return git_pieces_there(machine);
}

Result<Piece> shell_environment_piece(const Machine& machine, Client client, Scope scope,
                                      std::string file) {
  LK_ASSIGN(std::string folder, git::hooks_folder(machine.env, git::Hooks::kUsual));
  return Piece{.kind = Piece::Kind::kShellEnvironment,
               .client = client,
               .scope = scope,
               .file = std::move(file),
               .line = std::move(folder)};
}

Result<FileText> put_git_config(const FileText& text) {
  return FileText(git::with_config_block(text.value_or("")));
}

FileText take_out_git_config(const std::string& text, const FileText* original) {
  std::string after = git::without_config_block(text);
  return had_no_file(original) && after.empty() ? FileText() : FileText(std::move(after));
}

Result<FileText> put_git_include(const Piece& piece, const FileText& text) {
  if (text && !text->starts_with(kIncludeMark)) {
    return fail(Code::kInvalidConfig, piece.file + " is there, and was not written by Lockkeeper",
                "move it away and try again; nothing was changed");
  }
  return FileText(git::included_text(piece.line));
}

FileText take_out_git_include(const std::string& text) {
  return text.starts_with(kIncludeMark) ? FileText() : FileText(text);
}

// A table that is written in a way which we cannot edit stays as it is, as do variables of the
// user's own: left_alone() says so.
Result<FileText> put_shell_environment(const Piece& piece, const FileText& text) {
  const std::string now = text.value_or("");
  LK_ASSIGN(const Json document, toml_as_json(now, piece.file));
  const auto ours = sets_ours(document);
  if (ours && !*ours) return text;
  auto after = put_toml_table(
      now, piece.file, shell_table(),
      {{kShellFields[0], "1"}, {kShellFields[1], "core.hooksPath"}, {kShellFields[2], piece.line}});
  return after ? FileText(std::move(*after)) : text;
}

Result<FileText> take_out_shell_environment(const Piece& piece, const std::string& text,
                                            const FileText* original) {
  LK_ASSIGN(const Json document, toml_as_json(text, piece.file));
  if (!sets_ours(document).value_or(false)) return text;
  std::string after = text;
  for (const char* const field : kShellFields) {
    LK_ASSIGN(after, remove_toml_field(after, piece.file, shell_table(), field));
  }
  const bool nothing = after.find_first_not_of(" \t\r\n") == std::string::npos;
  if (had_no_file(original) && nothing) return std::nullopt;
  return after;
}

bool is_git_guard_installed(const Machine& machine) {
  if (machine.git_folder.empty()) return false;
  const auto record = Record::load(state_folder(machine));
  const FileRecord* const known = record ? record->find(config_of(machine)) : nullptr;
  return known != nullptr && std::ranges::find(known->slots, "git config") != known->slots.end();
}

std::string git_guard_trouble(const Machine& machine) {
  if (!is_git_guard_installed(machine)) return {};
  const auto paths = hooks_paths(machine);
  if (!paths) return paths.error().message;
  if (paths->empty()) return "core.hooksPath is not set any more";
  const HooksPath& last = paths->back();
  if (git::is_hooks_folder(machine.env, last.value)) return {};
  return "core.hooksPath is " + shown(last.value) + " (" + last.scope + ")";
}

}  // namespace lockkeeper::install
