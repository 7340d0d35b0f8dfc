// What a shell script pays: one process to acquire and one to release, beside the script that does
// it with mkdir, and flock(1), which holds its lock while it runs a command.
#include <fstream>

#include "bench/peers/ours.h"
#include "bench/questions/inside.h"
#include "bench/questions/questions.h"

namespace lockkeeper::bench {
namespace {

constexpr std::size_t kTwoProcessesRunsLeast = 10;

// The least that it can be: one bash for both halves.
constexpr const char* kSnippet =
    "mkdir spec/.locks/files/src__a.py && "
    "printf 'agent: %s\\ntask: %s\\n' bench none > spec/.locks/files/src__a.py/owner && "
    "rm -rf spec/.locks/files/src__a.py";

// As the protocol's document has it, still in one bash.
constexpr const char* kDocumented = R"bash(
FILE_PATH=src/b.py AGENT_ID=bench TASK_ID=none
LOCK_NAME=$(echo "$FILE_PATH" | sed 's/[\/\\]/__/g; s/:/_/g')
mkdir -p "spec/.locks/files" && mkdir "spec/.locks/files/${LOCK_NAME}" 2>/dev/null
if [ $? -eq 0 ]; then echo "ACQUIRED"; else echo "BUSY"; fi
printf "agent: %s\ntask: %s\ntimestamp: %s\n" "$AGENT_ID" "$TASK_ID" "$(date -Iseconds)" \
  > "spec/.locks/files/${LOCK_NAME}/owner"
rm -rf "spec/.locks/files/${LOCK_NAME}"
)bash";

struct ProcessSide {
  std::string name;
  std::string durability;
  std::string lacks;
  std::string folder;
  std::vector<Words> commands;
};

std::vector<ProcessSide> sides_of(const Setup& setup) {
  const std::string process = setup.fresh("two-process");
  const std::string full = setup.fresh("two-full");
  Place(process, Kept::kProcess).hold_paths(setup.held);
  Place(full, Kept::kFull).hold_paths(setup.held);
  std::filesystem::create_directories(process + "/spec/.locks/files");
  const Words acquire = {setup.lockkeeper, "acquire", "--agent", "bench", "src/a.py"};
  const Words release = {setup.lockkeeper, "release", "--agent", "bench", "src/a.py"};
  const std::string lacks = "subtrees, queue, history, fences, dead holders, BUSY told from broken";
  std::vector<ProcessSide> sides = {
      {"lockkeeper acquire, release", "process", "", process, {acquire, release}},
      {"lockkeeper acquire, release, synced", "full", "", full, {acquire, release}},
      {"bash: mkdir, printf, rm -rf", "process", lacks, process, {{"bash", "-c", kSnippet}}},
      {"bash: the protocol as documented",
       "process",
       lacks,
       process,
       {{"bash", "-c", kDocumented}}},
      {"lockkeeper run PATH -- true",
       "process",
       "",
       process,
       {{setup.lockkeeper, "run", "--agent", "bench", "src/c.py", "--", "/bin/true"}}},
      {"flock(1) FILE true",
       "-",
       "subtrees, fair queue, history, fences, names of owners",
       process,
       {{"flock", "lock-file", "/bin/true"}}},
  };
  return sides;
}

}  // namespace

void ask_two_processes(const Setup& setup, Answer& answer) {
  if (!has_program(setup, answer)) return;
  setup.progress->say("preparing " + grouped(setup.held) + " leases, twice");
  std::vector<ProcessSide> sides;
  for (ProcessSide& side : sides_of(setup)) {
    const std::string program = side.commands.front().front();
    if (find_program(program).empty()) {
      answer.skipped.push_back(side.name + ": " + program + " is not installed");
    } else {
      sides.push_back(std::move(side));
    }
  }
  setup.progress->say("measuring");
  std::vector<Once> turns;
  for (const ProcessSide& side : sides) {
    turns.push_back([&side] {
      const Inside inside(side.folder);
      return timed([&] {
        for (const Words& command : side.commands) run_well(command);
      });
    });
  }
  std::vector<Samples> samples = alternate(turns, setup.seconds, kTwoProcessesRunsLeast);
  for (std::size_t i = 0; i < sides.size(); ++i) {
    answer.rows.push_back(
        {sides[i].name, sides[i].durability, std::move(samples[i]), sides[i].lacks});
  }
  answer.ratio("bash: mkdir, printf, rm -rf", "lockkeeper acquire, release",
               {.what = "as fast as the bash snippet",
                .better = Target::Better::kMore,
                .must = 1,
                .aim = 3});
}

}  // namespace lockkeeper::bench
