// Which store: `--store`, else LOCKKEEPER_STORE, else the realm's own folder.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "realm/environment.h"
#include "realm/realm.h"

namespace lockkeeper::realm {

// "lmdb:" is the embedded store where the realm has it; "lmdb:/folder" the same kind elsewhere
// (absolute; the folder itself is made when needed, its parent must exist), then with the modes of
// a private folder. "" changes nothing. Anything else is invalid_input, naming what there is.
Result<void> choose_store(Realm& realm, std::string_view url, const Environment& env);

}  // namespace lockkeeper::realm
