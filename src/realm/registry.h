// Which realms have a store, for `list --all-realms`: one small file per store in
// $XDG_STATE_HOME/lockkeeper/realms/, written when the store is created. A convenience: losing it
// loses no lock, and a realm that is not listed works just as well.
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "realm/environment.h"
#include "realm/realm.h"

namespace lockkeeper::realm {

// Remembers the realm's store (mode 0600, in one step). Does nothing without XDG_STATE_HOME and
// HOME. An error means that it was not remembered; the store is not affected.
Result<void> remember_realm(const Realm& realm, const Environment& env);

// The remembered realms whose store is still there, sorted by root; forgets the others. Skips
// entries that cannot be read or were not written by us. `below`: only those whose root lies below
// this folder.
std::vector<Realm> known_realms(const Environment& env, std::string_view below = {});

}  // namespace lockkeeper::realm
