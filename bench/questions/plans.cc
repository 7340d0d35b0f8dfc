// What it costs to check the plan of a large feature, as a whole process.
#include <fstream>

#include "bench/peak.h"
#include "bench/questions/inside.h"
#include "bench/questions/questions.h"

namespace lockkeeper::bench {
namespace {

constexpr int kFilesEach = 20;
constexpr std::size_t kPlanRunsLeast = 3;

std::string package_text(int i) {
  const std::string number = std::to_string(i);
  const std::string folder = "src/m" + std::to_string(i % 97) + "/p" + number + "/file_";
  std::string files;
  for (int f = 0; f < kFilesEach; ++f) {
    files += "    - " + folder + std::to_string(f) + ".py\n";
  }
  // Most wait for nobody: then everybody is compared with everybody.
  const std::string needs = i % 10 == 9 ? "wp-" + std::to_string(i / 2) : "";
  return "- package_id: wp-" + number + "\n  task_type: implement\n  description: package " +
         number + "\n  depends_on: [" + needs + "]\n  priority: 5\n  locks:\n    keys: []\n" +
         "    files:\n" + files + "  scope:\n    read_allow: ['**']\n    write_allow:\n" + files +
         "  worktree: {name: w" + number +
         "}\n  timeout_minutes: 60\n  retry_budget: 1\n  min_trust_level: 2\n"
         "  verification: {tier_required: A, steps: []}\n  outputs: {result_keys: []}\n";
}

std::string write_plan(const Setup& setup) {
  const std::string path = setup.fresh("plans") + "/work-packages.yaml";
  std::ofstream file(path);
  file << "schema_version: 1\nfeature: {id: large, plan_revision: 1}\n"
          "contracts: {revision: 1, openapi: {primary: '', files: []}}\npackages:\n";
  for (int i = 0; i < setup.packages; ++i) file << package_text(i);
  return path;
}

}  // namespace

void ask_plans(const Setup& setup, Answer& answer) {
  if (!has_program(setup, answer)) return;
  const std::string path = write_plan(setup);
  const Words argv = {setup.lockkeeper, "validate", path};
  setup.progress->say("measuring");
  std::vector<Samples> samples =
      alternate({[&] { return timed([&] { run_well(argv); }); }}, setup.seconds, kPlanRunsLeast);
  const std::string size = grouped(setup.packages) + " packages of 20 files";
  // Half of what checking and planning may take together.
  answer.targets.push_back(
      {.what = size, .value = samples[0].p50() / 1000, .unit = "ms", .must = 2'500});
  answer.rows.push_back({"lockkeeper validate", "-", std::move(samples[0]), ""});
  const double peak = peak_mib(argv);
  if (peak == 0) {
    answer.skipped.push_back("memory: the process could not be traced");
    return;
  }
  answer.targets.push_back(
      {.what = "resident at most, " + size, .value = peak, .unit = "MiB", .must = 150});
}

}  // namespace lockkeeper::bench
