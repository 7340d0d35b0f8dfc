// What an edit of a coding agent pays for its lock: a hook from its start to its verdict.
#include <fcntl.h>
#include <unistd.h>

#include <fstream>

#include "base/fd.h"
#include "bench/peak.h"
#include "bench/peers/ours.h"
#include "bench/questions/inside.h"
#include "bench/questions/questions.h"

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

  // An edit of a file that is free.
  void next() {
    const std::string n = std::to_string(++count_);
    std::ofstream(file_, std::ios::trunc)
        << R"({"session_id":"bench","transcript_path":"/t","cwd":")" << folder_
        << R"(","hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{"file_path":")"
        << folder_ << "/edited/" << n << R"(.c","old_string":"a","new_string":"b"},)"
        << R"("tool_use_id":"t)" << n << "\"}";
    const Fd payload(::open(file_.c_str(), O_RDONLY | O_CLOEXEC));
    ::dup2(payload.get(), STDIN_FILENO);
  }

 private:
  const std::string folder_;
  const std::string file_;
  const Fd before_;
  int count_ = 0;
};

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

}  // namespace lockkeeper::bench
