// Locks for what our processes do one at a time. Each lasts until the descriptor is closed.
// store_busy: its holder did not leave within two seconds. Take them before a transaction, never
// inside one, and lock_registry() before lock_layouts().
#pragma once

#include "base/fd.h"
#include "realm/realm.h"

namespace lockkeeper::layout {

// To write into layouts and to forget what was written there.
Result<Fd> lock_layouts(const realm::Realm& realm);
// To register and remove layouts, including the artefacts that this adds and removes.
Result<Fd> lock_registry(const realm::Realm& realm);

}  // namespace lockkeeper::layout
