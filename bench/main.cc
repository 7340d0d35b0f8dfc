// The benchmark: ours and its peers in one run, because only ratios within one run mean anything on
// a noisy machine. `lockkeeper_bench [--json] [--seconds N] [--held N]`.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "bench.h"

namespace lockkeeper::bench {

std::string path_at(int worker, int i) {
  return fmt::format("src/pkg{:03}/mod{:03}/file{:06}.cpp", worker % 1000, i / 100 % 50, i % 5000);
}

std::string held_path(int i) {
  return fmt::format("src/pkg{:03}/mod{:03}/file{:06}.cpp", i % 997, i / 100 % 1000, i + 100'000);
}

namespace {

int run(int argc, char** argv) {
  Setup setup;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--json") {
      json = true;
    } else if (word == "--seconds" && !value.empty()) {
      setup.seconds = std::atof(argv[++i]);
    } else if (word == "--held" && !value.empty()) {
      setup.held = std::atoi(argv[++i]);
    } else {
      fmt::print(stderr, "usage: lockkeeper_bench [--json] [--seconds N] [--held N]\n");
      return 64;
    }
  }
  namespace fs = std::filesystem;
  setup.lockkeeper = fs::canonical("/proc/self/exe").parent_path() / "lockkeeper";
  std::string pattern = fs::temp_directory_path() / "lockkeeper-bench-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return 1;
  setup.folder = pattern;
  Report report;
  bare_lmdb(setup, report);
  lock_table(setup, report);
  redis(setup, report);
  processes(setup, report);
  handoff(setup, report);
  const std::string ours = "lockkeeper: acquire + release, one path";
  report.ratio("acquire + release against the bare LMDB pair", ours, "bare LMDB: the same check",
               4);
  report.ratio("acquire + release against Redis SET NX + DEL", ours, "Redis: SET NX PX + DEL", 1);
  report.ratio("lockkeeper check PATH against /bin/true", "lockkeeper check PATH (process)",
               "/bin/true (process)", 4);
  report.bound("release to the next waiter running, p50", "release to the next waiter running",
               300);
  report.bound("kill -9 of the holder to the next waiter running, max",
               "kill -9 to the next waiter running", 100'000, 1);
  if (json) {
    report.print_json();
  } else {
    report.print();
  }
  std::error_code ignored;
  fs::remove_all(setup.folder, ignored);
  return 0;
}

}  // namespace
}  // namespace lockkeeper::bench

int main(int argc, char** argv) {
  return lockkeeper::bench::run(argc, argv);
}
