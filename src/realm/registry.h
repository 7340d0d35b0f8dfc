// Which realms have a store, for `list --all-realms`: one small file per store in
// $XDG_STATE_HOME/lockkeeper/realms/, written when the store is first made. A convenience: losing
// it loses no lock, and a realm that is not listed works as well as one that is.
#pragma once

#include <vector>

#include "base/error.h"
#include "realm/environment.h"
#include "realm/realm.h"

namespace lockkeeper::realm {

// Remembers the realm's store (mode 0600, in one step). Without XDG_STATE_HOME and HOME nothing is
// done. An error means that it was not remembered; the store itself is not concerned.
Result<void> remember_realm(const Realm& realm, const Environment& env);

// The remembered realms whose store is still there, by root; what is gone is forgotten. An entry
// that cannot be read or was not written by us is passed over.
std::vector<Realm> known_realms(const Environment& env);

}  // namespace lockkeeper::realm
