// What the hooks of one moment share: the worktree's table in the committer's name, its rules, and
// the guard's notebook.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "git/paths.h"
#include "guard/guard.h"
#include "guard/judge.h"
#include "guard/notebook.h"
#include "realm/git_settings.h"
#include "service/locks.h"

namespace lockkeeper::guard {

class Scene {
 public:
  // Null: there is nothing to guard here, because there is no table, or the settings switch it off.
  static Result<std::unique_ptr<Scene>> open(const World& world, const Repository& repository);

  const Party& party() const { return party_; }
  const Repository& repository() const { return repository_; }
  const std::string& worktree() const { return site_.realm().root; }
  realm::GitPolicy policy() const;
  bool blocks_on_failure() const;  // if it cannot be told what speaks against a commit
  service::Locks& locks() { return locks_; }
  const std::optional<Notebook>& notebook() const { return notebook_; }
  std::int64_t now_wall_ms() const { return site_.now().wall_ms; }

  // As the rule wants them, with the content that HEAD and the disk have now.
  std::vector<CommittedPath> committed(const std::vector<git::Difference>& differences) const;
  // What speaks against committing them. `made_on`: a commit has them already, and its own content
  // must not count as committed; the commit before it. Empty: they are to be committed. `maker`:
  // who made that; null: who runs this hook.
  Result<std::vector<Finding>> judge_paths(const std::vector<CommittedPath>& paths,
                                           const std::string& made_on = {},
                                           const Party* maker = nullptr);

  // Puts it on record (`what`: "refused", "warned", "committed"; `cause`: "commit", "merge", …)
  // and writes to the holders, once for each file. `doing`: what they read, "wants to commit".
  void tell(const std::string& what, const std::string& cause, const std::string& doing,
            std::span<const Finding> findings);
  // The same for what git brought in by itself.
  void tell_replay(std::string_view operation, const std::vector<Finding>& findings) {
    const std::string name(operation);
    tell("committed", name, "brought in, with a " + name + ",", findings);
  }

  // The lease that the committer was started under, if that is lost: in words; empty: it is not.
  std::string lost_lease();

 private:
  Scene(const World& world, const Repository& repository, Party party, realm::Realm realm,
        realm::Settings settings, service::ParentLease parent);

  void drop_old_copies(const std::string& parent, const std::vector<CommittedPath>& paths,
                       std::vector<Finding>& findings) const;
  void tell_some(const std::string& what, const std::string& cause, const std::string& doing,
                 std::span<const Finding> findings);

  const Repository& repository_;
  Party party_;
  service::Site site_;
  service::ParentLease parent_;
  service::Locks locks_;
  std::optional<Notebook> notebook_;
};

}  // namespace lockkeeper::guard
