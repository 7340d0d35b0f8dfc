#include "golden/shell.h"

#include <sys/wait.h>
#include <cstdlib>

#include <fstream>
#include <iterator>

#include "base/text.h"

namespace lockkeeper::golden {
namespace {

std::string content(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

Shell::Shell() {
  repository_.init("repo");
  repository_.folder("home");
  root_ = repository_.at("repo");
  repository_.write("repo/src/a.py", "");
  repository_.write("repo/src/b.py", "");
  repository_.folder("repo/docs");
  variables_ = {{"HOME", repository_.at("home")}, {"TERM", "dumb"}, {"USER", "somebody"}};
}

Ran Shell::run(const std::string& command) const {
  const std::string out = repository_.at("stdout");
  const std::string err = repository_.at("stderr");
  std::string line = "env -i PATH=" + shell_quote(std::string(LOCKKEEPER_BIN_FOLDER) +
                                                  ":/usr/local/bin:/usr/bin:/bin");
  if (std::getenv("LOCKKEEPER_TEST_WIRE") != nullptr) line += " LOCKKEEPER_TEST_WIRE=1";
  for (const auto& [name, value] : variables_) line += " " + name + "=" + shell_quote(value);
  line += " sh -c " + shell_quote("cd " + shell_quote(root_) + " || exit 99\n" + command) + " >" +
          shell_quote(out) + " 2>" + shell_quote(err) + " </dev/null";
  const int status = std::system(line.c_str());
  Ran ran;
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ran.out = content(out);
  ran.err = content(err);
  return ran;
}

}  // namespace lockkeeper::golden
