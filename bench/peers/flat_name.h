// A path as the name of one file, as scripts that lock by mkdir write it.
#pragma once

#include <string>

namespace lockkeeper::bench {

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

}  // namespace lockkeeper::bench
