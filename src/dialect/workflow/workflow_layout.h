// The workflow protocol's lock files as a layout: root = OUTPUT, one source and one artefact,
// `locks/NAME`, for each regular file `locks/*.lock` that does not begin with a dot.
//
// A lease taken through this layout is `{agent}.lock`, any other one `{agent}.lk-{id}.lock`. While
// being written, a file is `.{name}.{lease}.tmp` (`.new` for a renewal); while being removed, it is
// `.{name}.{hash}.old`. Neither `*.lock` in a shell nor `find -name '*.lock'` matches these.
//
// Other tools write and then check, or check and then write. The first is exact with ours, the
// second is noticed at the next scan (docs/dialects/workflow.md).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/folder.h"
#include "dialect/workflow/lock_file.h"
#include "layout/layout.h"
#include "realm/resolve.h"

namespace lockkeeper::dialect::workflow {

inline constexpr const char* kKind = "workflow";
inline constexpr const char* kLocksFolder = "locks";
// The session of the `workflow run` whose OUTPUT it is: its agents' leases are {agent}.lock.
inline constexpr const char* kRunOption = "run";
// A younger file that cannot be read may be half written: it is read again for a while.
inline constexpr std::int64_t kFreshMs = 2'000;
inline constexpr int kHalfWrittenMs = 200;

// "locks/a.lock" of the file "a.lock", and back. A '#' would begin an entry, so it is escaped.
std::string artefact_of(std::string_view file_name);
std::string file_name_of(std::string_view artefact);

// The session of locks in this OUTPUT: its path, or the layout's id if that is too long.
std::string session_of(const layout::LayoutEntry& entry);

class WorkflowLayout final : public layout::Layout {
 public:
  // What `context` refers to must outlive it.
  WorkflowLayout(layout::LayoutEntry entry, const layout::LayoutContext& context)
      : Layout(std::move(entry)), context_(context) {}

  Result<layout::ScanResult> scan(const layout::Interest& interest) override;
  Result<layout::ScanResult> scan_source(const std::string& source) override;
  bool scan_after_publishing() const override { return true; }

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

  // One file, expired or not; nullopt if there is none. As in look(), an unreadable file is
  // store_unavailable.
  Result<std::optional<LockFile>> read(const std::string& name) const;
  // The names of all locks, sorted, and what else is in the folder.
  struct Names {
    std::vector<std::string> locks;
    std::vector<std::string> others;  // neither locks nor our traces
    std::vector<std::string> traces;  // of a step that was interrupted
    bool folder = false;              // does the folder exist?
  };
  Result<Names> names() const;
  // Removes the folder and what crashes left in it, if nothing else is there. True if it is gone.
  Result<bool> remove_folder();
  // The path of a file of this name, or of this artefact.
  static std::string identity_of(const LockFile& lock, const std::string& name);

 private:
  struct Entry {
    LockFile lock;
    FileStamp stamp;
  };
  Result<std::optional<Folder>> folder() const;
  Result<std::optional<Entry>> read_entry(const Folder& folder, const std::string& name) const;
  Result<std::optional<Entry>> try_entry(const Folder& folder, const std::string& name) const;
  Result<void> see(const Folder& folder, const std::string& name, const layout::Interest& interest,
                   layout::ScanResult& seen);
  Result<layout::Sighting> sighting(const std::string& name, const std::string& path,
                                    const Entry& entry, std::vector<std::string>& notes);
  Result<std::optional<key::Resource>> resource(const std::string& text, bool is_folder,
                                                std::vector<std::string>& notes);
  bool is_of_run(const core::Lease& lease) const;
  bool is_free(const std::string& name) const;
  std::string artefact_for(const core::Lease& lease) const;
  Result<bool> is_replaceable(const Folder& folder, const std::string& name,
                              const std::vector<std::string>& identities,
                              const std::string& as_name, bool expired_too) const;
  Result<layout::Published> replace(const Folder& folder, const std::string& prepared,
                                    const std::string& artefact,
                                    const std::vector<std::string>& ours, bool expired_too) const;
  Result<void> clear_trace(const Folder& folder, const std::string& name) const;
  std::int64_t now_ms() const { return context_.clock.now().wall_ms; }

  const layout::LayoutContext context_;
  std::optional<realm::Resolver> resolver_;  // made on first use
};

// For dialect/kinds.cc. invalid_input: it has no options.
Result<std::unique_ptr<layout::Layout>> make_layout(const layout::LayoutEntry& entry,
                                                    const layout::LayoutContext& context);

}  // namespace lockkeeper::dialect::workflow
