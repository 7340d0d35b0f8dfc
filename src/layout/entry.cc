#include "layout/entry.h"

#include "base/bytes.h"

namespace lockkeeper::layout {

std::string LayoutEntry::id() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string id = kind + "-";
  std::uint64_t hash = hash64(kind, root);
  for (int i = 0; i < 8; ++i, hash >>= 4) id += kDigits[hash & 15];
  return id;
}

const char* layout_mode_name(LayoutMode mode) {
  switch (mode) {
    case LayoutMode::kOff:
      return "off";
    case LayoutMode::kRead:
      return "read";
    case LayoutMode::kBoth:
      return "both";
  }
  return "off";
}

std::optional<LayoutMode> layout_mode(std::string_view name) {
  for (const LayoutMode mode : {LayoutMode::kOff, LayoutMode::kRead, LayoutMode::kBoth}) {
    if (name == layout_mode_name(mode)) return mode;
  }
  return std::nullopt;
}

}  // namespace lockkeeper::layout
