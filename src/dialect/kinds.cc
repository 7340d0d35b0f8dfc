#include "dialect/kinds.h"

#include "dialect/workflow/layout.h"

namespace lockkeeper::dialect {

service::LayoutKinds layout_kinds() {
  service::LayoutKinds kinds;
  kinds[workflow::kKind] = workflow::make_layout;
  return kinds;
}

}  // namespace lockkeeper::dialect
