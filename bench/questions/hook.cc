// What an edit of a coding agent pays for its lock: a hook from its start to its verdict.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/fd.h"
#include "bench/distance.h"
#include "bench/must.h"
#include "bench/peak.h"
#include "bench/peers/ours.h"
#include "bench/questions/inside.h"
#include "bench/questions/questions.h"
#include "enforce/hook/files.h"

namespace lockkeeper::bench {
namespace {

constexpr std::size_t kHookRunsLeast = 20;
constexpr const char* kHookName = "lockkeeper hook claude, before an edit";

// Standard input of the programs that are started: a new payload for each.
class Payload {
 public:
  explicit Payload(const std::string& folder)
      : folder_(folder), file_(folder + ".json"), before_(::dup(STDIN_FILENO)) {}
  ~Payload() { ::dup2(before_.get(), STDIN_FILENO); }
  Payload(const Payload&) = delete;
  Payload& operator=(const Payload&) = delete;

  // Before an edit of a file that is free.
  void next() {
    const std::string n = std::to_string(++count_);
    put(R"("PreToolUse","tool_name":"Edit","tool_input":{"file_path":")" + folder_ + "/edited/" +
        n + R"(.c","old_string":"a","new_string":"b"},"tool_use_id":"t)" + n + "\"");
  }
  void before_shell() {
    put(R"("PreToolUse","tool_name":"Bash","tool_input":{"command":"make"},"tool_use_id":"b1")");
  }
  void after_shell() {
    put(R"("PostToolBatch","tool_calls":[{"tool_name":"Bash","tool_input":{"command":"make"},)"
        R"("tool_use_id":"b1","tool_response":"done"}])");
  }

 private:
  void put(const std::string& rest) {
    std::ofstream(file_, std::ios::trunc)
        << R"({"session_id":"bench","transcript_path":"/t","cwd":")" << folder_
        << R"(","hook_event_name":)" << rest << "}";
    const Fd payload(::open(file_.c_str(), O_RDONLY | O_CLOEXEC));
    ::dup2(payload.get(), STDIN_FILENO);
  }

  const std::string folder_;
  const std::string file_;
  const Fd before_;
  int count_ = 0;
};

// So many files that another agent has written.
void write_files(Place& place, const std::string& here, int files) {
  std::filesystem::create_directories(here + "/written");
  const enforce::hook::Files disk(here);
  core::ReportRequest report;
  report.worktree = place.site().realm().root;
  for (int i = 1; i <= files; ++i) {
    const std::string path = "written/" + std::to_string(i) + ".c";
    std::ofstream(here + "/" + path) << i;
    report.changed.push_back(disk.change(path));
    if (report.changed.size() < 1'000 && i < files) continue;
    must(service::Locks(place.site(), {"codex", "other"}).report(report));
    report.changed.clear();
  }
}

// The hook around a shell command while another agent's files are there. `tell`: what it is told.
void ask_around_shell(const Setup& setup, Answer& answer, const std::string& name, int files,
                      void (Payload::*tell)(), double must_ms) {
  if (!has_program(setup, answer)) return;
  if (setup.seconds < 1) files = 100;
  const std::string count = grouped(static_cast<std::size_t>(files));
  setup.progress->say("preparing " + count + " files");
  const std::string folder = setup.fresh("hook-" + name);
  Place place(folder, Kept::kProcess);
  const Inside inside(folder);
  const std::string here = std::filesystem::current_path();
  write_files(place, here, files);
  setup.progress->say("measuring");
  Payload payload(here);
  const Words hook = {setup.lockkeeper, "hook", "claude"};
  std::vector<Samples> samples = alternate({[&] {
                                              (payload.*tell)();
                                              return timed([&] { run_well(hook); });
                                            },
                                            [] { return timed([] { run_well({"/bin/true"}); }); }},
                                           setup.seconds, kHookRunsLeast);
  const double p50 = samples[0].p50();
  answer.rows.push_back({"lockkeeper hook claude, " + name + " a shell command", "process",
                         std::move(samples[0]), ""});
  answer.rows.push_back({"/bin/true", "-", std::move(samples[1]), "any look at a file"});
  answer.targets.push_back({.what = "the hook with " + count + " files takes at most",
                            .value = p50 / 1000,
                            .unit = "ms",
                            .must = must_ms});
}

}  // namespace

