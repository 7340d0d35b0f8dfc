// The layouts of all dialects.
#pragma once

#include <string>
#include <string_view>

#include "layout/layout.h"

namespace lockkeeper::dialect {

layout::LayoutKinds layout_kinds();

// What a layout of this kind creates below its root, for git to ignore; empty: nothing there.
std::string made_below(std::string_view kind);

}  // namespace lockkeeper::dialect
