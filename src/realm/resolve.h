// From what a user typed to a key::Resource: the part of canonical form that needs the disk.
//
// A path has one identity whatever its spelling. Symlinks in the existing part are resolved,
// including the last name. `..` goes up from where the symlink led, as in the kernel. The part that
// does not exist yet is kept. The result is relative to the root of the path's own worktree, so a
// file has one name in every worktree of a repository. A directory on disk is a folder.
//
// Pattern characters (Syntax::kAuto): the text alone decides, never the disk. `app/[slug]/page.tsx`
// is a pattern, and the plain name that it spells as well, so that whoever uses the same words
// later is excluded, whatever was created meanwhile. The literal leading part of a pattern is
// resolved like a path; the pattern part is kept.
//
// A realm in memory has no disk: its names mean what they say.
//
// Thread safety: none; a Resolver remembers folders it has seen, so use one per request.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "key/resource.h"
#include "realm/disk_path.h"
#include "realm/environment.h"
#include "realm/realm.h"

namespace lockkeeper::realm {

// Longer text is limit_exceeded before the disk is read.
inline constexpr std::size_t kTypedBytesMax = 16384;

// What a relative path is relative to.
struct Base {
  enum Kind {
    kCwd,   // `folder`: CLI arguments, hooks
    kRoot,  // the realm's root: files, MCP calls, dialects
  };
  Kind kind = kRoot;
  std::string folder;  // absolute, any spelling; only for kCwd
  // The realm was named (--realm), not found from the path: a folder outside it cannot be meant, so
  // paths are relative to the root.
  bool realm_named = false;
};

struct ResolveOptions {
  bool convert_backslash = false;  // dialects: `a\b` is `a/b`; natively it is refused
};

class Resolver {
 public:
  // Nothing is read yet. `env` is for the realm lookups of paths in other worktrees.
  Resolver(Realm realm, key::Rules rules, Base base, Environment env, ResolveOptions options = {});

  // All that the text stands for, at least one: a pattern, and the plain name that it spells unless
  // the pattern covers that; where a symlink leads elsewhere, the name as it was typed, too. Before
  // and after the disk changes, the same words have one of them in common. Errors as below.
  Result<std::vector<key::Parsed>> resolve_all(std::string_view text,
                                               key::Syntax syntax = key::Syntax::kAuto);

  // One resource: the first of them. Creates nothing, opens nothing for writing.
  // invalid_resource: empty, NUL, not UTF-8, a backslash, outside the root, a symlink that leads
  //   out or in a loop, a file written with a trailing '/', the store's own folder, what key::parse
  //   refuses. Each names the value, the rule and what to do.
  // invalid_input: the path belongs to another realm (names --realm).
  // limit_exceeded: longer than a named limit. failed: the disk did not answer.
  Result<key::Parsed> resolve(std::string_view text, key::Syntax syntax = key::Syntax::kAuto);

  const Realm& realm() const { return realm_; }

 private:
  struct Named {
    std::string root;  // of the worktree that the path is in
    std::string rest;  // the path from there; "" for the root itself
  };
  Result<key::Parsed> resolve_path(const std::string& text, key::Syntax syntax);
  Result<key::Parsed> resolve_pattern(const DiskPath& place, const std::string& text,
                                      key::Syntax syntax);
  Result<DiskPath> walk(const std::string& text, key::Syntax syntax);
  Result<std::optional<key::Parsed>> as_typed(const DiskPath& place, const std::string& text,
                                              key::Syntax syntax);
  Result<std::string> base_folder();
  Result<Named> name(const DiskPath& place, std::string_view typed);
  Result<bool> split_below_root(const std::string& folder);
  Error outside(const DiskPath& place, std::string_view typed) const;

  Realm realm_;
  key::Rules rules_;
  Base base_;
  Environment env_;
  ResolveOptions options_;
  std::string base_folder_;                       // physical; empty until first needed
  bool from_outside_ = false;                     // relative paths begin at the root instead
  std::optional<DiskPath> walked_;                // the first path since resolve_all() began
  std::unordered_map<std::string, bool> splits_;  // folders below the root: a realm of their own?
};

}  // namespace lockkeeper::realm
