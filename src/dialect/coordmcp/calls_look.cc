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

// An entry of the original, as it stands in its file.
Json entry_json(const CoordLayout::Listed& listed, const Expected& expected) {
  const Entry& entry = listed.entry;
  const auto done = expected.find(listed.source + "#" + entry.key);
  const Json at = entry.locked_at ? Json(format_local({entry.locked_at->wall_s, 0}, 'T')) : Json();
  return listed_json(listed.path, at, entry.reason,
                     done == expected.end() ? Json() : Json(format_local(done->second, 'T')),
                     entry.scope);
}

}  // namespace

Result<Reply> Calls::get_locked_files(const std::string& project_id) {
  LK_ASSIGN(const Store store, look(project_id));
  LK_ASSIGN(service::Locks locks, this->locks({"coordmcp", ""}));
  LK_CHECK(locks.scan_layouts());
  LK_ASSIGN(const service::ListReply list, locks.list({}));
  LK_ASSIGN(const Expected expected, this->expected(store));
  Json by_agent = Json::object();
  std::size_t total = 0;
  for (const service::ListedLease& listed : list.leases) {
    const core::Lease& lease = listed.lease;
    const std::string agent = lease.foreign ? lease.owner.agent : holder_name(lease.owner);
    for (const core::Claim& claim : lease.claims) {
      by_agent[agent].push_back(listed_json(
          claim.resource.text(), local_or_null(lease.acquired_wall_ms), lease.terms.reason,
          expected_unlock(lease, expected), scope_of(claim.resource)));
      ++total;
    }
  }
  if (!config_.auto_cleanup || !store.joined) {
    LK_ASSIGN(const std::vector<CoordLayout::Listed> entries, store.coord().entries());
    for (const CoordLayout::Listed& listed : entries) {
      const bool listed_above = listed.expired ? config_.auto_cleanup : store.joined;
      if (listed_above || listed.path.empty()) continue;
      Json item = entry_json(listed, expected);
      if (listed.expired) item["expired"] = true;
      Json& items = by_agent[listed.entry.locked_by];
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

Result<Reply> Calls::get_free_files(const Files& call) {
  LK_CHECK(realm::check_agent_name(call.agent_id, "agent_id"));
  if (call.project_id.empty()) return no_project();
  LK_ASSIGN(const Store store, look(call.project_id));
  LK_ASSIGN(const std::vector<RequestedFile> asked, resolve(store, call.files));
  std::vector<core::Conflict> conflicts;
  if (!asked.empty()) {
    service::CheckCommand command;
    command.wanted = wanted(store, asked);
    LK_ASSIGN(service::Locks locks, this->locks(owner(call.agent_id)));
    LK_ASSIGN(core::CheckReply checked, locks.check(command));
    conflicts = std::move(checked.conflicts);
  }
  LK_ASSIGN(Reply found, refused(store, asked, conflicts));
  Json& taken = found.json["conflicts"];
  Json& free = found.json["free_files"];
  if (!store.joined) LK_CHECK(add_entries(store, call.agent_id, asked, taken, free));
  return Reply{
      {{"success", true}, {"free_files", std::move(free)}, {"conflicts", std::move(taken)}},
      std::nullopt};
}

// What the original has locked is only in its files.
Result<void> Calls::add_entries(const Store& store, const std::string& agent_id,
                                const std::vector<RequestedFile>& asked, Json& taken,
                                Json& free) const {
  LK_ASSIGN(const std::vector<CoordLayout::Listed> entries, store.coord().entries());
  LK_ASSIGN(const Expected expected, this->expected(store));
  for (const CoordLayout::Listed& listed : entries) {
    if (listed.expired || listed.entry.locked_by == agent_id) continue;
    for (const RequestedFile& one : asked) {
      const auto place = std::ranges::find(free, Json(one.text));
      if (listed.path != one.resource.text() || place == free.end()) continue;
      free.erase(place);
      Json item = entry_json(listed, expected);
      put_both(item, "file", "file_path", one.text);
      item["locked_by"] = listed.entry.locked_by;
      taken.push_back(std::move(item));
    }
  }
  return {};
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
