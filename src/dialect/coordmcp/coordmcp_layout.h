// CoordMCP's JSON store as a layout. The root is its data folder; sources are
//   agents/locks/{project}.json        the real system's, of each project that the layout names
//   agents/{agent}/locked_files.json   that of its design record (ADR-0005), of every agent
// and an artefact is `source#key` of one entry. Every lease on plain files is written to both: by
// absolute path for each project, by path from the workspace for its agent.
//
// CoordMCP ends a lock at locked_at + timeout hours, by its local clock. So we write local time
// without a zone, and move locked_at so that their end is not before ours. The fraction of its
// second is a mark of the lease: it survives CoordMCP's rewrites, a renewal and a change of our
// time zone, and distinguishes our entries from others'.
//
// Options: project ("a,b"; none: only the ADR's files), workspace (absolute; default: the main
// worktree's root), timeout_hours (24), agent_keys (relative or absolute: how an agent's file names
// its entries; workspaces that share a data folder need absolute), keep_expired (true: expired
// entries stay in the files, but block nobody).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dialect/coordmcp/shared_file.h"
#include "key/resource.h"
#include "layout/layout.h"
#include "realm/resolve.h"

namespace lockkeeper::dialect::coordmcp {

inline constexpr std::string_view kKind = "coordmcp";
inline constexpr int kTimeoutHours = 24;
// The locks of one file that are not expired. Beyond it, limit_exceeded.
inline constexpr std::size_t kLocksMax = 20'000;

Result<std::unique_ptr<layout::Layout>> make_layout(const layout::LayoutEntry& entry,
                                                    const layout::LayoutContext& context);

// Is it safe as part of a file name in the store?
bool is_project_id(std::string_view id);
// "0.5" and "24" as milliseconds; invalid_input names `what`.
Result<std::int64_t> parse_hours(std::string_view text, std::string_view what);
// What a lease keeps of lock_files' arguments, in its task: "coordmcp:PROJECT:60m".
std::string task_text(const std::string& project, int minutes);
struct LockNote {
  std::string project;
  int minutes = 0;
};
std::optional<LockNote> lock_note_in(const std::string& task);
// "agent", or "agent@session".
std::string holder_name(const core::Owner& owner);

class CoordLayout final : public layout::Layout {
 public:
  CoordLayout(layout::LayoutEntry entry, const layout::LayoutContext& context,
              std::int64_t timeout_ms);

  Result<layout::ScanResult> scan(const layout::Interest& interest) override;
  Result<layout::ScanResult> scan_source(const std::string& source) override;
  bool scan_after_publishing() const override { return true; }
  Result<bool> is_as_scanned(const std::string& source) override;
  layout::Artefacts artefacts(const core::Lease& lease) const override;
  std::string identity(const core::Lease& lease, const std::string& artefact) const override;
  Result<void> prepare(const core::Lease& lease, const std::string& artefact) override;
  Result<layout::Published> publish(const core::Lease& lease, const std::string& artefact,
                                    const layout::PublishTerms& terms) override;
  Result<bool> is_prepared(const core::LeaseId& lease, const std::string& artefact) override;
  Result<void> discard(const core::LeaseId& lease, const std::string& artefact) override;
  Result<void> sweep(std::int64_t idle_ms) override;
  Result<void> refresh(const core::Lease& lease, const std::string& artefact) override;
  Result<layout::Removed> remove(const std::string& artefact, const std::string& identity) override;
  Result<void> remove_together(const std::vector<Unwanted>& unwanted) override;

  // Every entry of the project's file (of this workspace) and of the agents' files, including ours
  // and expired ones. For get_locked_files.
  struct Listed {
    std::string source;
    Entry entry;
    std::string path;  // from the realm's root, if it is in this realm
    bool expired = false;
  };
  Result<std::vector<Listed>> entries();
  // Removes expired entries from all sources; returns their number.
  Result<int> clean();
  // Does an agent's file have entries of another workspace? Then our relative names would collide.
  Result<bool> shares_folder();
  const std::string& workspace() const { return workspace_; }

 private:
  // One source, and optionally one of its entries.
  struct Place {
    std::string source;        // "agents/locks/demo.json", its signs # and % as %23 and %25
    std::string folder, name;  // below the root
    Shape shape = Shape::kProject;
    std::string session;  // of its foreign locks: the project, or the agent's folder
    std::string key;
  };
  Place project_place(const std::string& project) const;
  Place agent_place(const std::string& agent) const;
  Result<Place> place_of(const std::string& artefact) const;
  Result<std::vector<Place>> places() const;
  Result<std::optional<LockFile>> read(const Place& place) const;
  Result<Folder> create(const std::string& folder) const;
  Result<bool> look_at_one(const Place& place, const layout::Interest& interest,
                           layout::ScanResult& seen);
  std::string path_of(const Entry& entry) const;
  realm::Resolver resolver() const;
  Result<key::Resource> resource_of(const Entry& entry, realm::Resolver& resolver) const;
  layout::Sighting sighting(const Place& place, const Entry& entry,
                            const key::Resource& resource) const;
  std::int64_t end_of(const Entry& entry) const;
  bool expired(const Entry& entry) const;
  bool over_soon(const Entry& entry) const;
  bool elsewhere(const Entry& entry) const;
  std::string full_path(const Place& place) const;
  bool is_ignored(const Place& place) const;
  std::string absolute(const key::Resource& resource) const;
  std::string agent_key(const key::Resource& resource) const;
  // The lease's entries in that source.
  std::vector<Entry> entries_of(const core::Lease& lease, const Place& place) const;
  Result<layout::Removed> remove_entries(const std::vector<Unwanted>& unwanted);
  Result<SharedFile::Verdict> update(const Place& place, const SharedFile::Change& change,
                                     const SharedFile::Buried& buried = {});

  const layout::LayoutContext context_;
  const key::Rules rules_;
  const std::int64_t timeout_ms_;
  std::map<std::string, std::uint64_t> hashes_;  // of the sources that were read
  std::string main_root_;                        // what a resource's path is relative to
  std::string workspace_;
  std::vector<std::string> projects_;
  bool relative_ = true;
  bool keep_expired_ = false;
};

}  // namespace lockkeeper::dialect::coordmcp
