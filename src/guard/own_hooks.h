// The repository's own hooks: those that git would run if core.hooksPath did not name our folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "guard/repository.h"
#include "realm/environment.h"

namespace lockkeeper::guard {

// Where they are: the core.hooksPath that is in force without ours, or the repository's `hooks`.
// Git is only asked where a configuration file may say something about it. `ours`: the folder that
// this hook was started from, which is not the repository's own; empty: not known.
Result<std::string> own_hooks_folder(const Repository& repository, const realm::Environment& env,
                                     const std::string& ours);

// The program that git would run; nullopt: there is none, or it may not be executed.
// REQUIRES: the folder is not ours.
std::optional<std::string> own_hook(const std::string& folder, std::string_view name);

// What git says if such a file is there and may not be executed; empty: nothing.
std::string ignored_hook_words(const Repository& repository, const std::string& folder,
                               std::string_view name);

// Changes this process's environment: the repository's own hooks, and what they start, must not see
// our folder. A tool that manages hooks would write into it. `own`: where theirs are.
void hide_our_folder(const Repository& repository, const realm::Environment& env,
                     const std::string& ours, const std::string& own);

// Becomes that program, with the same environment. `input`: what we have read of stdin already,
// which it gets instead; null: it reads our own. Returns only the error if that is not possible.
Error become(const std::string& hook, const std::vector<std::string>& arguments,
             const std::string* input);

}  // namespace lockkeeper::guard
