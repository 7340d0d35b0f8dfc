#include "snapshot/losses.h"

#include <algorithm>

namespace lockkeeper::snapshot {
namespace {

// Two versions that have the same content, whatever their permissions.
bool same_content(const Version& a, const Version& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == Kind::kFile) return !a.content.empty() && a.content == b.content;
  return a.kind == Kind::kGone || a.target == b.target;
}

// Of a content that nobody is known to have written. Either somebody thought that it was in danger;
// or an agent replaced it, and it may have been a person's. What an agent of a plan changes is its
// work, but what it deletes may be another's.
bool was_in_danger(const Version& version, const Version& next) {
  const Why why = version.why;
  if (why == Why::kAttempt) return next.kind == Kind::kGone;
  if (why == Why::kDestroyed || why == Why::kTakeover || why == Why::kBreak) return true;
  const bool nothing = version.kind == Kind::kFile && version.size == 0;
  return next.writer.known() && !nothing;
}

}  // namespace

Who writer_of(const std::vector<Version>& versions, std::size_t at) {
  const Version& version = versions[at];
  // Each deletion is its own; a content that comes back is still its first writer's.
  if (version.kind == Kind::kGone) return version.writer;
  for (std::size_t i = 0; i < at; ++i) {
    if (versions[i].writer.known() && same_content(versions[i], version)) return versions[i].writer;
  }
  return version.writer;
}

std::vector<Loss> losses_of(const std::vector<Version>& versions, const Version& now) {
  std::vector<Version> all = versions;
  all.push_back(now);
  std::vector<Loss> losses;
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    const Version& version = all[i];
    if (version.kind == Kind::kGone || same_content(version, all[i + 1])) continue;
    const auto rest =
        std::ranges::subrange(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end());
    const auto is_it = [&](const Version& other) { return same_content(version, other); };
    if (std::ranges::any_of(rest, is_it)) continue;  // it came back, or was seen again later
    const Who writer = writer_of(all, i);
    const Version& next = all[i + 1];
    if (!writer.known() && !was_in_danger(version, next)) continue;
    if (next.why == Why::kRestore && next.writer.known()) continue;
    const Who changed_by = next.writer.known() ? next.writer : Who{};
    if (writer.known() && changed_by.known() && same_party(writer, changed_by)) continue;
    losses.push_back({version, writer, changed_by, next.at_wall_ms, next.kind == Kind::kGone});
  }
  return losses;
}

}  // namespace lockkeeper::snapshot
