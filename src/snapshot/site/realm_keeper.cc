#include "snapshot/site/realm_keeper.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "realm/snapshot_settings.h"
#include "realm/worktrees.h"
#include "snapshot/ignored.h"

namespace lockkeeper::snapshot {
namespace {

constexpr std::string_view kLinkedTrees = "/worktrees";

// Whether a file's content may be kept, asked for any number of files.
class Secrets {
 public:
  Secrets(const realm::Realm& realm, const realm::Settings& settings)
      : settings_(settings),
        tree_(realm.root),
        ignored_(tree_, realm.in_git ? read_file(realm.common_dir + "/info/exclude").value_or("")
                                     : std::string()),
        asks_git_(realm.in_git && !settings.snapshots_ignored.value) {}

  Content operator()(const std::string& path) {
    if (realm::snapshot_is_secret(settings_, path)) return Content::kSecret;
    return asks_git_ && ignored_.ignores(path) ? Content::kIgnored : Content::kKept;
  }

 private:
  const realm::Settings settings_;
  Tree tree_;
  Ignored ignored_;
  const bool asks_git_;
};

}  // namespace

Place place_of(const realm::Realm& realm, const realm::Settings& settings) {
  Place place{.store = realm.store_folder};
  if (realm.shared) place.name += "-" + std::to_string(::geteuid());
  // What root keeps for a repository's owner is the owner's.
  if (!realm.shared) place.uid = realm.owner_uid;
  if (!realm.shared) place.gid = realm.owner_gid;
  place.durable = settings.durability.value == realm::Durability::kFull;
  return place;
}

std::unique_ptr<Keeper> keeper_of(const realm::Realm& realm, const realm::Settings& settings) {
  if (!settings.snapshots_enabled.value || realm.in_memory || realm.bare) return nullptr;
  const auto store = realm::check_store(realm);
  if (!store || *store == realm::StoreState::kAbsent) return nullptr;
  const Limits limits{.keep_ms = settings.snapshots_keep_ms.value,
                      .bytes = settings.snapshots_bytes.value,
                      .file_bytes = settings.snapshots_file_bytes.value};
  const auto secrets = std::make_shared<Secrets>(realm, settings);
  return std::make_unique<Keeper>(
      place_of(realm, settings), limits, realm.root,
      [secrets](const std::string& path) { return (*secrets)(path); }, tree_name(realm.root));
}

std::string tree_name(const std::string& root) {
  const auto text = read_file(root + "/.git");  // a folder in the main worktree
  if (!text) return std::string(kMainTree);
  std::string_view place = *text;
  while (place.ends_with('\n') || place.ends_with('/')) place.remove_suffix(1);
  const std::size_t slash = place.rfind('/');
  const bool linked =
      slash != std::string_view::npos && place.substr(0, slash).ends_with(kLinkedTrees);
  return std::string(linked ? place.substr(slash + 1) : kMainTree);
}

Worktrees::Worktrees(const realm::Realm& realm) {
  for (const std::string& root : realm::worktree_roots(realm.root, realm.common_dir)) {
    roots_.emplace(tree_name(root), root);
  }
}

std::string Worktrees::root_of(const Version& version) const {
  const auto found = roots_.find(version.tree);
  if (version.tree.empty() || found == roots_.end()) return version.worktree;
  // Another linked worktree may have got the name of one that is still there.
  struct stat info{};
  const bool there = version.tree != kMainTree && ::stat(version.worktree.c_str(), &info) == 0;
  return there ? version.worktree : found->second;
}

}  // namespace lockkeeper::snapshot
