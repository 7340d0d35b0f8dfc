// Makes the folder of a realm's store.
#pragma once

#include "base/error.h"
#include "realm/realm.h"

namespace lockkeeper::layout {

// With its mode and owner, in one step that never shows a half-made folder to others; succeeds if
// it is there already and realm::check_store() likes it. store_unavailable with the reason on a
// read-only repository, no_space on a full disk.
Result<void> create_store_folder(const realm::Realm& of);

}  // namespace lockkeeper::layout
