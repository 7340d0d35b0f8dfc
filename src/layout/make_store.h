// Makes the folder of a realm's store.
#pragma once

#include "base/error.h"
#include "realm/realm.h"

namespace lockkeeper::layout {

// With its mode and owner, in one step: others never see a half-made folder. Succeeds if the folder
// is already there and realm::check_store() accepts it. store_unavailable: a read-only repository.
// no_space: a full disk.
Result<void> create_store_folder(const realm::Realm& of);

}  // namespace lockkeeper::layout
