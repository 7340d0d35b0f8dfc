// The benchmark: ours and its peers in one run, because only ratios within one run mean anything on
// a noisy machine. It measures and never judges by its exit status.
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "bench/child.h"
#include "bench/facts.h"
#include "bench/question.h"
#include "bench/show.h"

namespace lockkeeper::bench {
namespace {

constexpr int kUsage = 64;

enum class Format { kTable, kJson, kMarkdown };

struct Options {
  Setup setup;
  Format format = Format::kTable;
  std::vector<std::string> only;  // empty: all
  bool list = false;
};

void print_usage() {
  fmt::print(stderr,
             "usage: lockkeeper_bench [--json | --markdown] [--only ID]… [--list]\n"
             "                        [--seconds N] [--held N] [--many N] [--globs N] "
             "[--waiters N] [--foreign N]\n"
             "                        [--packages N] [--program FILE]\n");
}

bool is_question(const std::string& id) {
  return std::ranges::any_of(all_questions(), [&](const Question& q) { return q.id == id; });
}

// False for what is not understood.
bool take_value(Options& options, const std::string& word, const std::string& value) {
  if (word == "--only") {
    options.only.push_back(value);
    return is_question(value);
  }
  if (word == "--program") {
    std::error_code missing;
    options.setup.lockkeeper = std::filesystem::canonical(value, missing);
    return !missing;
  }
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (*end != '\0' || !(number > 0) || number > 1e8) return false;
  if (word == "--seconds") {
    options.setup.seconds = number;
    return true;
  }
  for (const auto& [name, place] : {std::pair{"--held", &options.setup.held},
                                    {"--many", &options.setup.many},
                                    {"--globs", &options.setup.globs},
                                    {"--foreign", &options.setup.foreign},
                                    {"--packages", &options.setup.packages},
                                    {"--waiters", &options.setup.waiters}}) {
    if (word != name) continue;
    *place = static_cast<int>(number);
    return true;
  }
  return false;
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--json") {
      options.format = Format::kJson;
    } else if (word == "--markdown") {
      options.format = Format::kMarkdown;
    } else if (word == "--list") {
      options.list = true;
    } else if (i + 1 >= argc || !take_value(options, word, argv[++i])) {
      return false;
    }
  }
  return true;
}

void run(const Options& options) {
  Progress progress;
  Setup setup = options.setup;
  setup.progress = &progress;
  Report report;
  report.facts = gather_facts(setup);
  std::vector<Question> wanted;
  for (const Question& question : all_questions()) {
    if (options.only.empty() ||
        std::ranges::find(options.only, question.id) != options.only.end()) {
      wanted.push_back(question);
    }
  }
  int number = 0;
  for (const Question& question : wanted) {
    progress.begin(++number, static_cast<int>(wanted.size()), question.id);
    Answer answer;
    answer.id = question.id;
    answer.title = question.title;
    question.ask(setup, answer);
    report.answers.push_back(std::move(answer));
  }
  progress.clear();
  switch (options.format) {
    case Format::kTable:
      return show_table(report);
    case Format::kJson:
      return show_json(report, setup);
    case Format::kMarkdown:
      return show_markdown(report);
  }
}

int main_of(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    print_usage();
    return kUsage;
  }
  if (options.list) {
    for (const Question& q : all_questions()) fmt::print("{:<16} {}\n", q.id, q.title);
    return 0;
  }
  namespace fs = std::filesystem;
  if (options.setup.lockkeeper.empty()) {
    options.setup.lockkeeper = fs::canonical("/proc/self/exe").parent_path() / "lockkeeper";
  }
  std::string folder = fs::temp_directory_path() / "lockkeeper-bench-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) {
    fmt::print(stderr, "lockkeeper_bench: cannot make a folder in {}\n",
               fs::temp_directory_path().string());
    return 1;
  }
  ::chmod(folder.c_str(), 0711);  // a server that runs as another user must get to its own
  options.setup.folder = folder;
  // A process of its own does the work: however it ends, what it made is removed, and all that it
  // started dies with it.
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGTERM, SIG_IGN);
  const int status = join(fork_child([&] {
    ::signal(SIGINT, SIG_DFL);
    ::signal(SIGTERM, SIG_DFL);
    run(options);
    std::fflush(nullptr);
  }));
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  return status;
}

}  // namespace
}  // namespace lockkeeper::bench

int main(int argc, char** argv) {
  return lockkeeper::bench::main_of(argc, argv);
}
