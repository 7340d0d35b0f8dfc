// The mkdir protocol on disk: each lock is a folder with a file that names its owner.
//
//   ROOT/.locks/tasks/{task-id}/owner        the task `task-id`
//   ROOT/.locks/files/{sanitised}/owner      the files that sanitise to that name
//
// ROOT is the protocol's `spec/`; paths are relative to its parent folder, as in the protocol's
// commands. Each lock is a separate source and artefact: `tasks/T`, `files/N`, with the name
// encoded (names.h). Anything with such a name is a lock, because mkdir fails on it: a folder
// without its owner file, a plain file, a symlink.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/folder.h"
#include "dialect/mkdir/names.h"
#include "layout/layout.h"
#include "realm/resolve.h"

namespace lockkeeper::dialect::mkdir {

inline constexpr std::string_view kKind = "mkdir";
inline constexpr std::string_view kLocksName = ".locks";  // below the root

class MkdirLayout final : public layout::Layout {
 public:
  MkdirLayout(layout::LayoutEntry entry, const layout::LayoutContext& context);

  Result<layout::ScanResult> scan(const layout::Interest& interest) override;
  Result<layout::ScanResult> scan_source(const std::string& source) override;
  bool scan_after_publishing() const override { return false; }  // mkdir is one step

  layout::Artefacts artefacts(const core::Lease& lease) const override;
  std::string identity(const core::Lease& lease, const std::string& artefact) const override;

  Result<void> prepare(const core::Lease& lease, const std::string& artefact) override;
  Result<layout::Published> publish(const core::Lease& lease, const std::string& artefact,
                                    const layout::PublishTerms& terms) override;
  Result<bool> is_prepared(const core::LeaseId& lease, const std::string& artefact) override;
  Result<void> discard(const core::LeaseId& lease, const std::string& artefact) override;
  // These locks have no end and never expire by age.
  Result<void> sweep(std::int64_t idle_ms) override;
  Result<void> refresh(const core::Lease&, const std::string&) override { return {}; }
  Result<layout::Removed> remove(const std::string& artefact, const std::string& identity) override;

  // The artefact of a resource: a file, a folder (for which the protocol has no lock, but which a
  // path may be) or `task:T`. nullopt: it cannot be shown.
  std::optional<std::string> artefact_of(const key::Resource& resource) const;
  Result<std::string> path_of(const std::string& artefact) const;  // absolute
  // The paths that `files/NAME` means: those that exist or, if none does, all without a colon.
  std::vector<key::Resource> paths_of(const std::string& name,
                                      std::vector<std::string>& notes) const;
  // Those of its readings that exist; and all possible ones, including those with colons.
  std::vector<key::Resource> existing_paths(const std::string& name) const;
  std::vector<key::Resource> possible_paths(const std::string& name) const;
  // Removes what crashes left while making or removing locks; returns how many.
  Result<std::size_t> tidy(std::int64_t idle_ms = layout::kLeftAfterMs);
  // Where the protocol's relative paths begin.
  const std::string& base_folder() const { return base_; }

 private:
  // `.locks/tasks` or `.locks/files`, and the lock's name in it, of "files/N".
  struct Place {
    std::string group;
    std::string name;
  };
  static Result<Place> place_of(const std::string& artefact);
  std::vector<std::string> in_folders(const std::string& name, Colons colons) const;
  std::vector<key::Resource> resolved(const std::vector<std::string>& paths) const;
  Result<std::optional<Folder>> open(std::string_view below) const;
  Result<Folder> create(std::string_view below) const;
  std::string path_of(const Place& place) const;
  std::string name_of(const std::vector<std::string>& segments) const;

  Result<void> look_at_all(const layout::Interest& interest, layout::ScanResult& seen);
  Result<void> look_for(const std::vector<std::string>& sources, const layout::Interest& interest,
                        layout::ScanResult& seen);
  Result<bool> look_at_one(const Folder& folder, const Place& place,
                           const layout::Interest& interest, layout::ScanResult& seen);
  std::vector<key::Resource> claimed(const Place& place, std::vector<std::string>& notes) const;
  bool is_ignored(const Place& place) const;
  void describe(const std::optional<Folder>& inner, const FileStamp& own,
                layout::Sighting& sighting, std::vector<std::string>& notes) const;
  void remember_asked(const Place& place, const std::string& source,
                      const layout::Interest& interest);
  void add_sources(const key::Resource& resource, std::set<std::string>& sources) const;
  Result<layout::Removed> remove_from(const Folder& group, const Place& place,
                                      const std::string& identity);
  Result<void> take_away(const Folder& locks, const std::string& name);
  std::string new_aside();
  Result<std::optional<std::string>> identity_at(const Folder& folder,
                                                 const std::string& name) const;
  Result<std::optional<layout::Published>> publish_once(const core::Lease& lease,
                                                        const Place& place,
                                                        const std::string& prepared,
                                                        const std::vector<std::string>& ours);

  const layout::LayoutContext context_;
  const key::Rules rules_;
  std::string base_;                                         // absolute: paths are relative to it
  std::vector<std::string> base_segments_;                   // from the root of its worktree
  std::string base_root_;                                    // that root
  std::multimap<std::string, const key::Resource*> wanted_;  // what is looked for, by artefact
  // Requested unusual readings, by source: such a lock covers them, too.
  std::map<std::string, std::vector<key::Resource>> asked_;
  std::uint64_t asides_ = 0;  // counts what was moved aside to be removed
};

Result<std::unique_ptr<layout::Layout>> make_mkdir_layout(const layout::LayoutEntry& entry,
                                                          const layout::LayoutContext& context);

}  // namespace lockkeeper::dialect::mkdir
