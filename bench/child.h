// Child processes of the benchmark. None outlives it: each dies with the process that started it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace lockkeeper::bench {

using Words = std::vector<std::string>;

// Forks; the child runs `body` and ends.
pid_t fork_child(const std::function<void()>& body);
// Waits for its end; the exit status, or 128 + signal.
int join(pid_t pid);

// Is there such a program in PATH (or, with a slash, at that place)? Its path, else empty.
std::string find_program(const std::string& name);

// Runs a program to its end with its output thrown away, started as cheaply as can be; the exit
// status.
int run_quietly(const Words& argv);
// The same with stdout collected, up to its first line: for versions.
std::string first_line(const Words& argv);

// Who a server runs as; some refuse root.
struct User {
  uid_t uid;
  gid_t gid;
};
// A user without privileges if we are root, else nobody else.
std::optional<User> plain_user();

// A server in the background: its output goes to a file, it is stopped with the object.
class Server {
 public:
  struct Launch {
    Words argv;
    std::string log;
    std::optional<User> user;
    std::map<std::string, std::string> env;  // in addition
    int stop_signal;
  };
  explicit Server(const Launch& launch);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Asks `ready` until it is, for some seconds; false if it never is or the server has ended.
  bool wait_until(const std::function<bool()>& ready);
  // For a program that ends by itself.
  void wait_until_ended();
  pid_t pid() const { return pid_; }

 private:
  bool ended();

  pid_t pid_;
  int stop_signal_;
};

// A program whose input and output are ours, what it complains of is thrown away; it is to end when
// its input does.
class Piped {
 public:
  explicit Piped(const Words& argv);
  ~Piped();
  Piped(const Piped&) = delete;
  Piped& operator=(const Piped&) = delete;

  pid_t pid() const { return pid_; }
  void write_all(std::string_view text) const;
  // What it says next; empty if it has ended.
  std::string hear() const;

 private:
  Fd to_;
  Fd from_;
  pid_t pid_ = -1;
};

// What a process has in memory.
double resident_kib(pid_t pid);
// Lets this process have as many descriptors, and those that it starts.
void allow_descriptors(int count);

// Connects to a Unix socket or to a port of the loopback interface; closed if nobody listens.
Fd connect_unix(const std::string& path);
Fd connect_loopback(int port);
// A port that was free a moment ago.
int free_port();

}  // namespace lockkeeper::bench
