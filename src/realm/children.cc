#include "realm/children.h"

#include <algorithm>

#include "base/folder.h"
#include "realm/realm.h"

namespace lockkeeper::realm {

Children children_on_disk(std::string root, std::size_t most) {
  return [root = std::move(root),
          most](const std::string& folder) -> std::optional<std::vector<std::string>> {
    const std::string below = folder.ends_with('/') ? folder.substr(0, folder.size() - 1) : folder;
    const auto opened = Folder::open(root, below);
    if (!opened) return std::nullopt;
    auto names = opened->names();
    if (!names || names->size() > most) return std::nullopt;
    std::erase_if(
        *names, [](const std::string& name) { return name == ".git" || name == kPlainStoreName; });
    for (std::string& name : *names) {
      const auto stamp = opened->stamp(name);
      if (stamp && *stamp && (*stamp)->folder) name += '/';
    }
    std::ranges::sort(*names);
    return *names;
  };
}

}  // namespace lockkeeper::realm
