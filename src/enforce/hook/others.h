// What others have in one worktree that is not committed: files that they wrote (traces), files
// that they are editing (claims), and changed files in what they hold on purpose.
//
// A session and its subagents are one party. So is whatever runs under `lockkeeper run` with the
// command that it was started by.
//
// REQUIRES: one thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/traces.h"
#include "enforce/hook/area.h"
#include "git/paths.h"
#include "git/reader.h"

namespace lockkeeper::enforce::hook {

struct Affected {
  std::string path;
  core::Owner owner;
  bool left = false;  // its writer's session is over
  friend bool operator==(const Affected&, const Affected&) = default;
};

class Others {
 public:
  Others(Session& session, Place& place) : session_(session), place_(place) {}

  Place& place() { return place_; }
  // Asks the table.
  Result<void> look();
  // REQUIRES: look() was asked
  bool anybody() const { return !traces_.empty() || !claims_.empty() || !held_.empty(); }

  // What of theirs the command would really touch. Asks git once for all that is in the area. If
  // git does not answer, everything that may be touched is.
  std::vector<Affected> affected(const shell::Danger& danger, const Area& area);
  // What of the asker's own it would touch. REQUIRES: affected() was asked
  std::vector<std::string> own_files(const shell::Danger& danger, const Area& area) const;

  // Null: git does not answer.
  const git::Reader* reader();
  bool is_mine(const core::Owner& owner) const;

 private:
  void ask_git(const Area& area);
  bool is_touched(const shell::Danger& danger, const std::string& path, bool claimed);
  bool is_ignored(const std::string& path);
  bool is_there(const std::string& path) const;
  void take_in(const core::Trace& trace, const std::vector<core::Owner>& gone);
  void take_in(const core::Lease& lease);
  bool is_taken_over(const core::Trace& trace) const;
  using Touched = std::map<std::string, Affected>;
  void add_held(const shell::Danger& danger, const Area& area, Touched& to);
  void drop_committed(Touched& touched);

  Session& session_;
  Place& place_;
  struct Work {
    std::vector<core::Written> theirs;
    std::int64_t since_wall_ms = 0;
  };
  std::vector<Affected> traces_;      // of others
  std::map<std::string, Work> work_;  // the same, by path
  std::vector<Affected> claims_;      // of others
  std::vector<core::Lease> held_;     // of others, on purpose
  std::vector<core::Lease> mine_;     // the asker's own, on purpose
  std::set<std::string> own_;         // traces of the asker's party
  std::set<std::string> asked_;       // paths that git was asked about
  std::map<std::string, git::ChangedPath> changed_;
  std::optional<git::Reader> reader_;
  bool reader_failed_ = false;
  std::optional<std::set<std::string>> committed_;  // of what was asked, what HEAD has
  bool git_failed_ = false;
};

}  // namespace lockkeeper::enforce::hook
