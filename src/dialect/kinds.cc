#include "dialect/kinds.h"

namespace lockkeeper::dialect {

service::LayoutKinds layout_kinds() {
  service::LayoutKinds kinds;
  return kinds;
}

}  // namespace lockkeeper::dialect
