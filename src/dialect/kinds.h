// The layouts that the dialects bring: what wiring hands to the service.
#pragma once

#include "layout/layout.h"

namespace lockkeeper::dialect {

layout::LayoutKinds layout_kinds();

}  // namespace lockkeeper::dialect
