// Which realm a caller asks for: what it named, and what its environment says.
#pragma once

#include <string>

#include "realm/realm.h"

namespace lockkeeper::realm {

// What a caller asks for that named `explicit_dir`, or nothing. LOCKKEEPER_REALM is `--realm` for
// several commands. Beside LOCKKEEPER_LEASE, though, `run` has set it: the command may have gone to
// another repository since, so there it is only inherited.
FindRealm realm_request(std::string explicit_dir, const Environment& env);

}  // namespace lockkeeper::realm
