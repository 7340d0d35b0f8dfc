#include "cli/pager.h"

#include <sys/wait.h>

#include <csignal>

#include "service/runtime.h"

namespace lockkeeper::cli {
namespace {

// Empty: none. A variable that is set but empty turns the pager off, as for git.
std::string pager_of(const realm::Environment& env) {
  std::string pager = "less";
  for (const char* const name : {"LOCKKEEPER_PAGER", "PAGER"}) {
    const auto value = env(name);
    if (!value) continue;
    pager = *value;
    break;
  }
  return pager == "cat" ? "" : pager;
}

void print_lines(Output& out, const std::vector<Line>& lines) {
  for (const Line& line : lines) out.line(line);
}

// False: it could not be started.
bool show_through(const std::string& pager, const OutputOptions& plain,
                  const std::vector<Line>& lines) {
  // less: leave if it fits after all, show colours, keep the text on the screen.
  const std::string command = "LESS=\"${LESS-FRX}\" LV=\"${LV--c}\" " + pager;
  std::FILE* const pipe = ::popen(command.c_str(), "w");
  if (pipe == nullptr) return false;
  // The pager decides about Ctrl-C, and may be left before it has read everything.
  const auto interrupt = std::signal(SIGINT, SIG_IGN);
  const auto broken = std::signal(SIGPIPE, SIG_IGN);
  OutputOptions options = plain;
  options.out = pipe;
  Output through(options);
  print_lines(through, lines);
  const int status = ::pclose(pipe);
  std::signal(SIGINT, interrupt);
  std::signal(SIGPIPE, broken);
  constexpr int kCannotStart = 126;
  return !WIFEXITED(status) || WEXITSTATUS(status) < kCannotStart;
}

}  // namespace

void show_lines(const CliEnvironment& environment, Output& out, const std::vector<Line>& lines) {
  const bool short_enough = environment.rows == 0 || lines.size() < environment.rows;
  const bool for_people = environment.out_is_terminal && !out.json() && !out.quiet();
  const std::string pager = pager_of(environment.runtime->env);
  if (short_enough || !for_people || pager.empty()) return print_lines(out, lines);
  out.flush();
  if (!show_through(pager, out.options(), lines)) print_lines(out, lines);
}

}  // namespace lockkeeper::cli
