#include "dialect/kinds.h"

#include "dialect/coordmcp/coordmcp_layout.h"
#include "dialect/dirlock/dirlock_layout.h"
#include "dialect/mkdir/mkdir_layout.h"
#include "dialect/workflow/workflow_layout.h"

namespace lockkeeper::dialect {

layout::LayoutKinds layout_kinds() {
  layout::LayoutKinds kinds;
  kinds.emplace(coordmcp::kKind, coordmcp::make_layout);
  kinds.emplace(dirlock::kKind, dirlock::DirLockLayout::make);
  kinds.emplace(mkdir::kKind, mkdir::make_mkdir_layout);
  kinds.emplace(workflow::kKind, workflow::make_layout);
  return kinds;
}

std::string made_below(std::string_view kind) {
  if (kind == mkdir::kKind) return std::string(mkdir::kLocksName) + "/";
  if (kind == workflow::kKind) return std::string(workflow::kLocksFolder) + "/";
  return "";
}

}  // namespace lockkeeper::dialect
