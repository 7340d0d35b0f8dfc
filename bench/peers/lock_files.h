// What the peers that lock by files of their own share.
#pragma once

#include <algorithm>
#include <string>

#include "bench/setup.h"

namespace lockkeeper::bench {

// A path as the name of one file, as scripts that lock by mkdir write it.
inline std::string flat_name(const std::string& path) {
  std::string name;
  for (const char c : path) {
    if (c == '/') {
      name += "__";
    } else {
      name += c;
    }
  }
  return name;
}

// Fewer than elsewhere: making and removing files takes minutes on a busy disk, and folders are
// trees that hardly get slower.
inline int files_to_hold(const Setup& setup) {
  return std::min(setup.held, 2'000);
}

}  // namespace lockkeeper::bench
