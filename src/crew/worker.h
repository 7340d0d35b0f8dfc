// One agent's attempts, as the foreman sees them: starts keepers, hears them, finds again those of
// a foreman that was killed, reads how they ended.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "crew/orders.h"
#include "crew/record/record.h"
#include "crew/run_files.h"
#include "host/process.h"

namespace lockkeeper::crew {

class Worker {
 public:
  enum class Phase {
    kIdle,     // nobody is at work on it
    kAsking,   // its keeper waits for the locks, or to be told to go
    kRunning,  // its command runs
    kLeaving,  // its keeper was told that it is not wanted now
  };

  // `agents`: where each agent has its folder. Both must outlive it. Idle it holds no descriptor.
  Worker(AgentRecord& record, const Folder& agents) : record_(record), agents_(agents) {}

  Phase phase() const { return phase_; }
  bool idle() const { return phase_ == Phase::kIdle; }
  pid_t keeper() const { return adopted_ ? 0 : pid_; }  // of ours
  int channel_fd() const { return channel_ ? channel_->fd() : -1; }
  bool adopted() const { return adopted_; }
  std::int64_t since_ms() const { return since_ms_; }  // when this phase began
  const AgentRecord& record() const { return record_; }

  // Makes the next attempt's folder and its orders.
  Result<void> prepare(Orders orders);
  // Starts a keeper for it: `program` and its words, then the folder. The keeper is a child of
  // this process.
  Result<void> start(const std::vector<std::string>& program, std::int64_t now_ms);

  // What its keeper says; nullopt: nothing.
  std::optional<Channel::Message> hear();
  // The answer to "ready". `scope` is what the agent is told.
  Result<void> go(const std::string& scope, std::int64_t now_ms);
  void send_away(std::int64_t now_ms);
  // The command is to end: asked, or killed with all of its group.
  void stop() const { ask(SIGTERM); }
  void kill_now() const { ask(SIGINT); }  // its keeper takes a second signal so
  void command_started(std::int64_t now_ms) { since_ms_ = now_ms; }

  // After a foreman's death: the last attempt that the journal has no end of. True: its keeper is
  // still there and is watched from now on; false: it is over, and finish() says how.
  Result<bool> find_again(std::int64_t now_ms);
  // Of one that was found again: has its keeper gone meanwhile?
  Result<bool> gone();

  // Its keeper is gone. How the attempt ended; nullopt: its command was never started. A keeper
  // that ends again and again before it said a word makes a failed attempt.
  Result<std::optional<Attempt>> finish();

  // The last line that the command printed, at most so many bytes.
  std::string last_line() const;

 private:
  Result<bool> read_mark(const Folder& attempt);
  void ask(int signal) const;

  AgentRecord& record_;
  const Folder& agents_;
  std::optional<Folder> attempt_;
  std::optional<Channel> channel_;
  std::optional<Attempt> said_;  // by its keeper, should the file be missing
  std::optional<std::string> refused_;
  Phase phase_ = Phase::kIdle;
  pid_t pid_ = 0;
  std::optional<host::ProcessId> found_;  // an adopted keeper
  std::int64_t marked_ms_ = 0;            // when the command was started, by its mark
  std::int64_t since_ms_ = 0;
  std::size_t number_ = 0;
  int silent_ends_ = 0;
  bool adopted_ = false;
};

}  // namespace lockkeeper::crew
