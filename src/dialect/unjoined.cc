#include "dialect/unjoined.h"

#include <algorithm>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "dialect/coordmcp/calls.h"
#include "dialect/dirlock/dirlock_layout.h"
#include "dialect/dirlock/lock_file.h"
#include "dialect/mkdir/mkdir_layout.h"
#include "dialect/workflow/lock_file.h"
#include "dialect/workflow/workflow_layout.h"
#include "layout/registry.h"

namespace lockkeeper::dialect {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNamesMax = 4'000;
constexpr int kDepthMax = 2;

std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
  std::vector<fs::directory_entry> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    found.push_back(*at);
    if (found.size() == kNamesMax) break;
  }
  return found;
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(fs::symlink_status(path, error)) && !error;
}

class Search {
 public:
  explicit Search(const layout::LayoutContext& context) : context_(context) {
    if (auto known = layout::load_layouts(context.realm, context.settings)) {
      known_ = std::move(*known);
    }
  }

  std::vector<Unjoined> run() {
    look_below(context_.realm.root, 0);
    look_at_coordmcp();
    look_at_dirlock();
    return std::move(found_);
  }

 private:
  void look_below(const fs::path& folder, int depth) {
    look_at_mkdir(folder);
    look_at_workflow(folder);
    if (depth == kDepthMax) return;
    for (const fs::directory_entry& entry : entries_of(folder)) {
      if (++names_ > kNamesMax) return;
      const std::string name = entry.path().filename();
      if (name == ".git" || name == "node_modules" || !is_folder(entry.path())) continue;
      look_below(entry.path(), depth + 1);
    }
  }

  void look_at_mkdir(const fs::path& root) {
    for (const char* const group : {"tasks", "files"}) {
      const fs::path folder = root / mkdir::kLocksName / group;
      if (!is_folder(folder)) continue;
      return add(mkdir::kKind, root, root / mkdir::kLocksName);
    }
  }

  void look_at_workflow(const fs::path& root) {
    const fs::path folder = root / workflow::kLocksFolder;
    if (!is_folder(folder)) return;
    for (const fs::directory_entry& entry : entries_of(folder)) {
      const std::string path = entry.path();
      if (!path.ends_with(workflow::kLockSuffix)) continue;
      const auto text = read_file(path, workflow::kLockFileBytesMax);
      if (text && workflow::parse_lock_file(*text)) return add(workflow::kKind, root, path);
    }
  }

  // Its folder is the user's: it matters only if it names files of this realm.
  void look_at_coordmcp() {
    const auto config = coordmcp::read_config(context_.env);
    if (!config || !is_folder(fs::path(config->data_dir) / "agents")) return;
    layout::LayoutEntry entry;
    entry.kind = coordmcp::kKind;
    entry.root = config->data_dir;
    std::string& projects = entry.options["project"];
    for (const fs::directory_entry& each : entries_of(fs::path(entry.root) / "agents" / "locks")) {
      const fs::path name = each.path().filename();
      if (name.extension() != ".json" || !coordmcp::is_project_id(name.stem().string())) continue;
      projects += (projects.empty() ? "" : ",") + name.stem().string();
    }
    const auto layout = coordmcp::make_layout(entry, context_);
    if (!layout) return;
    const auto entries = static_cast<coordmcp::CoordLayout&>(**layout).entries();
    if (!entries) return;
    for (const coordmcp::CoordLayout::Listed& listed : *entries) {
      if (listed.expired || listed.path.empty()) continue;
      return add(coordmcp::kKind, entry.root, entry.root + "/" + listed.source);
    }
  }

  void look_at_dirlock() {
    const fs::path root = dirlock::temp_folder(context_.env);
    const fs::path lock = root / dirlock::lock_name(context_.realm.root);
    std::error_code error;
    if (fs::is_regular_file(fs::symlink_status(lock, error))) add(dirlock::kKind, root, lock);
  }

  void add(std::string_view kind, const fs::path& root, const fs::path& seen) {
    const auto physical = layout::physical_root(root);
    const bool known = std::ranges::any_of(known_, [&](const layout::LayoutEntry& one) {
      return one.kind == kind && physical && one.root == *physical;
    });
    if (!known) found_.push_back({std::string(kind), root, seen});
  }

  const layout::LayoutContext& context_;
  std::vector<layout::LayoutEntry> known_;
  std::vector<Unjoined> found_;
  std::size_t names_ = 0;
};

}  // namespace

std::vector<Unjoined> find_unjoined(const layout::LayoutContext& context) {
  if (context.realm.in_memory || context.realm.machine) return {};
  return Search(context).run();
}

std::string unjoined_text(const Unjoined& unjoined) {
  return quote(unjoined.found) + " looks like locks of another tool (" + unjoined.kind +
         "), which are ignored until you add them: lockkeeper layout add " + unjoined.kind + " " +
         shell_quote(unjoined.root);
}

}  // namespace lockkeeper::dialect
