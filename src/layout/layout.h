// A layout: the files in which we see another tool's locks and it sees ours. A kind (mkdir,
// workflow, coordmcp, dirlock; src/dialect/) knows one tool's files: their names, their content,
// the step by which they appear. Scan and Publisher decide, in the same way for all kinds, what is
// ours, what is another tool's, and when to write.
//
// A *source* is one thing on disk that one stat covers: a lock folder, a JSON file. An *artefact*
// is one lock in it: the source itself, or `source#entry` where one file holds many.
//
// Thread safety: none; a Layout belongs to one command.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/foreign.h"
#include "layout/entry.h"
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

// What to scan.
struct Interest {
  const std::vector<key::Resource>* wanted = nullptr;  // only what could overlap these; null: all
  // True: this source was read before with this stamp, so its locks are known.
  std::function<bool(const std::string& source, std::uint64_t stamp)> known;
  // Set if another scan follows before the answer, so that this one can omit a stat of each source:
  // the stamp with which a source of that name was read before.
  std::function<std::optional<std::uint64_t>(const std::string& source)> as_before;
};

// One lock as it is on disk, ours or another tool's.
struct Sighting {
  core::ForeignLock lock;  // layout and path are filled in; claims exclusive
  std::string identity;    // as Layout::identity() of the lease it would mirror
};

struct Source {
  std::string name;
  std::uint64_t stamp = 0;  // device, inode, size, mtime: changes when the source does
  bool fresh = false;       // younger than 2 s: the next change might not show in the stamp
};

struct ScanResult {
  std::vector<Source> sources;  // those that are there, of what was scanned
  // Of the sources that were not known. A lock past its own end blocks nobody and is left out.
  std::vector<Sighting> sightings;
  // Locks past their own end by the wall clock. A lease of ours still lives by the table's clock,
  // and its artefact must not be taken as removed (I6).
  struct Over {
    std::string artefact;
    std::string identity;
  };
  std::vector<Over> over;
  std::vector<std::string> absent;  // searched by name and not there
  std::vector<std::string> notes;   // what was skipped, and why: for `layout list`
  bool complete = false;            // everything was scanned: what is not listed is not there
  // Is that artefact there with that identity? is_over: past its end. shows: past its end or not.
  bool is_over(const std::string& artefact, const std::string& identity) const;
  bool shows(const std::string& artefact, const std::string& identity) const;
  const Sighting* find(const std::string& artefact) const;  // null: not seen
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
  // The lease was renewed: shows its new end and touches the file. Does nothing if it is not ours.
  virtual Result<void> refresh(const core::Lease& lease, const std::string& artefact) = 0;
  // Removes it if it has this identity. "" removes whatever is there: only if a person said so.
  virtual Result<Removed> remove(const std::string& artefact, const std::string& identity) = 0;

 private:
  const LayoutEntry entry_;
  const std::string id_;
};

// Makes a layout of one kind. invalid_input: bad options.
using LayoutMaker =
    std::function<Result<std::unique_ptr<Layout>>(const LayoutEntry&, const LayoutContext&)>;
using LayoutKinds = std::map<std::string, LayoutMaker>;

// Of an artefact "source#entry".
std::string source_of(const std::string& artefact);

}  // namespace lockkeeper::layout
