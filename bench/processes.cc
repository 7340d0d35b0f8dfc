// Whole processes: what a script or a hook pays.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/assert.h"
#include "bench.h"

extern char** environ;

namespace lockkeeper::bench {
namespace {

void run_process(const std::vector<std::string>& argv) {
  std::vector<char*> pointers;
  for (const std::string& word : argv) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  pid_t pid = 0;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0);
  LOCKKEEPER_ASSERT(
      ::posix_spawnp(&pid, pointers[0], &actions, nullptr, pointers.data(), environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  LOCKKEEPER_ASSERT(::waitpid(pid, &status, 0) == pid);
  LOCKKEEPER_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace

void processes(const Setup& setup, Report& report) {
  namespace fs = std::filesystem;
  if (!fs::exists(setup.lockkeeper)) {
    report.skipped.push_back("whole processes: " + setup.lockkeeper + " is not built");
    return;
  }
  const fs::path repository = fs::path(setup.folder) / "repository";
  fs::create_directories(repository / ".lockkeeper");
  fs::create_directories(repository / "src/api");
  fs::permissions(repository / ".lockkeeper", fs::perms::owner_all);
  std::ofstream(repository / "src/api/users.py") << "\n";
  std::ofstream(repository / "lockkeeper.toml") << "[store]\ndurability = \"process\"\n";
  const fs::path before = fs::current_path();
  fs::current_path(repository);
  const std::string path = "src/api/users.py";
  run_process({setup.lockkeeper, "acquire", "--agent", "bench", "src/api/routes.py"});
  report.rows.push_back({"/bin/true (process)", "-",
                         measure(setup.seconds, 100, [] { run_process({"/bin/true"}); }), ""});
  report.rows.push_back(
      {"lockkeeper check PATH (process)", "process",
       measure(setup.seconds, 100, [&] { run_process({setup.lockkeeper, "check", path}); }), ""});
  report.rows.push_back(
      {"lockkeeper acquire + release (two processes)", "process",
       measure(setup.seconds, 100,
               [&] {
                 run_process({setup.lockkeeper, "acquire", "--agent", "bench", path});
                 run_process({setup.lockkeeper, "release", "--agent", "bench", path});
               }),
       ""});
  fs::current_path(before);
}

}  // namespace lockkeeper::bench
