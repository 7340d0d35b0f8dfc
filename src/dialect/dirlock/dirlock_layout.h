// The dirlock protocol's lock files as a layout. Its root is the folder for temporary files; each
// source and artefact is one `agent-dir-<sha256>.lock`. A file belongs to the realm of the folder
// that it locks: inside a repository it is an exclusive lock on that folder, otherwise it is
// `dir:<folder>` in the machine realm.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dialect/dirlock/staleness.h"
#include "layout/layout.h"

namespace lockkeeper::dialect::dirlock {

inline constexpr std::string_view kKind = "dirlock";

class DirLockLayout final : public layout::Layout {
 public:
  // Option `stale_timeout`: minutes after which another's lock blocks nobody; default 20.
  static Result<std::unique_ptr<layout::Layout>> make(const layout::LayoutEntry& entry,
                                                      const layout::LayoutContext& context);

  // For a path: one stat for each folder above it. Lists the root only to find locks below a
  // folder.
  Result<layout::ScanResult> scan(const layout::Interest& interest) override;
  Result<layout::ScanResult> scan_source(const std::string& source) override;
  // Creation is atomic: the second process fails.
  bool scan_after_publishing() const override { return false; }

  // Other tools check a pid, so only a lease that is bound to a process by its pid can be shown.
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

 private:
  DirLockLayout(const layout::LayoutEntry& entry, const layout::LayoutContext& context,
                std::int64_t stale_timeout_ms)
      : Layout(entry), context_(context), stale_timeout_ms_(stale_timeout_ms) {}

  // What to look for by name, and whether to read everything.
  struct Wanted {
    std::set<std::string> names;
    bool everything = false;
  };
  Wanted wanted(const layout::Interest& interest) const;
  void want_path(const key::Resource& resource, Wanted& wanted) const;
  bool ignored(const std::string& name) const;
  Result<void> look_at_one(const Folder& folder, const std::string& name, bool by_name,
                           const layout::Interest& interest, layout::ScanResult& seen);
  Result<std::optional<FoundLock>> read_settled(const Folder& folder, const std::string& name,
                                                int tries_max) const;
  bool place_is_free(const core::Lease& lease, const std::string& artefact) const;
  Result<std::optional<key::Resource>> resource_of(const std::string& cwd) const;
  const std::vector<std::string>& roots() const;
  std::string folder_in(const std::string& root, const core::Lease& lease) const;
  std::string folder_of(const core::Lease& lease, const std::string& artefact) const;
  std::optional<std::string> shown_as(const core::Lease& lease) const;
  LockRecord record_of(const core::Lease& lease, const std::string& artefact) const;

  const layout::LayoutContext context_;
  const std::int64_t stale_timeout_ms_;
  mutable std::vector<std::string> roots_;  // of the worktrees; empty until needed
};

// Minutes as text: "20", "0.5". usage if it is not a number, or below 0.
Result<std::int64_t> parse_minutes(std::string_view text);

}  // namespace lockkeeper::dialect::dirlock