void ask_hook(const Setup& setup, Answer& answer) {
  if (!has_program(setup, answer)) return;
  setup.progress->say("preparing " + grouped(setup.held) + " leases");
  const std::string folder = setup.fresh("hook");
  Place(folder, Kept::kProcess).hold_paths(setup.held);
  setup.progress->say("measuring");
  const Inside inside(folder);
  Payload payload(std::filesystem::current_path());
  const Words hook = {setup.lockkeeper, "hook", "claude"};
  const auto run = [&payload](const Words& words) {
    return [&payload, words] {
      payload.next();
      return timed([&] { run_well(words); });
    };
  };
  std::vector<Once> sides = {run(hook), run({"/bin/true"})};
  std::vector<std::pair<std::string, Words>> others = {{"node", {"node", "-e", "0"}},
                                                       {"python3", {"python3", "-c", "pass"}}};
  std::erase_if(others, [&](const auto& other) {
    if (!find_program(other.first).empty()) return false;
    answer.skipped.push_back(other.first + ": not installed");
    return true;
  });
  for (const auto& [name, words] : others) sides.push_back(run(words));
  std::vector<Samples> samples = alternate(sides, setup.seconds, kHookRunsLeast);
  const double p99 = samples[0].at(0.99);
  answer.rows.push_back({kHookName, "process", std::move(samples[0]), ""});
  answer.rows.push_back({"/bin/true", "-", std::move(samples[1]), "any lock at all"});
  for (std::size_t i = 0; i < others.size(); ++i) {
    answer.rows.push_back({"a hook in " + others[i].first + " that does nothing", "-",
                           std::move(samples[i + 2]), "any lock at all"});
  }
  answer.ratio(kHookName, "/bin/true", {.what = "/bin/true", .must = 6, .aim = 3});
  answer.targets.push_back(
      {.what = "99 of 100 take at most", .value = p99 / 1000, .unit = "ms", .must = 10});
  payload.next();
  const double peak = peak_mib(hook);
  if (peak == 0) {
    answer.skipped.push_back("memory: the process could not be traced");
    return;
  }
  answer.targets.push_back({.what = "resident at most", .value = peak, .unit = "MiB", .must = 12});
}

void ask_hook_before(const Setup& setup, Answer& answer) {
  ask_around_shell(setup, answer, "before", 1'000, &Payload::before_shell, 5);
}

void ask_hook_after(const Setup& setup, Answer& answer) {
  ask_around_shell(setup, answer, "after", 10'000, &Payload::after_shell, 50);
}

// The same table, once in its store, once through a hub, once through one that is far away.
void ask_hook_hub(const Setup& setup, Answer& answer) {
  if (!has_program(setup, answer)) return;
  constexpr int kRoundTripMs = 50;
  setup.progress->say("preparing " + grouped(setup.held) + " leases");
  const std::string folder = setup.fresh("hook-hub");
  Place(folder, Kept::kProcess).hold_paths(setup.held);
  std::ofstream(folder + "/lockkeeper.toml", std::ios::app) << "[realm]\nname = \"app\"\n";
  const Inside inside(folder);
  const OurServer hub = hub_over(setup, folder);
  if (!hub.ready) return answer.skipped.push_back("the hub did not begin");
  const Distance distance(hub.port, kRoundTripMs);
  setup.progress->say("measuring");
  Payload payload(std::filesystem::current_path());
  const Words hook = {setup.lockkeeper, "hook", "claude"};
  const auto through = [&](int port) {
    return [&, port] {
      payload.next();
      if (port != 0) {
        ::setenv("LOCKKEEPER_SERVER", ("http://127.0.0.1:" + std::to_string(port)).c_str(), 1);
      }
      const double time = timed([&] { run_well(hook); });
      ::unsetenv("LOCKKEEPER_SERVER");
      return time;
    };
  };
  const std::vector<Once> sides = {through(0), through(hub.port), through(distance.port())};
  for (const Once& side : sides) side();  // starts the relays
  std::vector<Samples> samples = alternate(sides, setup.seconds, kHookRunsLeast);
  const double far = samples[2].p50() / 1000;
  constexpr const char* kNear = "through relay and hub";
  answer.rows.push_back({"in its own store", "process", std::move(samples[0]), ""});
  answer.rows.push_back({kNear, "process", std::move(samples[1]), ""});
  answer.rows.push_back({"the same, 50 ms away", "process", std::move(samples[2]), ""});
  answer.ratio(kNear, "in its own store", {.what = "the verdict without a hub", .must = 2});
  answer.targets.push_back({.what = "beyond one round trip of 50 ms",
                            .value = far - kRoundTripMs,
                            .unit = "ms",
                            .must = 5});
}

}  // namespace lockkeeper::bench
