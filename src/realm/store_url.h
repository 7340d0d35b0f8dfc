// Which store: `--store`, then LOCKKEEPER_STORE, then the realm's own folder.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "realm/environment.h"
#include "realm/realm.h"

namespace lockkeeper::realm {

// "lmdb:" is the embedded store in the realm's folder. "lmdb:/folder" is the same kind of store in
// another, private folder (absolute; created when needed, its parent must exist). "": as
// LOCKKEEPER_STORE says, which beside LOCKKEEPER_REALM is about that realm alone. Anything else is
// invalid_input, naming the choices; also a store on etcd, which only `serve` opens itself.
Result<void> choose_store(Realm& realm, std::string_view url, const Environment& env);

}  // namespace lockkeeper::realm
