// A repository with two layouts, the mkdir locks of `spec/` and the workflow locks of `out/`, and
// the other tools' own steps on them: what a script of their documents does, with no part of ours.
#pragma once

#include <string>
#include <vector>

#include "chaos/faults/fault_stage.h"
#include "support/stage.h"

namespace lockkeeper::layouts {

using faults::code_of;
using stage::Answer;
using stage::eventually;
using stage::exists;
using stage::Json;
using stage::kPatienceMs;
using stage::Launch;
using stage::pause_ms;
using stage::Process;
using stage::read_text;
using stage::Stage;
using stage::Words;
using stage::write_text;

// As the documents write a time: so many seconds from now, UTC.
std::string iso_time(int seconds_from_now);

class LayoutStage : public faults::FaultStage {
 public:
  explicit LayoutStage(Git git = Git::kYes);

  // `layout add`, of both; gives nothing back: see ids().
  void add_both();
  std::string add(const std::string& kind, const std::string& root, const Words& more = {});

  // mkdir: NAME is the path with its slashes as "__".
  std::string mkdir_lock(const std::string& name) const;
  // mkdir, then the owner file. False: it was there.
  bool bash_takes(const std::string& name, const std::string& agent = "bash") const;
  void bash_drops(const std::string& name) const;
  // Everything in .locks/files, sorted.
  std::vector<std::string> mkdir_locks() const;

  // workflow: one file of that name, written whole.
  std::string workflow_lock(const std::string& agent) const;
  void workflow_takes(const std::string& agent, const std::vector<std::string>& files,
                      const std::vector<std::string>& folders = {}, int seconds = 3600) const;
  void workflow_drops(const std::string& agent) const;
  // The lock files that show leases of ours: agent and files of each.
  std::vector<Json> workflow_mirrors() const;
  std::vector<std::string> workflow_names() const;

  // Traces of half-done writing in either folder: whatever begins with a dot.
  std::vector<std::string> traces() const;

  // Lines of the history with this word.
  std::vector<Json> events(const std::string& what);
  // The one conflict of a refusal; null, and a failed test, if there is not exactly one.
  static Json conflict(const Answer& answer);
  // One row of `layout list`.
  Json layout(const std::string& kind);
  void healthy() { expect(0, "", {"doctor"}); }
};

}  // namespace lockkeeper::layouts
