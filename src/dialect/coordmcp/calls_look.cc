// CoordMCP's tools that list and clean up.
#include <algorithm>

#include "dialect/coordmcp/calls.h"
#include "dialect/coordmcp/calls_json.h"
#include "layout/registry.h"

namespace lockkeeper::dialect::coordmcp {
namespace {

// One lock of get_locked_files.
Json listed_json(const std::string& file, const Json& locked_at, const std::string& reason,
                 const Json& expected, const std::string& scope) {
  Json json;
  put_both(json, "file", "file_path", file);
  json["locked_at"] = locked_at;
  json["reason"] = reason;
  put_both(json, "expected_unlock", "expected_unlock_time", expected);
  json["priority"] = 0;
  json["lock_scope"] = scope;
  return json;
}

const char* scope_of(const key::Resource& resource) {
  const key::Kind kind = resource.kind();
  return kind == key::Kind::kFile     ? "file"
         : kind == key::Kind::kFolder ? "directory"
         : kind == key::Kind::kGlob   ? "pattern"
                                      : "key";
}

}  // namespace

Result<Reply> Calls::get_locked_files(const std::string& project_id) {
  LK_ASSIGN(const Store store, open(project_id));
  LK_ASSIGN(service::Locks locks, this->locks({"coordmcp", ""}));
  LK_CHECK(locks.scan_layouts());
  LK_ASSIGN(const service::ListReply list, locks.list({}));
  LK_ASSIGN(const Expected expected, this->expected(store));
  Json by_agent = Json::object();
  std::size_t total = 0;
  for (const service::ListedLease& listed : list.leases) {
    const core::Lease& lease = listed.lease;
    if (listed.condition.over) continue;
    const std::string agent = lease.foreign ? lease.owner.agent : holder_name(lease.owner);
    for (const core::Claim& claim : lease.claims) {
      by_agent[agent].push_back(listed_json(
          claim.resource.text(), local_or_null(lease.acquired_wall_ms), lease.terms.reason,
          expected_unlock(lease, expected), scope_of(claim.resource)));
      ++total;
    }
  }
  if (!config_.auto_cleanup) {
    LK_ASSIGN(const std::vector<CoordLayout::Listed> entries, store.coord().entries());
    for (const CoordLayout::Listed& listed : entries) {
      if (!listed.expired || listed.path.empty()) continue;
      const Entry& entry = listed.entry;
      Json item = listed_json(
          listed.path, format_local({entry.locked_at->wall_s, 0}, 'T'), entry.reason,
          entry.expected ? Json(format_local(*entry.expected, 'T')) : Json(), entry.scope);
      item["expired"] = true;
      Json& items = by_agent[entry.locked_by];
      const bool known = std::ranges::any_of(items, [&](const Json& one) {
        return one["file"] == item["file"];  // it is in both files, or its lease is live
      });
      if (known) continue;
      items.push_back(std::move(item));
      ++total;
    }
  }
  for (Json& items : by_agent) {
    std::ranges::stable_sort(items.get_ref<Json::array_t&>(), {},
                             [](const Json& one) { return one["file"].get<std::string>(); });
  }
  return Reply{{{"success", true},
                {"total_locked", total},
                {"by_agent", std::move(by_agent)},
                {"stale_locks_removed", store.removed}},
               std::nullopt};
}

Result<Reply> Calls::cleanup_stale_locks(const std::string& project_id) {
  LK_ASSIGN(const Store store, open(project_id));
  LK_ASSIGN(const int more, store.coord().clean());
  const int cleaned = store.removed + more;
  LK_ASSIGN(service::Locks locks, this->locks({"coordmcp", ""}));
  LK_CHECK(locks.purge(false));
  return Reply{{{"success", true},
                {"cleaned", cleaned},
                {"stale_locks_removed", cleaned},
                {"message", "Removed " + std::to_string(cleaned) + " stale lock(s)"}},
               std::nullopt};
}

Result<int> Calls::cleanup_all() {
  int removed = 0;
  LK_ASSIGN(const std::vector<layout::LayoutEntry> all,
            layout::load_layouts(site_.realm(), site_.settings()));
  for (const layout::LayoutEntry& entry : all) {
    const bool ours = entry.kind == kKind && entry.mode == layout::LayoutMode::kBoth;
    const auto keep = entry.options.find("keep_expired");
    if (!ours || !config_.auto_cleanup) continue;
    if (keep != entry.options.end() && keep->second == "true") continue;
    LK_ASSIGN(const std::unique_ptr<layout::Layout> layout, make_layout(entry, context()));
    LK_ASSIGN(const int here, static_cast<CoordLayout&>(*layout).clean());
    removed += here;
  }
  return removed;
}

}  // namespace lockkeeper::dialect::coordmcp
