// The layouts of all dialects.
#pragma once

#include "layout/layout.h"

namespace lockkeeper::dialect {

layout::LayoutKinds layout_kinds();

}  // namespace lockkeeper::dialect
