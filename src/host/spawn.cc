#include "host/spawn.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/assert.h"
#include "host/pipes.h"

// The process's environment (POSIX declares it nowhere).
extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace lockkeeper::host {
namespace {

constexpr int kThird = 3;
constexpr int kReportFrom = 10;  // above the descriptors that a program gets

std::vector<std::string> environment_of(const Program& program) {
  if (program.environment) return *program.environment;
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!program.variables.contains(text.substr(0, text.find('=')))) result.push_back(text);
  }
  for (const auto& [name, value] : program.variables) {
    result.push_back(name);
    result.back().append("=").append(value);
  }
  return result;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

// This runs in the new process. It makes only calls that are safe after a fork, because the parent
// may have threads.

bool place(int fd, int as) {
  if (fd == kInherited) return true;
  if (fd == kNothing) fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  return fd == as ? ::fcntl(fd, F_SETFD, 0) == 0 : ::dup2(fd, as) >= 0;
}

void as_in_a_fresh_program() {
  struct sigaction usual{};
  usual.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &usual, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool prepare(const Program& program, pid_t parent) {
  if (program.held != nullptr) {
    program.held->restore();
  } else {
    as_in_a_fresh_program();
  }
  if (program.group == Program::Group::kOwn) ::setpgid(0, 0);
  if (program.group == Program::Group::kSession) ::setsid();
  if (program.dies_with_us != 0 &&
      (::prctl(PR_SET_PDEATHSIG, program.dies_with_us) != 0 || ::getppid() != parent)) {
    return false;
  }
  return place(program.in, STDIN_FILENO) && place(program.out, STDOUT_FILENO) &&
         place(program.err, STDERR_FILENO) && place(program.third, kThird) &&
         (program.folder.empty() || ::chdir(program.folder.c_str()) == 0);
}

}  // namespace

Result<Started> start(const Program& program) {
  LOCKKEEPER_ASSERT(!program.argv.empty());
  LK_ASSIGN(Pipe made, make_pipe());
  Fd report(::fcntl(made.writer.get(), F_DUPFD_CLOEXEC, kReportFrom));
  if (!report) return fail(errno_error(errno, "a pipe", Code::kFailed));
  made.writer.reset();
  const std::vector<std::string> environment = environment_of(program);
  const std::vector<char*> arguments = pointers(program.argv);
  const std::vector<char*> variables = pointers(environment);
  const pid_t parent = ::getpid();
  Started started;
  started.pid = ::fork();
  if (started.pid < 0) return fail(errno_error(errno, "fork", Code::kFailed));
  if (started.pid == 0) {
    if (prepare(program, parent)) ::execvpe(arguments[0], arguments.data(), variables.data());
    const int why = errno;
    static_cast<void>(!::write(report.get(), &why, sizeof why));
    ::_exit(127);
  }
  // In both processes, so that it holds whichever comes first.
  if (program.group == Program::Group::kOwn) ::setpgid(started.pid, started.pid);
  report.reset();
  ssize_t n = 0;
  do {
    n = ::read(made.reader.get(), &started.exec_errno, sizeof started.exec_errno);
  } while (n < 0 && errno == EINTR);
  if (n <= 0) started.exec_errno = 0;
  if (started.exec_errno != 0) wait_for(started.pid);
  return started;
}

Result<pid_t> start_program(const Program& program) {
  LK_ASSIGN(const Started started, start(program));
  if (started.exec_errno == 0) return started.pid;
  return fail(
      errno_error(started.exec_errno, "cannot start " + program.argv.front(), Code::kFailed));
}

Result<Detached> Detached::leave() {
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  LK_ASSIGN(Pipe made, make_pipe());
  const pid_t child = ::fork();
  if (child < 0) return fail(errno_error(errno, "fork", Code::kFailed));
  if (child == 0) {
    made.reader.reset();
    return Detached(made.writer.release());
  }
  made.writer.reset();
  unsigned char status = 1;  // it died before it was ready
  ssize_t n = 0;
  do {
    n = ::read(made.reader.get(), &status, 1);
  } while (n < 0 && errno == EINTR);
  ::_exit(status);
}

void Detached::ready(int status) {
  const auto byte = static_cast<unsigned char>(status);
  static_cast<void>(!::write(fd_.get(), &byte, 1));
  fd_.reset();
}

int shell_status(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

std::optional<int> wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return std::nullopt;
  }
  return shell_status(status);
}

}  // namespace lockkeeper::host
