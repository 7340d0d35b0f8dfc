// Real processes for tests: started with exactly the environment, folder, terminal and descriptors
// that a test names, their words collected in files, nothing left behind.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace lockkeeper::stage {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// For what must happen, on a loaded machine.
inline constexpr int kPatienceMs = kSanitized ? 600'000 : 60'000;

// What a process is started with. It is the leader of a process group of its own.
struct Launch {
  std::vector<std::string> argv;
  std::string folder;
  std::map<std::string, std::string> env;  // all of it
  std::string out;                         // files; where stdout and stderr go
  std::string err;
  std::string in = "/dev/null";
  std::vector<std::pair<int, std::string>> files;  // further descriptors, opened for appending
  std::vector<int> ignored;                        // signals ignored from the start
  uid_t uid = static_cast<uid_t>(-1);              // who it runs as; -1: who we are
  bool own_session = false;                        // setsid: another terminal session
  bool terminal = false;  // a pseudo terminal of its own for stdin, out and err included
  bool traced = false;    // it does nothing until Process::step()
};

// A system call of a traced process that may change something outside it.
struct SystemCall {
  int number = 0;     // from 1, over these calls alone
  bool done = false;  // false: about to be made; true: just made
  std::string name;   // "pwrite64"
};

class Process {
 public:
  // Fails the test where it cannot be started.
  explicit Process(Launch launch);
  // Kills what is left of the group.
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  // Its exit status as the shell has it. Fails the test and kills it if that takes too long.
  int wait(int patience_ms = kPatienceMs);
  bool running();
  void signal(int number) const;
  void signal_group(int number) const;
  // Lets a traced process run to its end and gives its exit status, as wait(). It is killed, with
  // -9 and at once, where `go_on` says no. What it starts is not traced. REQUIRES: Launch::traced.
  int step(const std::function<bool(const SystemCall&)>& go_on);
  // What is typed at its terminal. REQUIRES: Launch::terminal.
  void type(const std::string& text) const;

  // At a terminal, out() is everything that was shown there.
  std::string out() const;
  std::string err() const;

 private:
  bool reap(int options);

  pid_t pid_ = -1;
  int status_ = -1;  // once it has ended
  Fd master_;
  mutable std::string shown_;  // at the terminal, so far
  std::string out_;
  std::string err_;
};

// True as soon as `holds` is; false if it is not within the time.
bool eventually(const std::function<bool()>& holds, int patience_ms = kPatienceMs);
void pause_ms(int ms);

std::string read_text(const std::string& path);  // empty if there is none
void write_text(const std::string& path, const std::string& text);
bool exists(const std::string& path);

// 'R', 'S', 'T', 'Z', … of /proc/PID/stat; 0 if there is no such process.
char state_of(pid_t pid);

}  // namespace lockkeeper::stage
