// What our processes do one at a time. Each lock lasts until the descriptor is closed; store_busy
// if whoever holds it does not leave within two seconds. Taken before a transaction begins, never
// inside one; lock_registry() before lock_layouts().
#pragma once

#include "base/fd.h"
#include "realm/realm.h"

namespace lockkeeper::layout {

// To write into layouts, and to forget what was written there.
Result<Fd> lock_layouts(const realm::Realm& realm);
// To register and remove layouts, with what that shows and takes away.
Result<Fd> lock_registry(const realm::Realm& realm);

}  // namespace lockkeeper::layout
