#include "layout/layout.h"

#include <algorithm>

#include "base/bytes.h"

namespace lockkeeper::layout {

bool Layout::ignores(const std::string& source) const {
  return std::ranges::any_of(entry_.ignored, [&](const std::string& path) {
    return path == source || path.ends_with("/" + source);
  });
}

Result<void> Layout::remove_together(const std::vector<Unwanted>& unwanted) {
  for (const Unwanted& each : unwanted) LK_CHECK(remove(each.artefact, each.identity));
  return {};
}

Result<void> Layout::remove_old(const Folder& folder, std::int64_t since_wall_ms,
                                const std::function<bool(const std::string& name)>& ours) {
  LK_ASSIGN(const std::vector<std::string> names, folder.names());
  for (const std::string& name : names) {
    if (!ours(name)) continue;
    LK_ASSIGN(const std::optional<FileStamp> there, folder.stamp(name));
    if (there && there->mtime_ms <= since_wall_ms) LK_CHECK(folder.remove_all(name));
  }
  return {};
}

bool ScanResult::is_over(const std::string& artefact, const std::string& identity) const {
  return std::ranges::any_of(over, [&](const Over& each) {
    return each.artefact == artefact && each.identity == identity;
  });
}

bool ScanResult::shows(const std::string& artefact, const std::string& identity) const {
  return is_over(artefact, identity) || std::ranges::any_of(sightings, [&](const Sighting& each) {
           return each.lock.artefact == artefact && each.identity == identity;
         });
}

const Sighting* ScanResult::find(const std::string& artefact) const {
  const auto found = std::ranges::find_if(
      sightings, [&](const Sighting& each) { return each.lock.artefact == artefact; });
  return found == sightings.end() ? nullptr : &*found;
}

std::string source_of(const std::string& artefact) {
  return artefact.substr(0, artefact.find('#'));
}

}  // namespace lockkeeper::layout
