// What a layout's scan looks for, and what it finds.
//
// A *source* is one thing on disk that one stat covers: a lock folder, a JSON file. An *artefact*
// is one lock in it: the source itself, or `source#entry` where one file holds many.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/foreign.h"

namespace lockkeeper::layout {

// Of an artefact "source#entry".
std::string source_of(const std::string& artefact);

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
  bool readings = false;   // its claims are readings of one name; its holder meant one of them
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
  // Locks past their own end by the wall clock, and those on nothing here. A lease of ours still
  // lives by the table's clock, and its artefact must not be taken as removed (I6).
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

}  // namespace lockkeeper::layout
