// Install and uninstall: first a plan, which reads and writes nothing, then its carrying out.
//
// REQUIRES: one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "install/clients.h"
#include "install/machine.h"
#include "install/piece.h"
#include "install/program.h"

namespace lockkeeper::install {

struct Change {
  std::string file;      // as the client names it
  std::string target;    // where it is written: `file`, or what its symlink leads to
  FileText before = {};  // nullopt: there is no file yet
  FileText after = {};   // nullopt: it is deleted
  unsigned mode = 0600;
  unsigned folder_mode = 0700;  // of folders that are missing

  // For the record.
  FileText original = {};               // what it was before us
  std::vector<std::string> slots = {};  // pieces of ours in it afterwards; empty: it is forgotten
  bool as_we_left_it = false;           // `before` is what we wrote: no backup is needed
};

struct Plan {
  std::vector<Change> changes;
  std::vector<std::string> notes;          // what the user should know, each a sentence or two
  std::vector<std::string> warnings = {};  // the same, if others are concerned
  // Files that have nothing of ours any more, though we did not take it out.
  std::vector<std::string> forgotten;
  // Copied before anything else: no hook may name a program that is not there.
  std::optional<ProgramRequest> program = {};
  // The program that our git hooks start (git/hooks_folder.h), which agents' shells and
  // `install git` name; empty: leave them alone.
  std::string git_hooks_start = {};

  bool is_nothing() const { return changes.empty() && forgotten.empty() && !program; }
};

struct Request {
  std::vector<Client> clients;
  Scope scope = Scope::kUser;
  std::string program;           // what the hooks start: absolute; with kShared, a name on PATH
  std::vector<Piece> more = {};  // in nobody's file but ours (own_pieces.h)
};

// Errors: invalid_config (a file is not what its client would read, or leads elsewhere),
// operation_not_permitted (a plugin of ours is enabled; a file with a path of this machine would be
// committed), usage (no repository), invalid_input (the program).
Result<Plan> plan_install(const Machine& machine, const Request& request);

// Takes the same clients out of the same files. A file that is as we left it becomes what it was
// before us, byte for byte. Of any other only our entries are removed.
Result<Plan> plan_uninstall(const Machine& machine, const Request& request);

struct Done {
  std::vector<std::string> backups;  // where the files are as they were before
};

// Writes all files, each in one step, or none: if one fails, those before it are restored. With the
// last hook the copy of the program goes, too, and so do empty folders that we created. failed: a
// file is not what it was when the plan was made.
Result<Done> carry_out(const Machine& machine, const Plan& plan);

// "--- a/FILE", "+++ b/FILE" and the lines that change, with three lines around them. What others
// wrote cannot move a cursor. `line_ends`: a '\r' at the end of a line is shown, too.
std::string diff_of(const Change& change, bool line_ends = false);

}  // namespace lockkeeper::install
