// The program: provides the clock, randomness, the environment and the streams, and wires the
// parts.
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "app/doctor.h"
#include "app/git_front.h"
#include "app/mcp.h"
#include "app/open.h"
#include "app/remote.h"
#include "app/serve.h"
#include "base/clock.h"
#include "base/random.h"
#include "cli/cli.h"
#include "cli/verbs/verbs.h"
#include "host/process.h"
#include "kv/memory/faulty_store.h"
#include "wiring/embedded_store.h"
#include "wiring/lock_service.h"

namespace lockkeeper {
namespace {

// A store with its fault injection.
class FaultedStore final : public kv::Store {
 public:
  FaultedStore(std::unique_ptr<kv::Store> inner, const kv::ProcessFault& fault)
      : inner_(std::move(inner)), faulty_(kv::with_process_fault(*inner_, fault)) {}
  Result<std::unique_ptr<kv::Txn>> begin(kv::Access access) override {
    return faulty_->begin(access);
  }
  kv::Budget budget() const override { return inner_->budget(); }
  kv::Epoch epoch() const override { return inner_->epoch(); }

 private:
  std::unique_ptr<kv::Store> inner_;
  std::unique_ptr<kv::FaultyStore> faulty_;
};

Result<std::unique_ptr<kv::Store>> open_store(const layout::StoreRequest& request,
                                              const service::Runtime& runtime) {
  LK_ASSIGN(std::unique_ptr<kv::Store> store, wiring::open_remembered(runtime, request));
  // A test seam: docs/internals/test-seams.md.
  const auto plan = realm::variable(runtime.env, "LOCKKEEPER_TEST_FAULT");
  if (!plan) return store;
  LK_ASSIGN(const kv::ProcessFault fault, kv::parse_process_fault(*plan));
  return std::make_unique<FaultedStore>(std::move(store), fault);
}

winsize terminal_size(int fd) {
  constexpr unsigned short kUsualColumns = 80;
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) size = {};
  if (size.ws_col == 0) size.ws_col = kUsualColumns;
  return size;
}

// A stream that is closed at the start would become the next file that is opened, and what is said
// would go into that file. A folder takes its place: neither read from nor written to.
void occupy_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    const int opened = ::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened >= 0 && opened != fd) ::close(opened);
  }
}

// A file that would exceed `ulimit -f` is an error, as a full disk is, and does not end us. The
// signal has a handler, because a program that we start must not inherit that it is ignored.
void survive_the_file_size_limit() {
  struct sigaction now{};
  if (::sigaction(SIGXFSZ, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return;
  now.sa_handler = [](int) {};
  ::sigaction(SIGXFSZ, &now, nullptr);
}

}  // namespace
}  // namespace lockkeeper

int main(int argc, char** argv) {
  using namespace lockkeeper;
  occupy_streams();
  survive_the_file_size_limit();
  const SystemClock clock;
  SystemRandom random;
  service::Runtime runtime;
  runtime.clock = &clock;
  runtime.random = &random;
  runtime.env = realm::process_environment();
  runtime.open_store = [&](const layout::StoreRequest& request) {
    return open_store(request, runtime);
  };
  runtime.layout_kinds = wiring::layout_kinds();
  runtime.make_service = wiring::make_service;
  runtime.git_front = [&](bool judges) { return app::make_git_front(runtime.env, judges); };
  const std::string program = host::own_program_path();
  runtime.relay_program = program;
  if (argc > 0 && app::is_git_front(argv[0])) return app::run_git_front(argc, argv, runtime);
  cli::CliEnvironment environment;
  environment.runtime = &runtime;
  environment.verbs = cli::all_verbs();
  environment.groups = cli::verb_groups();
  environment.aliases = cli::verb_aliases();
  environment.program = program.empty() ? "lockkeeper" : program;
  environment.table_possible = wiring::check_possible;
  environment.doctor = app::doctor;
  environment.mcp = app::serve_mcp;
  environment.serve = [](cli::VerbContext& context, const cli::ServeOptions& options) {
    return app::serve_hub(context, options);
  };
  environment.open = app::open_page;
  environment.try_hubs = [&](const realm::Login& login) { return app::try_hubs(login, random); };
  environment.relay = app::run_relay;
  environment.in_is_terminal = ::isatty(STDIN_FILENO) == 1;
  environment.out_is_terminal = ::isatty(STDOUT_FILENO) == 1;
  environment.err_is_terminal = ::isatty(STDERR_FILENO) == 1;
  if (environment.out_is_terminal || environment.err_is_terminal) {
    const winsize size = terminal_size(environment.out_is_terminal ? STDOUT_FILENO : STDERR_FILENO);
    environment.columns = size.ws_col;
    environment.rows = size.ws_row;
  }
  return cli::run_cli(argc, argv, environment);
}
