#include "bench/child.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "base/assert.h"

extern char** environ;

namespace lockkeeper::bench {
namespace {

constexpr int kReadyTries = 400;
constexpr auto kReadyPause = std::chrono::milliseconds(50);
constexpr int kStopTries = 200;
constexpr auto kStopPause = std::chrono::milliseconds(25);

std::vector<char*> pointers_to(const Words& argv) {
  std::vector<char*> pointers;
  for (const std::string& word : argv) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

int as_shell_has_it(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

[[noreturn]] void become(const Server::Launch& launch) {
  const Fd log(::open(launch.log.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0644));
  const Fd null(::open("/dev/null", O_RDONLY));
  ::dup2(null.get(), STDIN_FILENO);
  ::dup2(log.get(), STDOUT_FILENO);
  ::dup2(log.get(), STDERR_FILENO);
  if (launch.user) {
    const bool changed = ::setgroups(0, nullptr) == 0 && ::setgid(launch.user->gid) == 0 &&
                         ::setuid(launch.user->uid) == 0;
    if (!changed) ::_exit(126);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // the change of user has cleared it
  }
  for (const auto& [name, value] : launch.env) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv = pointers_to(launch.argv);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

}  // namespace

pid_t fork_child(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  LOCKKEEPER_ASSERT(pid >= 0);
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it died before we asked
  body();
  ::_exit(0);
}

int join(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return as_shell_has_it(status);
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0 ? name : "";
  const char* path = std::getenv("PATH");
  std::string folders = path == nullptr ? "/usr/bin:/bin" : path;
  // Servers of Debian live where only root looks.
  folders += ":/usr/sbin:/sbin";
  for (std::size_t from = 0; from <= folders.size();) {
    const std::size_t to = std::min(folders.find(':', from), folders.size());
    const std::string candidate = folders.substr(from, to - from) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    from = to + 1;
  }
  return "";
}

int run_quietly(const Words& argv) {
  pid_t pid = 0;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> pointers = pointers_to(argv);
  const int failed = ::posix_spawnp(&pid, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return failed != 0 ? 127 : join(pid);
}

std::string first_line(const Words& argv) {
  int ends[2];
  LOCKKEEPER_ASSERT(::pipe2(ends, O_CLOEXEC) == 0);
  const Fd in(ends[0]);
  Fd out(ends[1]);
  const pid_t pid = fork_child([&] {
    const Fd null(::open("/dev/null", O_WRONLY));
    ::dup2(out.get(), STDOUT_FILENO);
    ::dup2(null.get(), STDERR_FILENO);
    std::vector<char*> pointers = pointers_to(argv);
    ::execvp(pointers[0], pointers.data());
    ::_exit(127);
  });
  out.reset();
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(in.get(), buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  if (join(pid) != 0) return "";
  return text.substr(0, text.find('\n'));
}

std::optional<User> plain_user() {
  if (::geteuid() != 0) return std::nullopt;
  for (const char* name : {"postgres", "nobody"}) {
    if (const passwd* entry = ::getpwnam(name)) return User{entry->pw_uid, entry->pw_gid};
  }
  return User{65534, 65534};
}

Server::Server(const Launch& launch)
    : pid_(fork_child([&] { become(launch); })), stop_signal_(launch.stop_signal) {}

Server::~Server() {
  if (ended()) return;
  ::kill(pid_, stop_signal_);
  for (int i = 0; i < kStopTries; ++i) {
    if (ended()) return;
    std::this_thread::sleep_for(kStopPause);
  }
  ::kill(pid_, SIGKILL);
  join(pid_);
}

bool Server::ended() {
  if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
  return pid_ <= 0;
}

bool Server::wait_until(const std::function<bool()>& ready) {
  for (int i = 0; i < kReadyTries && !ended(); ++i) {
    if (ready()) return true;
    std::this_thread::sleep_for(kReadyPause);
  }
  return false;
}

void Server::wait_until_ended() {
  if (ended()) return;
  join(pid_);
  pid_ = -1;
}

Piped::Piped(const Words& argv) {
  int down[2];
  int up[2];
  LOCKKEEPER_ASSERT(::pipe2(down, O_CLOEXEC) == 0 && ::pipe2(up, O_CLOEXEC) == 0);
  to_ = Fd(down[1]);
  from_ = Fd(up[0]);
  const Fd in(down[0]);
  const Fd out(up[1]);
  pid_ = fork_child([&] {
    const Fd null(::open("/dev/null", O_WRONLY));
    ::dup2(in.get(), STDIN_FILENO);
    ::dup2(out.get(), STDOUT_FILENO);
    ::dup2(null.get(), STDERR_FILENO);
    std::vector<char*> pointers = pointers_to(argv);
    ::execvp(pointers[0], pointers.data());
    ::_exit(127);
  });
}

Piped::~Piped() {
  to_.reset();
  join(pid_);
}

void Piped::write_all(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t n = ::write(to_.get(), text.data(), text.size());
    LOCKKEEPER_ASSERT(n > 0);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::string Piped::hear() const {
  char buffer[1 << 16];
  const ssize_t n = ::read(from_.get(), buffer, sizeof buffer);
  return n <= 0 ? "" : std::string(buffer, static_cast<std::size_t>(n));
}

Fd connect_unix(const std::string& path) {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    fd.reset();
  }
  return fd;
}

Fd connect_loopback(int port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    fd.reset();
  }
  return fd;
}

int free_port() {
  const Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  LOCKKEEPER_ASSERT(::bind(fd.get(), generic, size) == 0);
  LOCKKEEPER_ASSERT(::getsockname(fd.get(), generic, &size) == 0);
  return ntohs(address.sin_port);
}

double resident_kib(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  double size = 0;
  double resident = 0;
  file >> size >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1024;
}

void allow_descriptors(int count) {
  constexpr int kOthers = 100;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const auto wanted = static_cast<rlim_t>(count + kOthers);
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, wanted));
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace lockkeeper::bench
