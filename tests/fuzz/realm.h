// A realm in this process's folder, for targets that read what lies in one.
#pragma once

#include <filesystem>

#include "fuzz.h"
#include "realm/realm.h"

namespace lockkeeper::fuzz {

inline const realm::Realm& realm() {
  static const realm::Realm kRealm = [] {
    realm::Realm made;
    made.root = scratch() + "/root";
    made.store_folder = made.root + "/.lockkeeper";
    std::filesystem::create_directories(made.store_folder);
    return made;
  }();
  return kRealm;
}

}  // namespace lockkeeper::fuzz
