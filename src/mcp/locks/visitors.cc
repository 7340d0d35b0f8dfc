#include "mcp/locks/visitors.h"

namespace lockkeeper::mcp::locks {
namespace {

core::Attachment attachment_to(const host::LiveSlot& slot) {
  core::Attachment attachment;
  attachment.slot = slot.offset();
  return attachment;
}

}  // namespace

Result<core::Attachment> Visitors::slot_of(const std::string& visitor) {
  if (visitor.empty()) return site_.table().own_slot();
  const std::lock_guard lock(mutex_);
  auto found = slots_.find(visitor);
  if (found == slots_.end()) {
    LK_ASSIGN(host::LiveSlot slot, site_.table().take_slot());
    found = slots_.emplace(visitor, std::move(slot)).first;
  }
  return attachment_to(found->second);
}

core::Attachment Visitors::leave(const std::string& visitor) {
  const std::lock_guard lock(mutex_);
  const auto found = slots_.find(visitor);
  if (found == slots_.end()) return {};
  const core::Attachment slot = attachment_to(found->second);
  slots_.erase(found);
  return slot;
}

}  // namespace lockkeeper::mcp::locks
