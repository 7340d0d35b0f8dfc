#include "demo/demo_process.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "host/pipes.h"
#include "host/spawn.h"

namespace lockkeeper::demo {

Result<DemoProcess> DemoProcess::start(const std::vector<std::string>& argv,
                                       const std::string& folder,
                                       const std::vector<std::string>& environment) {
  LK_ASSIGN(host::Pipe pipe, host::make_pipe());
  host::Program program;
  program.argv = argv;
  program.folder = folder;
  program.environment = environment;
  program.out = program.err = pipe.writer.get();
  program.group = host::Program::Group::kOwn;
  LK_ASSIGN(const pid_t pid, host::start_program(program));
  return DemoProcess(pid, std::move(pipe.reader));
}

DemoProcess::DemoProcess(DemoProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), output_(std::move(other.output_)) {}

DemoProcess::~DemoProcess() {
  if (pid_ <= 0) return;
  kill();
  host::wait_for(pid_);
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
  finished.exit_status = host::wait_for(pid_).value_or(-1);
  pid_ = -1;
  return finished;
}

}  // namespace lockkeeper::demo
