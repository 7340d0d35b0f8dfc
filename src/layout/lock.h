// The lock under which our processes write into layouts, and forget what they wrote there.
#pragma once

#include "base/fd.h"
#include "realm/realm.h"

namespace lockkeeper::layout {

// One process at a time; until the descriptor is closed. store_busy if whoever holds it does not
// leave within two seconds. Taken before a transaction begins, never inside one.
Result<Fd> lock_layouts(const realm::Realm& realm);

}  // namespace lockkeeper::layout
