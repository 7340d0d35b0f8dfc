// Reading: from the disk into the table.
#include "service/mirror.h"

#include <algorithm>
#include <map>

#include "base/bytes.h"
#include "base/text.h"
#include "service/layouts.h"

namespace lockkeeper::service {
namespace {

constexpr std::size_t kChangesPerCommit = 200;
constexpr std::size_t kVerifiedMax = 64;

using Stamps = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

std::string encode(const Stamps& stamps) {
  std::string out;
  for (const auto& [source, stamp] : stamps) {
    append_be64(out, source);
    append_be64(out, stamp);
  }
  return out;
}

Stamps decode(std::string_view bytes) {
  Stamps stamps;
  for (; bytes.size() >= 16; bytes.remove_prefix(16)) {
    stamps.emplace_back(read_be64(bytes), read_be64(bytes.substr(8)));
  }
  return stamps;
}

bool listed(const Stamps& stamps, std::uint64_t source) {
  return std::ranges::binary_search(stamps, source, {}, &Stamps::value_type::first);
}

Stamps stamps_of(const Seen& seen) {
  Stamps stamps;
  for (const Source& source : seen.sources) {
    // A young one is listed, so that its end is noticed, but must be read again.
    stamps.emplace_back(hash64(source.name), source.fresh ? 0 : source.stamp);
  }
  std::ranges::sort(stamps);
  return stamps;
}

bool has_source(const Seen& seen, const std::string& name) {
  return std::ranges::find(seen.sources, name, &Source::name) != seen.sources.end();
}

const Sighting* sighted(const Seen& seen, const std::string& artefact) {
  const auto at = std::ranges::find(seen.sightings, artefact,
                                    [](const Sighting& s) { return s.lock.artefact; });
  return at == seen.sightings.end() ? nullptr : &*at;
}

}  // namespace

Result<bool> Mirror::open() {
  LK_ASSIGN(const std::vector<LayoutEntry> entries,
            load_layouts(table_.realm(), table_.settings()));
  if (entries.empty()) return false;
  const Runtime& runtime = table_.runtime();
  context_.emplace(table_.realm(), table_.settings(), runtime.env, *runtime.clock);
  for (const LayoutEntry& entry : entries) {
    if (entry.mode == LayoutMode::kOff) continue;
    const auto kind = runtime.layout_kinds.find(entry.kind);
    if (kind == runtime.layout_kinds.end()) {
      return fail(Code::kInvalidConfig,
                  "layout " + entry.id() + " is of the unknown kind " + quote(entry.kind),
                  "remove it: lockkeeper layout remove " + entry.id());
    }
    LK_ASSIGN(std::unique_ptr<Layout> layout, kind->second(entry, *context_));
    layouts_.push_back(std::move(layout));
  }
  return !layouts_.empty();
}

Layout* Mirror::find(std::string_view id) const {
  for (const std::unique_ptr<Layout>& layout : layouts_) {
    if (layout->id() == id) return layout.get();
  }
  return nullptr;
}

Result<void> Mirror::add_look(Layout& layout, const Interest& interest) {
  Looked looked;
  looked.layout = &layout;
  LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
    LK_ASSIGN(const std::string stamps, core::layout_stamps(table.state(), layout.id()));
    looked.before = decode(stamps);
    return {};
  }));
  Interest told = interest;
  told.known = [&](const std::string& source, std::uint64_t stamp) {
    return stamp != 0 &&
           std::ranges::binary_search(looked.before, std::pair(hash64(source), stamp));
  };
  LK_ASSIGN(looked.seen, layout.look(told));
  looked_.push_back(std::move(looked));
  return {};
}

Result<void> Mirror::look(const std::vector<core::Claim>& wanted) {
  std::vector<key::Resource> resources;
  for (const core::Claim& claim : wanted) resources.push_back(claim.resource);
  return look(&resources);
}

Result<void> Mirror::look_at_all() {
  return look(nullptr);
}

Result<void> Mirror::look(const std::vector<key::Resource>* wanted) {
  looked_.clear();
  for (const std::unique_ptr<Layout>& layout : layouts_) {
    Interest interest;
    interest.wanted = wanted;
    LK_CHECK(add_look(*layout, interest));
  }
  return {};
}

