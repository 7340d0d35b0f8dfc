// Checks a history, or writes it in another checker's format:
//
//   linear_tool FILE           0: linearizable, 1: not, 2: undecided, 65: not a history
//   linear_tool --patient FILE searches an hour instead of two minutes
//   linear_tool --edn FILE     a Jepsen history on stdout
//   linear_tool --json FILE    one operation a line
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "linear/check.h"

int main(int argc, char** argv) {
  using namespace lockkeeper::linear;
  const std::string how = argc == 3 ? argv[1] : "";
  const bool known = how == "--edn" || how == "--json" || how == "--patient";
  if (argc < 2 || argc > 3 || (argc == 3 && !known)) {
    std::fputs("usage: linear_tool [--patient|--edn|--json] FILE\n", stderr);
    return 64;
  }
  std::ifstream file(argv[argc - 1], std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "linear_tool: cannot read %s\n", argv[argc - 1]);
    return 66;
  }
  try {
    const History history = parse_history(std::string(std::istreambuf_iterator<char>(file), {}));
    Limits limits;
    if (how == "--patient") {
      limits = {.configurations = 100'000'000, .seconds = 3600};
    } else if (argc == 3) {
      std::fputs((how == "--edn" ? to_edn(history) : to_json_lines(history)).c_str(), stdout);
      return 0;
    }
    const Verdict verdict = check(history, limits);
    std::printf("%zu calls, %zu parts, %zu steps, %zu configurations: %s\n%s", history.calls.size(),
                verdict.parts, verdict.steps, verdict.configurations,
                verdict.outcome == Outcome::kLinearizable ? "linearizable"
                : verdict.outcome == Outcome::kViolated   ? "NOT linearizable"
                                                          : "undecided",
                verdict.why.c_str());
    return static_cast<int>(verdict.outcome);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "linear_tool: %s\n", error.what());
    return 65;
  }
}
