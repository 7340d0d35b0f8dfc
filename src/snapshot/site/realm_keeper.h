// The snapshots of a realm, as its settings want them.
#pragma once

#include <memory>

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

}  // namespace lockkeeper::snapshot
