// The record of a run while it is being made: written to the journal, and told to whoever watches.
#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "crew/run_folder.h"

namespace lockkeeper::crew {

// What happens, as it happens.
struct CrewEvent {
  enum class What {
    kWaiting,
    kStarted,
    kEnded,
    kAgain,
    kSkipped,
    kNote,
    kStopping,
    kFound,
    kMerged,
    kUnmerged,
  };
  What what;
  const AgentRecord* agent;  // null: about the run
  std::string text;
};

class RunLedger {
 public:
  // `run` and `clock` must outlive it.
  RunLedger(OpenRun& run, const Clock& clock, std::function<void(const CrewEvent&)> on_event)
      : run_(run), clock_(clock), on_event_(std::move(on_event)) {}

  RunRecord& record() { return run_.state.record; }
  const RunRecord& record() const { return run_.state.record; }
  std::int64_t now() const { return clock_.now().wall_ms; }
  std::int64_t mono() const { return clock_.now().mono_ms; }

  void tell(CrewEvent::What what, const AgentRecord* agent, std::string text) const;
  // Something wrong with the run as a whole; each problem counts once.
  void problem(const std::string& text);
  void wait(AgentRecord& agent, Wait::For what, const std::string& on);
  void end_wait(AgentRecord& agent) const { crew::end_wait(agent, now()); }

  // What the record says may happen once it is written. False: it cannot be written, and failed().
  bool write(const AgentRecord& agent);
  void fail_with(const Error& error);
  bool failed() const { return failed_; }  // no more agents may be started

 private:
  OpenRun& run_;
  const Clock& clock_;
  const std::function<void(const CrewEvent&)> on_event_;
  bool failed_ = false;
};

}  // namespace lockkeeper::crew
