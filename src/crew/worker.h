// One agent's attempts, as the foreman sees them: starts supervisors, listens to them, finds those
// of a foreman that was killed, and reads how they ended.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "crew/orders.h"
#include "crew/record/record.h"
#include "crew/record/run_files.h"
#include "host/process.h"

namespace lockkeeper::crew {

class Worker {
 public:
  enum class Phase {
    kIdle,     // no supervisor
    kAsking,   // its supervisor waits for the locks, or for "go"
    kRunning,  // its command runs
    kLeaving,  // its supervisor was sent away
  };

  // `agents`: the folder with one folder for each agent. Both must outlive it. An idle worker holds
  // no descriptor.
  Worker(AgentRecord& record, const Folder& agents) : record_(record), agents_(agents) {}

  Phase phase() const { return phase_; }
  bool idle() const { return phase_ == Phase::kIdle; }
  pid_t supervisor() const { return adopted_ ? 0 : pid_; }  // 0: none, or not our child
  int channel_fd() const { return channel_ ? channel_->fd() : -1; }
  bool adopted() const { return adopted_; }
  std::int64_t since_ms() const { return since_ms_; }  // when this phase began

  // Makes the next attempt's folder with its orders.
  Result<void> prepare(Orders orders);
  // Starts a supervisor for it as a child of this process: `program`, then the folder.
  Result<void> start(const std::vector<std::string>& program, std::int64_t now_ms);

  // The next message of its supervisor; nullopt: none.
  std::optional<Channel::Message> hear();
  // Answers "ready". `scope` is for the agent.
  Result<void> go(const std::string& scope, std::int64_t now_ms);
  void send_away(std::int64_t now_ms);
  // Asks the command to end, or kills it with all of its group.
  void stop() const { ask(SIGTERM); }
  void kill_now() const { ask(SIGINT); }  // a second signal makes its supervisor kill
  void command_started(std::int64_t now_ms) { since_ms_ = now_ms; }

  // For the open attempt of an earlier foreman. True: its supervisor lives and is watched from now
  // on. False: it is gone, and finish() says how the attempt ended.
  Result<bool> find_again(std::int64_t now_ms);
  // Has a supervisor that was found again ended meanwhile?
  Result<bool> gone();

  // How the attempt ended; nullopt: its command never started. A supervisor that repeatedly ends
  // without a message makes a failed attempt. REQUIRES: its supervisor is gone.
  Result<std::optional<Attempt>> finish();

  // The last line that the command printed, cut to a few thousand bytes.
  std::string last_line() const;

 private:
  Result<bool> read_mark(const Folder& attempt);
  void ask(int signal) const;

  AgentRecord& record_;
  const Folder& agents_;
  std::optional<Folder> attempt_;
  std::optional<Channel> channel_;
  std::optional<Attempt> said_;  // by its supervisor, in case the file is missing
  std::optional<std::string> refused_;
  Phase phase_ = Phase::kIdle;
  pid_t pid_ = 0;
  std::optional<host::ProcessId> found_;  // an adopted supervisor
  std::int64_t marked_ms_ = 0;            // when the command started, by its mark
  std::int64_t since_ms_ = 0;
  std::size_t number_ = 0;
  int silent_ends_ = 0;
  bool adopted_ = false;
};

}  // namespace lockkeeper::crew
