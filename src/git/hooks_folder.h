// Our folder of git hooks, which core.hooksPath names: every hook that git knows starts this
// program without a shell, and from here the repository's own hook. One folder for each user,
// outside of every repository: docs/decisions/git-hooks-folder.md.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "realm/environment.h"

namespace lockkeeper::git {

// Git starts these so often that they are left out of the usual folder: reference-transaction 100
// times in a rebase of ten commits. `all` has them for repositories that have such a hook.
enum class Hooks { kUsual, kAll };

std::span<const std::string_view> hook_names(Hooks hooks);
bool is_hook_name(std::string_view name);

// $XDG_DATA_HOME/lockkeeper/git-hooks/usual, or …/all. failed: this user has no home.
Result<std::string> hooks_folder(const realm::Environment& env, Hooks hooks);
// Is it one of the two or `another`, or a link to one of them?
bool is_hooks_folder(const realm::Environment& env, const std::string& folder,
                     const std::string& another = {});

// Both, with hooks that start `program` (absolute) and nothing else in them; what is right already
// is left alone. Files and folders are 0500: tools that manage hooks write where core.hooksPath
// points. failed, no_space, store_busy.
Result<void> make_hooks_folders(const realm::Environment& env, const std::string& program);
// The same, unless all hooks are there and start a program that is there: only an install changes
// the program.
Result<void> keep_hooks_folders(const realm::Environment& env, const std::string& program);
bool are_hooks_folders_there(const realm::Environment& env);
// What keep_hooks_folders() would repair, in words; empty: nothing.
std::string hooks_folders_trouble(const realm::Environment& env);
// Success if there are none.
Result<void> remove_hooks_folders(const realm::Environment& env);

// The text of one hook: a line that the kernel reads where the program's path allows that.
std::string hook_text(const std::string& program);
// The program that such a text starts; empty: it is not one.
std::string program_of_hook(std::string_view text);

}  // namespace lockkeeper::git
