// A layout: the files through which another tool's locks are seen and ours are shown to it. A kind
// (mkdir, workflow, coordmcp, dirlock; src/dialect/) knows one tool's files: their names, their
// content, the step by which they appear. What is ours, what is another's and when to write is
// decided the same for all kinds, by Scan and Publisher.
//
// A *source* is one thing on disk that is looked at by one stat: a lock folder, a JSON file. An
// *artefact* is one lock in it: the source itself, or `source#entry` where one file holds many.
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

// What a kind needs to know of where it is. All must outlive the layout.
struct LayoutContext {
  const realm::Realm& realm;
  const realm::Settings& settings;
  const realm::Environment& env;
  const Clock& clock;
};

// What a look is for.
struct Interest {
  const std::vector<key::Resource>* wanted = nullptr;  // what could overlap these; null: everything
  // True: this source was read before as it is now, and its locks are known.
  std::function<bool(const std::string& source, std::uint64_t stamp)> known;
  // Set where all is looked at once more before the answer, so that a stat of each source can be
  // spared now: the stamp with which a source of that name was read before.
  std::function<std::optional<std::uint64_t>(const std::string& source)> as_before;
};

// One lock as it stands on disk, ours or another's.
struct Sighting {
  core::ForeignLock lock;  // layout and path are filled in; claims exclusive
  std::string identity;    // as Layout::identity() of the lease it would show
};

struct Source {
  std::string name;
  std::uint64_t stamp = 0;  // device, inode, size, mtime: changes when the source does
  bool fresh = false;       // younger than 2 s: the next change might not show in the stamp
};

struct ScanResult {
  std::vector<Source> sources;      // those that are there, of what was looked at
  std::vector<Sighting> sightings;  // of the sources that were not known; what is past its own end
                                    // blocks nobody and is left out
  // What is past its own end by the wall clock. Ours lives by the table's clock all the same, and
  // must not be taken as removed (I6).
  struct Over {
    std::string artefact;
    std::string identity;
  };
  std::vector<Over> over;
  std::vector<std::string> absent;  // looked for by name and not there
  std::vector<std::string> notes;   // what was passed over, and why: for `layout list`
  bool complete = false;            // everything was looked at: what is not listed is not there
  // Is that artefact there with that identity? Past its end; in time or past its end.
  bool is_over(const std::string& artefact, const std::string& identity) const;
  bool shows(const std::string& artefact, const std::string& identity) const;
  const Sighting* find(const std::string& artefact) const;  // null: not seen
};

// How a lease is shown: the artefacts, and the resources that cannot be.
struct Artefacts {
  std::vector<std::string> names;
  std::vector<std::string> unmirrored;
};

// What a layout cannot show of a lease: the tool behind it does not see these.
struct Unmirrored {
  std::string layout;
  std::vector<std::string> resources;
};

enum class Published { kDone, kTaken };         // kTaken: another's is there
enum class Removed { kDone, kGone, kForeign };  // kForeign: it is another's now, and left alone

// What publish() may touch, as the table has it.
struct PublishTerms {
  std::vector<std::string> replaces;  // identities of ours that may make way
  std::vector<std::string> along;     // the lease's other artefacts that may be written with it
};

class Layout {
 public:
  explicit Layout(LayoutEntry entry) : entry_(std::move(entry)), id_(entry_.id()) {}
  virtual ~Layout() = default;
  const LayoutEntry& entry() const { return entry_; }
  const std::string& id() const { return id_; }
  // A source that a person told us to pass over (`layout ignore`), by its absolute path or its name
  // in the layout: a kind must not read it.
  bool ignores(const std::string& source) const;

  // Looks. A root that is not there is an empty one. What cannot be read or parsed is
  // store_unavailable, naming the file and `lockkeeper layout ignore`: never "no locks" (I10).
  virtual Result<ScanResult> scan(const Interest& interest) = 0;
  // One source again, in full.
  virtual Result<ScanResult> scan_source(const std::string& source) = 0;
  // Must it be looked at once more after ours was published? (Their step is check, then write.)
  virtual bool scan_after_publishing() const = 0;

  // How this lease is to be shown. A lease taken through this layout (lease.layout == id()) has
  // lease.artefact among the artefacts.
  virtual Artefacts artefacts(const core::Lease& lease) const = 0;
  // Tells our artefact from another's of the same name, from what stands in it: who and since when.
  virtual std::string identity(const core::Lease& lease, const std::string& artefact) const = 0;

  // Writing is in two steps, so that after a crash "not yet published" can be told from "removed by
  // another": prepare() writes beside, publish() makes it appear whole, in one step, and never
  // replaces anything but an artefact with one of the identities in `terms`.
  virtual Result<void> prepare(const core::Lease& lease, const std::string& artefact) = 0;
  virtual Result<Published> publish(const core::Lease& lease, const std::string& artefact,
                                    const PublishTerms& terms) = 0;
  virtual Result<bool> is_prepared(const core::LeaseId& lease, const std::string& artefact) = 0;
  virtual Result<void> discard(const core::LeaseId& lease, const std::string& artefact) = 0;
  // The lease was renewed: its new end is shown, and the file is younger. Nothing if it is not
  // ours.
  virtual Result<void> refresh(const core::Lease& lease, const std::string& artefact) = 0;
  // Removes it if it has this identity. "" removes whatever is there: on a person's word alone.
  virtual Result<Removed> remove(const std::string& artefact, const std::string& identity) = 0;

 private:
  const LayoutEntry entry_;
  const std::string id_;
};

// Makes a layout of one kind; invalid_input for options that make no sense.
using LayoutMaker =
    std::function<Result<std::unique_ptr<Layout>>(const LayoutEntry&, const LayoutContext&)>;
using LayoutKinds = std::map<std::string, LayoutMaker>;

// Of an artefact "source#entry".
std::string source_of(const std::string& artefact);

}  // namespace lockkeeper::layout
