#include "cli/verbs/question.h"

#include <array>
#include <cstdio>

#include "base/text.h"

namespace lockkeeper::cli {

bool can_ask(VerbContext& context) {
  const CliEnvironment& environment = context.environment();
  return environment.in_is_terminal && environment.err_is_terminal && !context.out().json() &&
         !context.out().quiet();
}

bool says_yes(VerbContext& context, const std::string& question, bool usually) {
  const CliEnvironment& environment = context.environment();
  context.out().flush();
  std::fprintf(environment.err, "%s %s ", printable(question).c_str(), usually ? "[Y/n]" : "[y/N]");
  std::fflush(environment.err);
  std::array<char, 16> answer{};
  if (std::fgets(answer.data(), answer.size(), environment.in) == nullptr) {
    std::fputc('\n', environment.err);  // ^D leaves the cursor behind the question
    return false;
  }
  const std::string said = lowered(answer.data());
  return said == "y\n" || said == "yes\n" || (usually && said == "\n");
}

}  // namespace lockkeeper::cli
