#include "mcp/locks/visitors.h"

#include <algorithm>

namespace lockkeeper::mcp::locks {
namespace {

core::Attachment attachment_to(const host::LiveSlot& slot) {
  core::Attachment attachment;
  attachment.slot = slot.offset();
  return attachment;
}

}  // namespace

Result<core::Attachment> Visitors::slot_of(const std::string& visitor) {
  if (visitor.empty()) {
    LK_ASSIGN(const core::Attachment own, site_.table().own_slot());
    const std::lock_guard lock(mutex_);
    return own_ = own;
  }
  const std::lock_guard lock(mutex_);
  auto found = slots_.find(visitor);
  if (found == slots_.end()) {
    LK_ASSIGN(host::LiveSlot slot, site_.table().take_slot());
    found = slots_.emplace(visitor, std::move(slot)).first;
  }
  return attachment_to(found->second);
}

std::vector<core::Attachment> Visitors::slots() const {
  const std::lock_guard lock(mutex_);
  std::vector<core::Attachment> all;
  if (own_.attached()) all.push_back(own_);
  for (const auto& [visitor, slot] : slots_) all.push_back(attachment_to(slot));
  return all;
}

std::vector<core::Attachment> Visitors::slot_now(const std::string& visitor) const {
  const std::lock_guard lock(mutex_);
  const auto found = slots_.find(visitor);
  if (found == slots_.end()) return {};
  return {attachment_to(found->second)};
}

Result<std::vector<core::Lease>> Visitors::give_back(const std::vector<core::Attachment>& slots) {
  std::vector<core::Lease> given;
  if (slots.empty()) return given;
  LK_ASSIGN(const service::ListReply all, service::Locks(site_, core::Owner{}).list({}));
  for (const service::ListedLease& each : all.leases) {
    const core::Lease& lease = each.lease;
    for (const core::Attachment& slot : slots) {
      if (std::ranges::find(lease.holds, slot) == lease.holds.end()) continue;
      const auto done = service::Locks(site_, lease.owner).give_back(lease.id, slot);
      if (done) given.push_back(lease);
      const bool nobody = !done && (done.error().code == Code::kStoreUnavailable ||
                                    done.error().code == Code::kUnknown);
      if (nobody) return fail(Error(done.error()));  // otherwise it has ended meanwhile
    }
  }
  return given;
}

void Visitors::leave(const std::string& visitor) {
  const std::lock_guard lock(mutex_);
  slots_.erase(visitor);
}

}  // namespace lockkeeper::mcp::locks
