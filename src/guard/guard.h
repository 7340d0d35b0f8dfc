// The commit guard: what our git hooks do before they go on to the repository's own. A commit is
// judged before it is made (pre-commit, and prepare-commit-msg, which also runs under --no-verify).
// What git replays or brings in (merge, pull, rebase, cherry-pick, revert, am) is never refused:
// that would leave it half done. It is recorded, and whoever works on those files is told.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "guard/party.h"
#include "guard/repository.h"
#include "service/runtime.h"

namespace lockkeeper::guard {

struct World {
  const service::Runtime* runtime = nullptr;  // must outlive the call
  std::string cwd;                            // where git started the hook: absolute
  int git_pid = 0;                            // the git that started it
  realm::IdentityRequest who;                 // who commits
  std::optional<Party> party = {};            // the same, if it is known already
};

struct Verdict {
  bool refused = false;
  std::string text = {};  // for stderr; may be empty
};

// pre-commit and prepare-commit-msg.
Verdict before_commit(const World& world, const Repository& repository, std::string_view hook);

// post-commit, post-merge, post-rewrite, post-applypatch, post-checkout: nothing is refused any
// more.
// `arguments`: what git told it.
Verdict after_commit(const World& world, const Repository& repository, std::string_view hook,
                     const std::vector<std::string>& arguments);

// After a command of an agent: has somebody committed past our hooks?
void after_command(const World& world, const std::string& worktree);

// pre-push; `lines` is its stdin: local ref and id, remote ref and id.
Verdict before_push(const World& world, const Repository& repository, std::string_view lines);

}  // namespace lockkeeper::guard
