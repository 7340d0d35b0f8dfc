#include "layout/mirrored_rows.h"

#include <algorithm>

namespace lockkeeper::layout {
namespace {

// The lease's other artefacts in the same source.
Result<std::vector<std::string>> along(core::State& state, const Layout& layout,
                                       const std::string& artefact, const core::Lease& lease) {
  std::vector<std::string> found;
  const std::string source = source_of(artefact);
  if (source == artefact) return found;  // the source holds nothing else
  for (const std::string& place : lease.mirrored_at) {
    const auto [id, other] = split_place(place);
    if (id != layout.id() || source_of(other) != source) continue;
    LK_ASSIGN(const std::vector<core::MirrorArtefact> rows, core::mirrored_as(state, id, other));
    const auto own = std::ranges::find(rows, lease.id, &core::MirrorArtefact::lease);
    const bool by_itself =
        own != rows.end() && own->live && own->identity == layout.identity(lease, other);
    if (by_itself) found.push_back(other);
  }
  return found;
}

}  // namespace

std::pair<std::string, std::string> split_place(const std::string& place) {
  const std::size_t end = place.find('\0');
  return {place.substr(0, end), end == std::string::npos ? "" : place.substr(end + 1)};
}

bool taken_through(const core::Lease& lease, const core::MirrorArtefact& row) {
  return lease.terms.layout == row.layout && lease.terms.artefact == row.artefact;
}

bool shows_source(const core::Lease& lease, const std::string& layout, const std::string& source) {
  return std::ranges::any_of(lease.mirrored_at, [&](const std::string& place) {
    const auto [id, artefact] = split_place(place);
    return id == layout && source_of(artefact) == source;
  });
}

Result<bool> is_recorded(core::State& state, const std::string& layout, const std::string& artefact,
                         const core::LeaseId& id) {
  LK_ASSIGN(const core::Lease* lease, state.lease(id));
  if (lease != nullptr && shows_source(*lease, layout, source_of(artefact))) return true;
  LK_ASSIGN(const std::vector<core::MirrorArtefact> rows,
            core::mirrored_as(state, layout, artefact));
  return std::ranges::find(rows, id, &core::MirrorArtefact::lease) != rows.end();
}

Result<bool> StillMirrored::operator()(core::State& state, const Layout& layout,
                                       const core::MirrorArtefact& row) {
  if (!row.live) return false;
  const auto [at, unknown] = artefacts_.try_emplace({&layout, row.lease});
  if (unknown) {
    LK_ASSIGN(const core::Lease* lease, state.lease(row.lease));
    const Artefacts now = layout.artefacts(*lease);
    at->second.insert(now.names.begin(), now.names.end());
  }
  return at->second.contains(row.artefact);
}

Result<Standing> standing_of(core::State& state, const Layout& layout, const std::string& artefact,
                             const core::Lease& lease) {
  LK_ASSIGN(const std::vector<core::MirrorArtefact> rows,
            core::mirrored_as(state, layout.id(), artefact));
  const std::string identity = layout.identity(lease, artefact);
  Standing now;
  now.by_itself = true;
  for (const core::MirrorArtefact& row : rows) {
    if (row.lease == lease.id) now.row = row;
    if (row.live) now.by_itself &= row.identity == identity;
    now.terms.replaces.push_back(row.identity);
  }
  return now;
}

Result<Turn> take_turn(core::State& state, const Layout& layout, const std::string& artefact,
                       const core::Lease& lease, const Sighting* there) {
  LK_ASSIGN(const std::vector<core::MirrorArtefact> rows,
            core::mirrored_as(state, layout.id(), artefact));
  const auto own = std::ranges::find(rows, lease.id, &core::MirrorArtefact::lease);
  if (own == rows.end() || !own->live) return Turn{};
  Turn turn{Turn::kPublish, {}};
  std::string identity = layout.identity(lease, artefact);
  for (const core::MirrorArtefact& row : rows) {
    if (!row.live || there == nullptr || row.identity != there->identity) continue;
    turn.what = Turn::kShown;  // by the artefact of another lease of ours
    identity = row.identity;
  }
  turn.terms.replaces = {identity};
  for (const core::MirrorArtefact& row : rows) {
    turn.terms.replaces.push_back(row.identity);
    if (row.live && row.identity != identity) LK_CHECK(core::mirror_as(state, row, identity));
  }
  LK_ASSIGN(turn.terms.along, along(state, layout, artefact, lease));
  return turn;
}

}  // namespace lockkeeper::layout
