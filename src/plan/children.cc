// What the disk knows about a folder that is to be divided.
#include <algorithm>

#include "plan/resolutions.h"
#include "service/artefact_folder.h"
#include "service/realm.h"

namespace lockkeeper::plan {

Children children_on_disk(std::string root) {
  constexpr std::size_t kChildrenMax = 200;  // beyond that it is not divided name by name
  return [root = std::move(root)](
             const std::string& folder) -> std::optional<std::vector<std::string>> {
    const std::string below = folder.ends_with('/') ? folder.substr(0, folder.size() - 1) : folder;
    const auto opened = service::ArtefactFolder::open(root, below);
    if (!opened) return std::nullopt;
    auto names = opened->names();
    if (!names || names->size() > kChildrenMax) return std::nullopt;
    std::erase_if(*names, [](const std::string& name) {
      return name == ".git" || name == service::kPlainStoreName;
    });
    for (std::string& name : *names) {
      const auto stamp = opened->stamp(name);
      if (stamp && *stamp && (*stamp)->folder) name += '/';
    }
    std::ranges::sort(*names);
    return *names;
  };
}

}  // namespace lockkeeper::plan
