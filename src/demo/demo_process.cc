#include "demo/demo_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace lockkeeper::demo {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

}  // namespace

Result<DemoProcess> DemoProcess::start(const std::vector<std::string>& argv,
                                       const std::string& folder,
                                       const std::vector<std::string>& environment) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(errno_error(errno, "pipe", Code::kFailed));
  Fd in(ends[0]);
  const Fd out(ends[1]);
  std::vector<char*> arguments = pointers(argv);
  std::vector<char*> variables = pointers(environment);
  const pid_t pid = ::fork();
  if (pid < 0) return fail(errno_error(errno, "fork", Code::kFailed));
  if (pid == 0) {
    ::setpgid(0, 0);
    const bool ready = ::chdir(folder.c_str()) == 0 && ::dup2(out.get(), STDOUT_FILENO) >= 0 &&
                       ::dup2(out.get(), STDERR_FILENO) >= 0;
    if (ready) ::execvpe(arguments[0], arguments.data(), variables.data());
    ::_exit(127);
  }
  ::setpgid(pid, pid);  // in both, so that it holds whoever comes first
  return DemoProcess(pid, std::move(in));
}

DemoProcess::DemoProcess(DemoProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), output_(std::move(other.output_)) {}

DemoProcess::~DemoProcess() {
  if (pid_ <= 0) return;
  kill();
  ::waitpid(pid_, nullptr, 0);
}

void DemoProcess::kill() {
  if (pid_ > 0) ::kill(-pid_, SIGKILL);
}

Finished DemoProcess::finish() {
  Finished finished;
  char buffer[4096];
  for (;;) {
    const ssize_t n = ::read(output_.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    finished.output.append(buffer, static_cast<std::size_t>(n));
  }
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  finished.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return finished;
}

}  // namespace lockkeeper::demo
