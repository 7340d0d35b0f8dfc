#include "service/local/spelling.h"

#include <algorithm>

namespace lockkeeper::service::local {
namespace {

Result<bool> is_held_by(core::Table& table, const core::Owner& owner,
                        const key::Resource& resource) {
  LK_ASSIGN(const std::vector<core::LeaseId> ids, table.holders_of(resource));
  for (const core::LeaseId& id : ids) {
    LK_ASSIGN(const core::Lease* lease, table.state().lease(id));
    if (lease != nullptr && lease->owner == owner) return true;
  }
  return false;
}

}  // namespace

std::optional<key::Resource> other_spelling(const key::Resource& resource) {
  if (resource.kind() == key::Kind::kFile) {
    auto folder = key::restore(resource.text() + "/", key::Kind::kFolder);
    if (folder) return *folder;
  }
  if (resource.kind() == key::Kind::kFolder && resource.text() != "./") {
    auto file =
        key::restore(resource.text().substr(0, resource.text().size() - 1), key::Kind::kFile);
    if (file) return *file;
  }
  return std::nullopt;
}

Result<std::vector<core::LeaseId>> own_holders(core::Table& table, const core::Owner& owner,
                                               const key::Resource& resource) {
  std::vector<core::LeaseId> own;
  for (const std::optional<key::Resource>& spelling :
       {std::optional<key::Resource>(resource), other_spelling(resource)}) {
    if (!spelling) continue;
    LK_ASSIGN(const std::vector<core::LeaseId> ids, table.holders_of(*spelling));
    for (const core::LeaseId& id : ids) {
      LK_ASSIGN(const core::Lease* lease, table.state().lease(id));
      if (lease != nullptr && lease->owner == owner) own.push_back(id);
    }
  }
  return own;
}

Result<key::Resource> as_held(core::Table& table, const key::Resource& resource) {
  const std::optional<key::Resource> other = other_spelling(resource);
  if (!other) return resource;
  LK_ASSIGN(std::vector<core::LeaseId> ids, table.holders_of(resource));
  if (!ids.empty()) return resource;
  LK_ASSIGN(ids, table.holders_of(*other));
  return ids.empty() ? resource : *other;
}

Result<std::vector<key::Resource>> with_other_spellings(
    core::Table& table, const core::Owner& owner, const std::vector<key::Resource>& resources) {
  std::vector<key::Resource> all;
  for (const key::Resource& resource : resources) {
    all.push_back(resource);
    const std::optional<key::Resource> other = other_spelling(resource);
    if (!other || std::ranges::find(resources, *other) != resources.end()) continue;
    LK_ASSIGN(bool both, is_held_by(table, owner, resource));
    if (both) {
      LK_ASSIGN(both, is_held_by(table, owner, *other));
    }
    if (both) all.push_back(*other);
  }
  return all;
}

Result<void> check_other_spellings(core::Table& table, core::AcquireRequest request,
                                   std::uint64_t fence, const std::optional<core::LeaseId>& whose,
                                   core::CheckReply& reply) {
  if (reply.mine && (fence == 0 || reply.fence_current)) return {};
  bool any = false;
  for (core::Claim& claim : request.claims) {
    const std::optional<key::Resource> other = other_spelling(claim.resource);
    if (!other) continue;
    LK_ASSIGN(const std::vector<core::LeaseId> ids, table.holders_of(*other));
    if (ids.empty()) continue;
    claim.resource = *other;
    any = true;
  }
  if (!any) return {};
  LK_ASSIGN(const core::CheckReply spelled, table.check(request, fence, whose));
  // To hold the file is not to hold all of the folder: somebody may hold a pattern in it.
  reply.mine |= reply.free && spelled.mine;
  reply.fence_current |= spelled.fence_current;
  return {};
}

}  // namespace lockkeeper::service::local
