#include "core/mirrored.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/assert.h"
#include "base/bytes.h"

namespace lockkeeper::core {
namespace {

std::string encode(const MirrorArtefact& mirrored) {
  RecordWriter out;
  out.text(mirrored.layout);
  out.text(mirrored.artefact);
  out.text(mirrored.identity);
  return out.take();
}

Result<std::vector<MirrorArtefact>> scan(State& state, const std::string& prefix) {
  std::vector<MirrorArtefact> found;
  Result<void> readable;
  LK_CHECK(state.txn().scan(
      kv::prefix_range(prefix),
      [&](const kv::Row& row) {
        auto mirrored = read_mirror_row(row);
        if (!mirrored) {
          readable = fail(std::move(mirrored.error()));
          return false;
        }
        found.push_back(std::move(*mirrored));
        return true;
      },
      kv::Read::kPeek));
  LK_CHECK(readable);
  for (MirrorArtefact& mirrored : found) {
    LK_ASSIGN(const Lease* lease, state.lease(mirrored.lease));
    const std::string where = mirror_place(mirrored.layout, mirrored.artefact);
    mirrored.live = lease != nullptr &&
                    std::ranges::find(lease->mirrored_at, where) != lease->mirrored_at.end();
  }
  return found;
}

}  // namespace

std::string mirror_place(std::string_view layout, std::string_view artefact) {
  return std::string(layout) + '\0' + std::string(artefact);
}

std::string mirror_key(std::string_view place, const LeaseId& id) {
  return "o" + short_name(place) + '\0' + std::string(id.bytes);
}

Result<MirrorArtefact> read_mirror_row(const kv::Row& row) {
  RecordReader in(row.value);
  MirrorArtefact mirrored;
  mirrored.layout = in.text();
  mirrored.artefact = in.text();
  mirrored.identity = in.text();
  if (!in.at_end() || row.key.size() < IdBytes::kMax) {
    return fail(Code::kStoreCorrupt, "a mirrored lease in the store cannot be read",
                "run: lockkeeper doctor");
  }
  mirrored.lease = LeaseId{row.key.substr(row.key.size() - IdBytes::kMax)};
  return mirrored;
}

Result<void> record_mirrored(State& state, const LeaseId& id,
                             const std::vector<MirrorArtefact>& mirrored) {
  LK_ASSIGN(const Lease* lease, state.lease(id));
  LOCKKEEPER_ASSERT(lease != nullptr);
  const Lease before = *lease;
  Lease after = before;
  std::set<std::string> known(before.mirrored_at.begin(), before.mirrored_at.end());
  for (const MirrorArtefact& one : mirrored) {
    const std::string where = mirror_place(one.layout, one.artefact);
    LK_CHECK(state.txn().put(mirror_key(where, id), encode(one)));
    if (known.insert(where).second) after.mirrored_at.push_back(where);
  }
  return state.change_lease(before, after);
}

Result<void> mirror_as(State& state, const MirrorArtefact& mirrored, const std::string& identity) {
  MirrorArtefact changed = mirrored;
  changed.identity = identity;
  return state.txn().put(
      mirror_key(mirror_place(mirrored.layout, mirrored.artefact), mirrored.lease),
      encode(changed));
}

Result<std::vector<MirrorArtefact>> mirrored_as(State& state, std::string_view layout,
                                                std::string_view artefact) {
  LK_ASSIGN(std::vector<MirrorArtefact> found,
            scan(state, "o" + short_name(mirror_place(layout, artefact)) + '\0'));
  std::ranges::stable_partition(found,
                                [](const MirrorArtefact& mirrored) { return !mirrored.live; });
  return found;
}

Result<std::vector<MirrorArtefact>> all_mirrored(State& state, std::string_view layout,
                                                 std::string_view source) {
  if (source.empty()) return scan(state, "o" + mirror_place(layout, ""));
  LK_ASSIGN(std::vector<MirrorArtefact> found, mirrored_as(state, layout, source));
  const std::string entries = mirror_place(layout, std::string(source) + "#");
  LK_ASSIGN(std::vector<MirrorArtefact> more,
            scan(state, "o" + std::string(short_prefix(entries))));
  std::ranges::move(more, std::back_inserter(found));
  return found;
}

Result<void> schedule_removal(State& state, const LeaseId& id,
                              const std::vector<std::string>& places) {
  if (places.empty()) return {};
  const std::string key = removal_key(id);
  LK_ASSIGN(const std::optional<kv::Row> row, state.txn().get(key));
  std::vector<std::string> all;
  if (row) {
    LK_ASSIGN(all, decode_places(row->value));
  }
  std::set<std::string> known(all.begin(), all.end());
  for (const std::string& where : places) {
    if (known.insert(where).second) all.push_back(where);
  }
  return state.txn().put(key, encode_places(all));
}

Result<void> move_mirrored(State& state, Lease& from, const Lease& to) {
  if (from.mirrored_at.empty()) return {};
  for (const std::string& where : from.mirrored_at) {
    LK_ASSIGN(const std::optional<kv::Row> row, state.txn().get(mirror_key(where, from.id)));
    if (!row) continue;
    const std::string value(row->value);
    LK_CHECK(state.txn().put(mirror_key(where, to.id), value));
    LK_CHECK(state.txn().erase(mirror_key(where, from.id)));
  }
  Lease after = to;
  after.mirrored_at = std::move(from.mirrored_at);
  from.mirrored_at.clear();
  return state.change_lease(to, after);
}

Result<void> unmirror(State& state, const LeaseId& id, const std::vector<std::string>& places) {
  if (places.empty()) return {};
  LK_ASSIGN(const Lease* lease, state.lease(id));
  LOCKKEEPER_ASSERT(lease != nullptr);
  const Lease before = *lease;
  Lease after = before;
  for (const std::string& where : places) std::erase(after.mirrored_at, where);
  LK_CHECK(state.change_lease(before, after));
  return schedule_removal(state, id, places);
}

Result<std::vector<MirrorArtefact>> artefacts_to_remove(State& state, std::size_t most,
                                                        const std::vector<std::string>* layouts) {
  std::vector<std::pair<LeaseId, std::string>> rows;
  Result<void> readable;
  const auto is_known = [&](const std::string& where) {
    if (layouts == nullptr) return true;
    return std::ranges::find(*layouts, where.substr(0, where.find('\0'))) != layouts->end();
  };
  std::size_t leases = 0;
  LK_CHECK(state.txn().scan(
      kv::prefix_range("u"),
      [&](const kv::Row& row) {
        auto places = decode_places(row.value);
        if (!places) {
          readable = fail(std::move(places.error()));
          return false;
        }
        const std::size_t before = rows.size();
        for (std::string& where : *places) {
          if (is_known(where)) {
            rows.emplace_back(LeaseId{std::string_view(row.key).substr(1)}, std::move(where));
          }
        }
        if (rows.size() > before) ++leases;
        return leases < most;
      },
      kv::Read::kPeek));
  LK_CHECK(readable);
  std::vector<MirrorArtefact> found;
  for (const auto& [id, where] : rows) {
    LK_ASSIGN(const std::optional<kv::Row> row, state.txn().get(mirror_key(where, id)));
    if (!row) continue;
    LK_ASSIGN(MirrorArtefact mirrored, read_mirror_row(*row));
    found.push_back(std::move(mirrored));
  }
  return found;
}

Result<bool> any_to_remove(State& state) {
  bool any = false;
  LK_CHECK(state.txn().scan(
      kv::prefix_range("u"),
      [&](const kv::Row&) {
        any = true;
        return false;
      },
      kv::Read::kPeek));
  return any;
}

namespace {

Result<void> forget_places(State& state, const LeaseId& id, const std::set<std::string>& gone) {
  const auto without = [&](std::vector<std::string> places) {
    std::erase_if(places, [&](const std::string& where) { return gone.contains(where); });
    return places;
  };
  LK_ASSIGN(const Lease* lease, state.lease(id));
  if (lease != nullptr) {
    const Lease before = *lease;
    Lease after = before;
    after.mirrored_at = without(before.mirrored_at);
    if (after.mirrored_at != before.mirrored_at) LK_CHECK(state.change_lease(before, after));
  }
  const std::string key = removal_key(id);
  LK_ASSIGN(const std::optional<kv::Row> row, state.txn().get(key));
  if (!row) return {};
  LK_ASSIGN(const std::vector<std::string> places, decode_places(row->value));
  const std::vector<std::string> rest = without(places);
  return rest.empty() ? state.txn().erase(key) : state.txn().put(key, encode_places(rest));
}

}  // namespace

Result<void> forget_mirrored(State& state, const std::vector<MirrorArtefact>& mirrored) {
  std::map<LeaseId, std::set<std::string>> gone;
  for (const MirrorArtefact& one : mirrored) {
    const std::string where = mirror_place(one.layout, one.artefact);
    LK_CHECK(state.txn().erase(mirror_key(where, one.lease)));
    gone[one.lease].insert(where);
  }
  for (const auto& [id, places] : gone) LK_CHECK(forget_places(state, id, places));
  return {};
}

}  // namespace lockkeeper::core
