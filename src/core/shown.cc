#include "core/shown.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/assert.h"
#include "base/bytes.h"

namespace lockkeeper::core {
namespace {

std::string encode(const Shown& shown) {
  RecordWriter out;
  out.text(shown.layout);
  out.text(shown.artefact);
  out.text(shown.identity);
  return out.take();
}

Result<std::vector<Shown>> scan(State& state, const std::string& prefix) {
  std::vector<Shown> found;
  Result<void> readable;
  LK_CHECK(state.txn().scan(
      kv::prefix_range(prefix),
      [&](const kv::Row& row) {
        auto shown = read_shown(row);
        if (!shown) {
          readable = fail(std::move(shown.error()));
          return false;
        }
        found.push_back(std::move(*shown));
        return true;
      },
      kv::Read::kPeek));
  LK_CHECK(readable);
  for (Shown& shown : found) {
    LK_ASSIGN(const Lease* lease, state.lease(shown.lease));
    const std::string where = shown_place(shown.layout, shown.artefact);
    shown.live = lease != nullptr && std::ranges::find(lease->shown, where) != lease->shown.end();
  }
  return found;
}

}  // namespace

std::string shown_place(std::string_view layout, std::string_view artefact) {
  return std::string(layout) + '\0' + std::string(artefact);
}

std::string shown_key(std::string_view place, const LeaseId& id) {
  return "o" + short_name(place) + '\0' + std::string(id.bytes);
}

Result<Shown> read_shown(const kv::Row& row) {
  RecordReader in(row.value);
  Shown shown;
  shown.layout = in.text();
  shown.artefact = in.text();
  shown.identity = in.text();
  if (!in.at_end() || row.key.size() < IdBytes::kMax) {
    return fail(Code::kStoreCorrupt, "a shown lease in the store cannot be read",
                "run: lockkeeper doctor");
  }
  shown.lease = LeaseId{row.key.substr(row.key.size() - IdBytes::kMax)};
  return shown;
}

Result<void> record_shown(State& state, const LeaseId& id, const std::vector<Shown>& shown) {
  LK_ASSIGN(const Lease* lease, state.lease(id));
  LOCKKEEPER_ASSERT(lease != nullptr);
  const Lease before = *lease;
  Lease after = before;
  std::set<std::string> known(before.shown.begin(), before.shown.end());
  for (const Shown& one : shown) {
    const std::string where = shown_place(one.layout, one.artefact);
    LK_CHECK(state.txn().put(shown_key(where, id), encode(one)));
    if (known.insert(where).second) after.shown.push_back(where);
  }
  return state.change_lease(before, after);
}

Result<void> show_as(State& state, const Shown& shown, const std::string& identity) {
  Shown changed = shown;
  changed.identity = identity;
  return state.txn().put(shown_key(shown_place(shown.layout, shown.artefact), shown.lease),
                         encode(changed));
}

Result<std::vector<Shown>> shown_as(State& state, std::string_view layout,
                                    std::string_view artefact) {
  LK_ASSIGN(std::vector<Shown> found,
            scan(state, "o" + short_name(shown_place(layout, artefact)) + '\0'));
  std::ranges::stable_partition(found, [](const Shown& shown) { return !shown.live; });
  return found;
}

Result<std::vector<Shown>> all_shown(State& state, std::string_view layout,
                                     std::string_view source) {
  if (source.empty()) return scan(state, "o" + shown_place(layout, ""));
  LK_ASSIGN(std::vector<Shown> found, shown_as(state, layout, source));
  const std::string entries = shown_place(layout, std::string(source) + "#");
  LK_ASSIGN(std::vector<Shown> more, scan(state, "o" + std::string(short_prefix(entries))));
  std::ranges::move(more, std::back_inserter(found));
  return found;
}

Result<void> to_be_removed(State& state, const LeaseId& id,
                           const std::vector<std::string>& places) {
  if (places.empty()) return {};
  const std::string key = unshow_key(id);
  LK_ASSIGN(const std::optional<kv::Row> row, state.txn().get(key));
  std::vector<std::string> all;
  if (row) {
    LK_ASSIGN(all, decode_shown(row->value));
  }
  std::set<std::string> known(all.begin(), all.end());
  for (const std::string& where : places) {
    if (known.insert(where).second) all.push_back(where);
  }
  return state.txn().put(key, encode_shown(all));
}

Result<void> unshow(State& state, const LeaseId& id, const std::vector<std::string>& places) {
  if (places.empty()) return {};
  LK_ASSIGN(const Lease* lease, state.lease(id));
  LOCKKEEPER_ASSERT(lease != nullptr);
  const Lease before = *lease;
  Lease after = before;
  for (const std::string& where : places) std::erase(after.shown, where);
  LK_CHECK(state.change_lease(before, after));
  return to_be_removed(state, id, places);
}

Result<std::vector<Shown>> to_unshow(State& state, std::size_t most,
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
        auto places = decode_shown(row.value);
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
  std::vector<Shown> found;
  for (const auto& [id, where] : rows) {
    LK_ASSIGN(const std::optional<kv::Row> row, state.txn().get(shown_key(where, id)));
    if (!row) continue;
    LK_ASSIGN(Shown shown, read_shown(*row));
    found.push_back(std::move(shown));
  }
  return found;
}

Result<bool> any_to_unshow(State& state) {
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
    after.shown = without(before.shown);
    if (after.shown != before.shown) LK_CHECK(state.change_lease(before, after));
  }
  const std::string key = unshow_key(id);
  LK_ASSIGN(const std::optional<kv::Row> row, state.txn().get(key));
  if (!row) return {};
  LK_ASSIGN(const std::vector<std::string> places, decode_shown(row->value));
  const std::vector<std::string> rest = without(places);
  return rest.empty() ? state.txn().erase(key) : state.txn().put(key, encode_shown(rest));
}

}  // namespace

Result<void> forget_shown(State& state, const std::vector<Shown>& shown) {
  std::map<LeaseId, std::set<std::string>> gone;
  for (const Shown& one : shown) {
    const std::string where = shown_place(one.layout, one.artefact);
    LK_CHECK(state.txn().erase(shown_key(where, one.lease)));
    gone[one.lease].insert(where);
  }
  for (const auto& [id, places] : gone) LK_CHECK(forget_places(state, id, places));
  return {};
}

}  // namespace lockkeeper::core