Result<bool> Mirror::verify(const std::vector<core::Conflict>& conflicts) {
  std::set<std::pair<Layout*, std::string>> sources;
  for (const core::Conflict& conflict : conflicts) {
    Layout* const layout = find(conflict.holder.layout);
    if (layout == nullptr || conflict.waiting || sources.size() == kVerifiedMax) continue;
    const std::string& name = conflict.holder.artefact;
    sources.emplace(layout, source_of(name.substr(0, name.find('\0'))));
  }
  looked_.clear();
  for (const auto& [layout, source] : sources) {
    Looked looked;
    looked.layout = layout;
    LK_ASSIGN(looked.seen, layout->look_at(source));
    looked_.push_back(std::move(looked));
  }
  bool any = false;
  LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
    LK_ASSIGN(const Changes found, changes(table.state()));
    any = found.any();
    return {};
  }));
  return any;
}

Result<bool> Mirror::is_ours(core::State& state, const Sighting& sighting) {
  LK_ASSIGN(const std::vector<core::Shown> rows,
            core::shown_as(state, sighting.lock.layout, sighting.lock.artefact));
  return std::ranges::any_of(
      rows, [&](const core::Shown& row) { return row.identity == sighting.identity; });
}

Result<Mirror::Changes> Mirror::changes(core::State& state) {
  Changes found;
  for (const Looked& looked : looked_) {
    for (const Sighting& sighting : looked.seen.sightings) {
      LK_ASSIGN(const bool ours, is_ours(state, sighting));
      if (ours) continue;
      const core::ForeignLock& lock = sighting.lock;
      LK_ASSIGN(const std::optional<core::KnownForeign> known,
                core::known_foreign(state, lock.layout, lock.artefact));
      bool same = known && known->stamp == lock.stamp;
      if (same) {
        LK_ASSIGN(const core::Lease* lease, state.lease(known->lease));
        same = lease != nullptr;
      }
      if (!same) found.sources.emplace(looked.layout, source_of(lock.artefact));
    }
    LK_CHECK(look_for_gone(state, looked, found));
  }
  return found;
}

// What the table knows of this layout and the look did not find.
Result<void> Mirror::look_for_gone(core::State& state, const Looked& looked, Changes& changes) {
  const std::string& id = looked.layout->id();
  const Seen& seen = looked.seen;
  std::set<std::string> prefixes(seen.absent.begin(), seen.absent.end());
  std::set<std::string> read;  // sources whose locks were all seen
  for (const Sighting& sighting : seen.sightings) read.insert(source_of(sighting.lock.artefact));
  for (const Source& source : seen.sources) {
    const bool known =
        !source.fresh &&
        std::ranges::binary_search(looked.before, std::pair(hash64(source.name), source.stamp));
    if (!known) read.insert(source.name);
  }
  prefixes.insert(read.begin(), read.end());
  if (seen.complete) {
    const Stamps now = stamps_of(seen);
    const bool lost = std::ranges::any_of(
        looked.before, [&](const auto& before) { return !listed(now, before.first); });
    // Ours may have come and gone since the last look; that is for whoever looks at everything.
    if (lost || seen.sources.empty()) prefixes = {""};
  }
  const auto is_gone = [&](const std::string& artefact) {
    const std::string source = source_of(artefact);
    if (sighted(seen, artefact) != nullptr) return false;
    if (std::ranges::find(seen.absent, source) != seen.absent.end()) return true;
    if (seen.complete && !has_source(seen, source)) return true;
    return read.contains(source);
  };
  for (const std::string& prefix : prefixes) {
    LK_ASSIGN(const std::vector<core::KnownForeign> known,
              core::all_known_foreign(state, id, prefix));
    for (const core::KnownForeign& one : known) {
      if (is_gone(one.artefact)) changes.gone.push_back(one);
    }
    LK_ASSIGN(const std::vector<core::Shown> shown, core::all_shown(state, id, prefix));
    for (const core::Shown& one : shown) {
      const Sighting* const there = sighted(seen, one.artefact);
      const bool replaced = there != nullptr && there->identity != one.identity;
      if (one.live && (replaced || is_gone(one.artefact))) changes.missing.push_back(one);
    }
  }
  return {};
}

