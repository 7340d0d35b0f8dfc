// One layout of a realm, from the settings or from `layout add`: which tool, where, how.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "realm/config.h"

namespace lockkeeper::layout {

enum class LayoutMode { kOff, kRead, kBoth };  // kRead: our leases are not mirrored there

struct LayoutEntry {
  std::string kind;
  std::string root;  // absolute, physical
  LayoutMode mode = LayoutMode::kBoth;
  std::map<std::string, std::string> options;  // the kind's own
  std::vector<std::string> ignored;            // absolute paths that are not read
  realm::Origin origin;                        // from a settings file; empty: registered
  bool pending = false;    // leases held before it was registered may not be mirrored yet
  std::string id() const;  // "mkdir-1a2b3c4d": kind and root
};

const char* layout_mode_name(LayoutMode mode);  // "off" "read" "both"
std::optional<LayoutMode> layout_mode(std::string_view name);

}  // namespace lockkeeper::layout
