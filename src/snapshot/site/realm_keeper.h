// The snapshots of a realm, as its settings want them.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "realm/config.h"
#include "realm/realm.h"
#include "snapshot/keeper.h"
#include "snapshot/vault.h"

namespace lockkeeper::snapshot {

// Where they lie. Users who share a repository have one place each: contents are nobody else's
// business.
Place place_of(const realm::Realm& realm, const realm::Settings& settings);

// For the files of this worktree. Null: the settings say no, or there is no store to keep them in.
std::unique_ptr<Keeper> keeper_of(const realm::Realm& realm, const realm::Settings& settings);

// Version::tree of the worktree that begins there.
std::string tree_name(const std::string& root);

// Where the worktrees of a repository are now: it may have been moved since a version was kept.
class Worktrees {
 public:
  explicit Worktrees(const realm::Realm& realm);
  std::string root_of(const Version& version) const;

 private:
  std::map<std::string, std::string, std::less<>> roots_;  // by Version::tree
};

}  // namespace lockkeeper::snapshot