// Looked at inside the transaction: ours are recorded before they appear and forgotten after they
// are gone, so what is there now without a row is another tool's.
Result<void> Mirror::place(core::Table& table, Layout& layout, const std::string& source) {
  LK_ASSIGN(const Seen seen, layout.look_at(source));
  for (const Sighting& sighting : seen.sightings) {
    LK_ASSIGN(const bool ours, is_ours(table.state(), sighting));
    if (ours || sighting.lock.claims.empty()) continue;
    const core::ForeignLock& lock = sighting.lock;
    LK_ASSIGN(const std::optional<core::KnownForeign> known,
              core::known_foreign(table.state(), lock.layout, lock.artefact));
    if (known && known->stamp == lock.stamp) {
      LK_ASSIGN(const core::Lease* lease, table.state().lease(known->lease));
      if (lease != nullptr) continue;
    }
    LK_CHECK(core::place_foreign(table, lock));
  }
  return {};
}

Result<void> Mirror::put_stamps(core::State& state, const Looked& looked) {
  if (!looked.seen.complete) return {};
  const Stamps now = stamps_of(looked.seen);
  if (now == looked.before) return {};
  return core::put_layout_stamps(state, looked.layout->id(), encode(now));
}

Result<bool> Mirror::apply(core::Table& table) {
  LK_ASSIGN(const Changes found, changes(table.state()));
  missing_ = found.missing;
  std::size_t done = 0;
  for (const core::KnownForeign& gone : found.gone) {
    if (++done > kChangesPerCommit) return true;
    LK_CHECK(core::end_foreign(table, gone, {"released", "artefact_removed", "", {}}));
  }
  for (const auto& [layout, source] : found.sources) {
    if (++done > kChangesPerCommit) return true;
    LK_CHECK(place(table, *layout, source));
  }
  for (const Looked& looked : looked_) LK_CHECK(put_stamps(table.state(), looked));
  return false;
}

Result<void> Mirror::overlay(core::Table* table, const core::AcquireRequest& request,
                             core::CheckReply& reply) {
  Changes found;
  if (table != nullptr) {
    LK_ASSIGN(found, changes(table->state()));
    std::erase_if(reply.conflicts, [&](const core::Conflict& conflict) {
      const auto ended = [&](const auto& one) { return one.lease == conflict.holder.id; };
      const bool gone = std::ranges::any_of(found.gone, ended);
      const bool removed = !conflict.holder.layout.empty() && !conflict.holder.foreign &&
                           std::ranges::any_of(found.missing, ended);
      return gone || removed;
    });
  }
  for (const Looked& looked : looked_) {
    for (const Sighting& sighting : looked.seen.sightings) {
      const bool is_new =
          table == nullptr ||
          found.sources.contains({looked.layout, source_of(sighting.lock.artefact)});
      if (!is_new) continue;
      bool counted = false;
      if (table != nullptr) {
        LK_ASSIGN(const bool ours, is_ours(table->state(), sighting));
        const auto same = [&](const core::Conflict& conflict) {
          return conflict.holder.foreign && conflict.holder.layout == sighting.lock.layout &&
                 core::foreign_path(conflict.holder) == sighting.lock.path;
        };
        counted = ours || std::ranges::any_of(reply.conflicts, same);
      }
      if (counted) continue;
      for (const core::Claim& asked : request.claims) {
        for (const core::Claim& held : sighting.lock.claims) {
          LK_ASSIGN(const std::optional<std::string> common,
                    key::overlap(asked.resource, held.resource));
          if (!common) continue;
          reply.conflicts.push_back(core::conflict_with(sighting.lock, asked, held, *common));
        }
      }
    }
  }
  reply.free = reply.conflicts.empty();
  return {};
}

Result<void> Mirror::tick() {
  LK_CHECK(look(nullptr));
  bool any = false;
  const auto there = table_.read([&](core::Table& table) -> Result<void> {
    LK_ASSIGN(const Changes found, changes(table.state()));
    any = found.any();
    for (const Looked& looked : looked_) {
      any |= looked.seen.complete && stamps_of(looked.seen) != looked.before;
    }
    // Ours that came and went since the last look are in no list of sources.
    for (const Looked& looked : looked_) {
      if (!looked.seen.complete) continue;
      LK_ASSIGN(const std::vector<core::Shown> shown,
                core::all_shown(table.state(), looked.layout->id()));
      for (const core::Shown& one : shown) {
        if (one.live && !has_source(looked.seen, source_of(one.artefact))) missing_.push_back(one);
      }
    }
    return {};
  });
  if (!there) return fail(there.error());
  const std::vector<core::Shown> unlisted = std::move(missing_);
  missing_.clear();
  if (any) {
    LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> { return apply(table); }));
  }
  missing_.insert(missing_.end(), unlisted.begin(), unlisted.end());
  LK_CHECK(settle_missing());
  return clean();
}

}  // namespace lockkeeper::service
