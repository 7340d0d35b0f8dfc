// Which words in braces are taken for misspelt placeholders.
#include "plan/placeholders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockkeeper::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> unknown_in(const std::string& line) {
  return unknown_placeholders({{line}, true});
}

TEST(Placeholders, EveryKnownOneIsKnown) {
  for (const Placeholder& each : placeholders()) {
    const std::string name = "{" + std::string(each.name) + "}";
    EXPECT_THAT(unknown_in("tool " + name + name), IsEmpty());
    EXPECT_THAT(known_placeholders_text(), HasSubstr(name));
  }
}

TEST(Placeholders, AMisspeltOneIsFoundOnce) {
  EXPECT_THAT(unknown_in("tool {scopes} --for={agnt} '{scopes}' {agent}"),
              ElementsAre("{scopes}", "{agnt}"));
  EXPECT_THAT(unknown_placeholders({{"tool", "{Scope}", "x{_a1}y"}, false}),
              ElementsAre("{Scope}", "{_a1}"));
}

TEST(Placeholders, BracesWithAnotherMeaningAreNone) {
  for (const char* const line :
       {"echo ${HOME}", "curl -w '%{http_code}'", "git log @{u}", "docker -f '{{json}}'", "a{2}",
        "touch {a,b}", "find . -exec rm {} +", "awk '{ print }'", "awk '{print}'", "{", "}",
        "{open", "\\{x}", ""}) {
    EXPECT_THAT(unknown_in(line), IsEmpty()) << line;
  }
}

}  // namespace
}  // namespace lockkeeper::plan
