#include "support/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

namespace lockkeeper::stage {
namespace {

constexpr int kAppend = O_WRONLY | O_CREAT | O_APPEND;

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

// In the child, before exec: only what is safe after fork.
void place(const std::string& path, int flags, int at) {
  const int fd = ::open(path.c_str(), flags, 0600);
  if (fd < 0) ::_exit(125);
  if (fd == at) return;
  ::dup2(fd, at);
  ::close(fd);
}

void take_terminal(const char* name) {
  const int fd = ::open(name, O_RDWR);
  if (fd < 0 || ::ioctl(fd, TIOCSCTTY, 0) != 0) ::_exit(125);
  for (const int at : {0, 1, 2}) ::dup2(fd, at);
  if (fd > 2) ::close(fd);
}

[[noreturn]] void become(const Launch& launch, const char* terminal, char* const* argv,
                         char* const* env) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGCHLD, SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    ::signal(number, SIG_DFL);
  }
  for (const int number : launch.ignored) ::signal(number, SIG_IGN);
  if (launch.own_session || terminal != nullptr) {
    ::setsid();
  } else {
    ::setpgid(0, 0);
  }
  if (terminal != nullptr) {
    take_terminal(terminal);
  } else {
    place(launch.in, O_RDONLY, 0);
    place(launch.out, kAppend, 1);
    place(launch.err, kAppend, 2);
  }
  for (const auto& [at, path] : launch.files) place(path, kAppend, at);
  // Somebody else may not be able to reach it.
  const bool other = launch.uid != static_cast<uid_t>(-1) && std::strchr(argv[0], '/') != nullptr;
  const int program = other ? ::open(argv[0], O_PATH | O_CLOEXEC) : -1;
  const bool changed =
      launch.uid == static_cast<uid_t>(-1) || ::setresuid(launch.uid, launch.uid, launch.uid) == 0;
  if (launch.traced && ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(125);
  if (changed && ::chdir(launch.folder.c_str()) == 0) {
    if (program >= 0) ::execveat(program, "", argv, env, AT_EMPTY_PATH);
    ::execvpe(argv[0], argv, env);
  }
  ::_exit(125);
}

}  // namespace

Process::Process(Launch launch) : out_(launch.out), err_(launch.err) {
  std::string terminal;
  if (launch.terminal) {
    master_ = Fd(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    char name[128];
    EXPECT_TRUE(master_ && ::grantpt(master_.get()) == 0 && ::unlockpt(master_.get()) == 0 &&
                ::ptsname_r(master_.get(), name, sizeof name) == 0);
    ::fcntl(master_.get(), F_SETFL, O_NONBLOCK);
    terminal = name;
  }
  std::vector<std::string> variables;
  for (const auto& [name, value] : launch.env) variables.push_back(name + "=" + value);
  const std::vector<char*> argv = pointers(launch.argv);
  const std::vector<char*> env = pointers(variables);
  pid_ = ::fork();
  if (pid_ == 0) {
    become(launch, launch.terminal ? terminal.c_str() : nullptr, argv.data(), env.data());
  }
  EXPECT_GT(pid_, 0) << "fork: " << errno;
  // In both, so that it holds whoever comes first. The leader of a group could not begin a session.
  if (pid_ > 0 && !launch.own_session && !launch.terminal) ::setpgid(pid_, pid_);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      status_(other.status_),
      master_(std::move(other.master_)),
      shown_(std::move(other.shown_)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)) {}

Process::~Process() {
  if (pid_ <= 0) return;
  signal_group(SIGKILL);
  if (status_ < 0) reap(0);
}

bool Process::reap(int options) {
  if (status_ >= 0) return true;
  int status = 0;
  pid_t got = 0;
  do {
    got = ::waitpid(pid_, &status, options);
  } while (got < 0 && errno == EINTR);
  if (got != pid_) return false;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return true;
}

bool Process::running() {
  return !reap(WNOHANG);
}

int Process::wait(int patience_ms) {
  // The kernel tells of its end; looking again and again would cost a test more than the process.
  const Fd end(status_ < 0 ? static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)) : -1);
  pollfd wanted{end.get(), POLLIN, 0};
  if (end) ::poll(&wanted, 1, patience_ms);
  if (eventually([&] { return reap(WNOHANG); }, end ? 0 : patience_ms)) return status_;
  ADD_FAILURE() << "process " << pid_ << " did not end within " << patience_ms
                << " ms\nstdout: " << out() << "\nstderr: " << err();
  signal_group(SIGKILL);
  reap(0);
  return -1;
}

void Process::signal(int number) const {
  if (pid_ > 0 && status_ < 0) ::kill(pid_, number);
}

void Process::signal_group(int number) const {
  if (pid_ > 0) ::kill(-pid_, number);
}

void Process::type(const std::string& text) const {
  EXPECT_EQ(::write(master_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

std::string Process::out() const {
  if (!master_) return read_text(out_);
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(master_.get(), buffer, sizeof buffer)) > 0;) {
    shown_.append(buffer, static_cast<std::size_t>(n));
  }
  return shown_;
}

std::string Process::err() const {
  return read_text(err_);
}

bool eventually(const std::function<bool()>& holds, int patience_ms) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience_ms);
  for (int pause = 1;; pause = std::min(pause * 2, 20)) {
    if (holds()) return true;
    if (std::chrono::steady_clock::now() > until) return false;
    pause_ms(pause);
  }
}

void pause_ms(int ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  EXPECT_TRUE(file.good()) << path;
}

bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

char state_of(pid_t pid) {
  const std::string stat = read_text("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= stat.size() ? '\0' : stat[name_end + 2];
}

}  // namespace lockkeeper::stage
