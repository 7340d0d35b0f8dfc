// A layout: the files in which we see another tool's locks and it sees ours. A kind (mkdir,
// workflow, coordmcp, dirlock; src/dialect/) knows one tool's files: their names, their content,
// the step by which they appear. Scan and Publisher decide, in the same way for all kinds, what is
// ours, what is another tool's, and when to write.
//
// Thread safety: none; a Layout belongs to one command.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/folder.h"
#include "layout/entry.h"
#include "layout/sighting.h"
#include "realm/config.h"
#include "realm/environment.h"
#include "realm/realm.h"

namespace lockkeeper::layout {

// What a kind needs to know about its realm. All must outlive the layout.
struct LayoutContext {
  const realm::Realm& realm;
  const realm::Settings& settings;
  const realm::Environment& env;
  const Clock& clock;
};

// How a lease is mirrored: the artefacts, and the resources that cannot be mirrored.
struct Artefacts {
  std::vector<std::string> names;
  std::vector<std::string> unmirrored;
};

// What a layout cannot mirror of a lease: its tool does not see these resources.
struct Unmirrored {
  std::string layout;
  std::vector<std::string> resources;
};

enum class Published { kDone, kTaken };         // kTaken: another tool's artefact is there
enum class Removed { kDone, kGone, kForeign };  // kForeign: now another tool's; left alone

// What publish() may touch, according to the table.
struct PublishTerms {
  std::vector<std::string> replaces;  // identities of ours that may be replaced
  std::vector<std::string> along;     // the lease's other artefacts that may be written with it
};

// No step between preparing and publishing takes that long. A process that does prepares again.
inline constexpr std::int64_t kLeftAfterMs = 60'000;

class Layout {
 public:
  explicit Layout(LayoutEntry entry) : entry_(std::move(entry)), id_(entry_.id()) {}
  virtual ~Layout() = default;
  const LayoutEntry& entry() const { return entry_; }
  const std::string& id() const { return id_; }
  // Did a person tell us to skip this source (`layout ignore`), by its absolute path or its name in
  // the layout? A kind must not read it.
  bool ignores(const std::string& source) const;

  // A missing root counts as empty. store_unavailable, naming the file and `lockkeeper layout
  // ignore`: something cannot be read or parsed, which never means "no locks" (I10).
  virtual Result<ScanResult> scan(const Interest& interest) = 0;
  // One source again, in full.
  virtual Result<ScanResult> scan_source(const std::string& source) = 0;
  // Is the source still exactly what was scanned last? Costs no more than reading it. False: cannot
  // tell, so scan it again. For sources with many artefacts.
  virtual Result<bool> is_as_scanned(const std::string& /*source*/) { return false; }
  // Must it be scanned again after we published? (True if the tool checks first and then writes.)
  virtual bool scan_after_publishing() const = 0;

  // How to mirror this lease. If it was taken through this layout (lease.layout == id()),
  // lease.artefact is among the artefacts.
  virtual Artefacts artefacts(const core::Lease& lease) const = 0;
  // Tells our artefact from another tool's of the same name by its content: who, and since when.
  virtual std::string identity(const core::Lease& lease, const std::string& artefact) const = 0;

  // Writing takes two steps, so that after a crash "not yet published" can be told from "removed by
  // another tool". prepare() writes a hidden copy. publish() makes it appear in one step, and
  // replaces nothing but an artefact with one of the identities in `terms`.
  virtual Result<void> prepare(const core::Lease& lease, const std::string& artefact) = 0;
  virtual Result<Published> publish(const core::Lease& lease, const std::string& artefact,
                                    const PublishTerms& terms) = 0;
  virtual Result<bool> is_prepared(const core::LeaseId& lease, const std::string& artefact) = 0;
  virtual Result<void> discard(const core::LeaseId& lease, const std::string& artefact) = 0;
  // Removes what was prepared, or set aside, and untouched for this long: its process died before
  // the table knew of it.
  virtual Result<void> sweep(std::int64_t idle_ms) = 0;
  // The lease was renewed: shows its new end and touches the file. Does nothing if it is not ours.
  virtual Result<void> refresh(const core::Lease& lease, const std::string& artefact) = 0;
  // Removes it if it has this identity. "" removes whatever is there: only if a person said so.
  virtual Result<Removed> remove(const std::string& artefact, const std::string& identity) = 0;
  // Removes artefacts of one source, each as remove() does, with one write if the kind can.
  struct Unwanted {
    std::string artefact;
    std::string identity;
  };
  virtual Result<void> remove_together(const std::vector<Unwanted>& unwanted);

 protected:
  // For sweep(): removes what nobody has touched since then, of these names.
  static Result<void> remove_old(const Folder& folder, std::int64_t since_wall_ms,
                                 const std::function<bool(const std::string& name)>& ours);

 private:
  const LayoutEntry entry_;
  const std::string id_;
};

// Makes a layout of one kind. invalid_input: bad options.
using LayoutMaker =
    std::function<Result<std::unique_ptr<Layout>>(const LayoutEntry&, const LayoutContext&)>;
using LayoutKinds = std::map<std::string, LayoutMaker>;

}  // namespace lockkeeper::layout
