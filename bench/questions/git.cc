// What the commit guard costs: git with our hooks beside git with hooks that do nothing.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "bench/must.h"
#include "bench/peers/ours.h"
#include "bench/questions/inside.h"
#include "bench/questions/questions.h"
#include "enforce/hook/files.h"
#include "git/hooks_folder.h"

namespace lockkeeper::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kGitRunsLeast = 10;
constexpr int kRebased = 10;
constexpr int kTraces = 100;
constexpr const char* kGuarded = "git with the commit guard";
constexpr const char* kTrueHooks = "git with /bin/true as every hook";
constexpr const char* kNoHooks = "git without hooks";

// A repository with a lock table in which another agent has written some files.
class Repository {
 public:
  explicit Repository(const std::string& folder) : folder_(made(folder)), inside_(folder) {
    for (const char* name : {"GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"}) ::setenv(name, "b", 1);
    for (const char* name : {"GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"}) {
      ::setenv(name, "b@example.org", 1);
    }
    ::setenv("XDG_DATA_HOME", (folder_ + ".data").c_str(), 1);
    ::setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
    ::setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
    ::setenv("LOCKKEEPER_AGENT", "bench", 1);
    ::setenv("LOCKKEEPER_SESSION", "s", 1);
    run_well({"git", "init", "-q", "-b", "main"});
    write("file", 0);
    run_well({"git", "add", "-A"});
    run_well({"git", "commit", "-q", "-m", "first"});
  }

  void fill_table() const {
    Place place(folder_, Kept::kProcess);
    fs::create_directories(folder_ + "/written");
    const enforce::hook::Files disk(folder_);
    core::ReportRequest report;
    report.worktree = place.site().realm().root;
    for (int i = 0; i < kTraces; ++i) {
      const std::string path = "written/" + std::to_string(i) + ".c";
      std::ofstream(folder_ + "/" + path) << i;
      report.changed.push_back(disk.change(path));
    }
    must(service::Locks(place.site(), {"codex", "other"}).report(report));
  }
  // The folder of hooks that do nothing.
  std::string true_hooks() const {
    const std::string folder = folder_ + ".true";
    fs::create_directories(folder);
    for (const std::string_view name : git::hook_names(git::Hooks::kUsual)) {
      fs::create_symlink("/bin/true", folder + "/" + std::string(name));
    }
    return folder;
  }
  std::string our_hooks(const std::string& program) const {
    const auto env = realm::process_environment();
    must(git::make_hooks_folders(env, fs::canonical(program)));
    return must(git::hooks_folder(env, git::Hooks::kUsual));
  }
  void write(const std::string& name, int text) const {
    std::ofstream(folder_ + "/" + name) << text << "\n";
  }

 private:
  static std::string made(const std::string& folder) {
    fs::create_directories(folder);
    return fs::canonical(folder);
  }
  const std::string folder_;
  const Inside inside_;
};

Words git_with(const std::string& hooks, const Words& words) {
  Words argv = {"git", "-c", "core.hooksPath=" + hooks};
  argv.insert(argv.end(), words.begin(), words.end());
  return argv;
}

void add_rows(Answer& answer, std::vector<Samples> samples) {
  answer.rows.push_back({kGuarded, "process", std::move(samples[0]), ""});
  answer.rows.push_back({kTrueHooks, "-", std::move(samples[1]), "any guard"});
  answer.rows.push_back({kNoHooks, "-", std::move(samples[2]), "any hook"});
}

bool has_git(const Setup& setup, Answer& answer) {
  if (find_program("git").empty()) {
    answer.skipped.push_back("git: not installed");
    return false;
  }
  return has_program(setup, answer);
}

}  // namespace

void ask_git_commit(const Setup& setup, Answer& answer) {
  if (!has_git(setup, answer)) return;
  const Repository repository(setup.fresh("git-commit"));
  repository.fill_table();
  int count = 0;
  const auto commit = [&](const std::string& hooks) {
    return [&repository, &count, hooks] {
      repository.write("file", ++count);
      const Words argv = git_with(hooks, {"commit", "-q", "-m", "x", "--", "file"});
      return timed([&] { run_well(argv); });
    };
  };
  setup.progress->say("measuring");
  add_rows(answer, alternate({commit(repository.our_hooks(setup.lockkeeper)),
                              commit(repository.true_hooks()), commit("/dev/null")},
                             setup.seconds, kGitRunsLeast));
  answer.ratio(kGuarded, kTrueHooks, {.what = kTrueHooks});
}

void ask_git_rebase(const Setup& setup, Answer& answer) {
  if (!has_git(setup, answer)) return;
  const Repository repository(setup.fresh("git-rebase"));
  run_well({"git", "checkout", "-q", "-b", "topic"});
  for (int i = 0; i < kRebased; ++i) {
    repository.write("topic" + std::to_string(i), i);
    run_well({"git", "add", "-A"});
    run_well({"git", "commit", "-q", "-m", "topic"});
  }
  run_well({"git", "branch", "start"});
  run_well({"git", "checkout", "-q", "main"});
  repository.write("file", 1);
  run_well({"git", "commit", "-q", "-a", "-m", "main"});
  run_well({"git", "checkout", "-q", "topic"});
  repository.fill_table();
  const auto rebase = [](const std::string& hooks) {
    return [hooks] {
      run_well({"git", "reset", "-q", "--hard", "start"});
      const Words argv = git_with(hooks, {"rebase", "-q", "main"});
      return timed([&] { run_well(argv); });
    };
  };
  setup.progress->say("measuring");
  add_rows(answer, alternate({rebase(repository.our_hooks(setup.lockkeeper)),
                              rebase(repository.true_hooks()), rebase("/dev/null")},
                             setup.seconds, kGitRunsLeast));
  answer.ratio(kGuarded, kTrueHooks, {.what = kTrueHooks, .must = 1.5});
}

}  // namespace lockkeeper::bench
