// Where am I: which set of locks a folder or a path belongs to, and where its store is.
//
// A path belongs to its innermost worktree or repository. All worktrees of one repository are one
// realm with one store, `<git-common-dir>/lockkeeper/`. A submodule is a realm of its own. Without
// git the realm is the nearest ancestor that has `.lockkeeper/`, or the starting folder itself.
// docs/concepts/realms.md has the rules and their reasons.
//
// Git is never started, and variables such as GIT_DIR are ignored: two processes with different
// environments must still agree about the lock table.
//
// Thread safety: plain values and free functions; safe to call from any thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "realm/environment.h"

namespace lockkeeper::realm {

inline constexpr std::string_view kPlainStoreName = ".lockkeeper";  // without git, in the root
inline constexpr std::string_view kGitStoreName = "lockkeeper";     // in the git common dir

struct Realm {
  std::string root;          // absolute, physical: the worktree's root, the plain root or "/"
  std::string store_folder;  // absolute; physical except for its last name, which need not exist
  std::string store_url;     // what chose another folder than its own; usually empty
  std::string name;          // for people: "myrepo", "machine"
  bool in_git = false;
  bool bare = false;       // a repository without a worktree here; root is then its own folder
  bool machine = false;    // the machine realm: root is "/", no repository splits it
  bool in_memory = false;  // root is "/", its names are not on any disk, and it has no store folder
  bool ignore_case = false;  // core.ignorecase
  std::string common_dir;    // physical git common dir; empty without git

  // The modes of the store's folder and files; other than these with core.sharedRepository.
  mode_t folder_mode = 0700;
  mode_t file_mode = 0600;
  bool shared = false;  // core.sharedRepository lets other users in
  // Set if root must give what it creates to the repository's owner.
  std::optional<uid_t> owner_uid;
  std::optional<gid_t> owner_gid;

  // The copy of the epoch outside the store's folder; empty: neither XDG_STATE_HOME nor HOME is
  // set.
  std::string epoch_copy;

  // Is the absolute physical path the root or below it? Ignores repositories nested in between;
  // realm_of() does not.
  bool contains(std::string_view path) const;

  // Are the two the same set of locks? True for two worktrees of one repository.
  bool same_table(const Realm& other) const { return store_folder == other.store_folder; }
};

struct FindRealm {
  std::string explicit_dir;            // --realm; empty: find it
  std::string inherited_dir;           // for a path or a current folder that lies in no realm
  std::vector<std::string> resources;  // as typed; the first one that is a path decides
  std::string cwd;                     // absolute; empty: the process's own
  Environment env;                     // for HOME and XDG_STATE_HOME; REQUIRES: callable
};

// The process's own, or `given`, which must be absolute. invalid_input: it was removed or moved.
Result<std::string> current_folder(const std::string& given = {});

// The realm for a command. The search goes upwards from an explicit folder as from a current one. A
// named path need not exist. If it is in no repository and not below a `.lockkeeper/`, the current
// folder decides, then the inherited one (the resolver then refuses the path). Creates nothing.
// Errors: invalid_input (no such explicit folder, current folder gone), store_unavailable (a broken
// .git file or repository), invalid_config (a bad value in git's config).
Result<Realm> find_realm(const FindRealm& request);

// The realm of one absolute path, existing or not, symlinks resolved: its innermost worktree,
// repository or folder with `.lockkeeper/`. not_found: it is in none of them.
Result<Realm> realm_of(std::string_view absolute_path, const Environment& env);

// The per-user realm for what belongs to the machine (ports, guards): $XDG_STATE_HOME/lockkeeper or
// ~/.local/state/lockkeeper, also where HOME is not set; /var/tmp/lockkeeper-UID without a home.
Result<Realm> machine_realm(const Environment& env);

// Was the folder of the store made by us, for this user or the repository's group? What came with a
// clone has other permissions. True if it is not there.
bool has_own_store_folder(const Realm& realm);

// Does a folder (absolute, physical, below the root of `outer`) begin a realm or a worktree of its
// own, so that paths below it are not named from that root? Cheap: up to three stat calls if the
// answer is no. "Cannot tell" is an error.
Result<bool> begins_realm(const std::string& folder, const Realm& outer);

// Where the copy of that store's epoch is. A hash of the path is its name, because two stores of
// one user must not share one. Empty: neither XDG_STATE_HOME nor HOME is set.
std::string epoch_copy_for(const std::string& store_folder, const Environment& env);
// That hash: 16 hexadecimal digits.
std::string store_digest(std::string_view store_folder);

enum class StoreState { kAbsent, kPresent };

// Checks the store's folder without creating or opening anything. Only kAbsent means "nothing is
// locked". store_unavailable: it is a symlink, not a folder, or another user's (named, with what to
// do). Root may use anybody's.
Result<StoreState> check_store(const Realm& realm);

// invalid_input for a request whose paths belong to two realms; names both and --realm.
Error crossing_error(std::string_view typed, const Realm& asked, const Realm& belongs);

}  // namespace lockkeeper::realm
