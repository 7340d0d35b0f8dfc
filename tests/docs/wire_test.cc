// docs/internals/lock-service.md names every call of the lock service's wire, and no other.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "docs/pages.h"

namespace lockkeeper::docs {
namespace {

std::set<std::string> matches(const std::string& text, const std::regex& pattern) {
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
    found.insert((*at)[1]);
  }
  return found;
}

TEST(WirePage, NamesEveryCall) {
  std::ifstream in(std::filesystem::path(LOCKKEEPER_SOURCE_DIR) / "src/service/wire/serve.cc");
  std::ostringstream source;
  source << in.rdbuf();
  const auto served = matches(source.str(), std::regex(R"rx(\{"(\w+)", handler<)rx"));
  EXPECT_EQ(served.size(), 20U);

  std::set<std::string> named;
  for (const Line& line :
       section(read_page("docs/internals/lock-service.md"), "## Requests and replies")) {
    if (!line.text.starts_with("| `")) continue;
    const std::string cell = line.text.substr(0, line.text.find(" | "));
    named.merge(matches(cell, std::regex("`(\\w+)`")));
  }
  EXPECT_EQ(named, served);
}

}  // namespace
}  // namespace lockkeeper::docs
