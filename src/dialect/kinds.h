// The layouts that the dialects bring: what wiring hands to the service.
#pragma once

#include "service/layout.h"

namespace lockkeeper::dialect {

service::LayoutKinds layout_kinds();

}  // namespace lockkeeper::dialect
