// The text for an agent, and its command line: no text of a plan is read as a command.
#include "crew/brief.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

namespace lockkeeper::crew {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Words = std::vector<std::string>;

key::Resource resource(const std::string& text) {
  return key::parse(text, {})->resource;
}

// Runs the line in a shell: the arguments of its last command.
Words arguments_of(const std::string& line, const std::map<std::string, std::string>& values) {
  const Words command = filled_command({{line}, true}, values);
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    for (const Placeholder& placeholder : placeholders()) {
      const auto value = values.find(placeholder.name);
      if (value != values.end()) ::setenv(placeholder.variable, value->second.c_str(), 1);
    }
    ::execl(command[0].c_str(), command[0].c_str(), command[1].c_str(), command[2].c_str(),
            static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string all;
  char block[4096];
  for (ssize_t n = 0; (n = ::read(ends[0], block, sizeof block)) > 0;) {
    all.append(block, static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  ::waitpid(pid, nullptr, 0);
  Words words;
  for (std::size_t at = 0, end = 0; (end = all.find('\0', at)) != std::string::npos; at = end + 1) {
    words.push_back(all.substr(at, end - at));
  }
  return words;
}

TEST(FilledCommand, HostileValuesStayWords) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  static constexpr std::string_view kSigns = "'\"\\$`(){};&|<>*?[]~#! \t\nab{scope}";
  for (int round = 0; round < 150; ++round) {
    std::string value;
    for (std::size_t n = random() % 12; n > 0; --n) value += kSigns[random() % kSigns.size()];
    value += "x";
    const std::map<std::string, std::string> values{{"scope", value},
                                                    {"agent", "$(echo no)" + value}};
    const std::string agent = values.at("agent");
    EXPECT_THAT(
        arguments_of("printf '%s\\0' {scope} a{scope}b \"{scope} {agent}\" '{agent}.' \\{scope}",
                     values),
        ElementsAre(value, "a" + value + "b", value + " " + agent, agent + ".", "{scope}"))
        << value;
  }
}

TEST(FilledCommand, C10_AListOfOneWordIsNotALineForTheShell) {
  EXPECT_THAT(filled_command({{"tool; {agent}"}, false}, {{"agent", "a"}}), ElementsAre("tool; a"));
}

TEST(FilledCommand, C1_AQuoteInACommentOpensNothing) {
  EXPECT_THAT(arguments_of("true # don't {scope}\nprintf '%s\\0' {scope}#'{scope}'",
                           {{"scope", "$(echo no)"}}),
              ElementsAre("$(echo no)#$(echo no)"));
}

TEST(FilledCommand, BracesThatAreNoBlankStay) {
  EXPECT_EQ(filled_command({{"echo {} {x} {scope ${A} {scopes}"}, true}, {}).back(),
            "echo {} {x} {scope ${A} {scopes}");
}

TEST(FilledCommand, ManyWordsAreFilledAsTheyAre) {
  EXPECT_THAT(filled_command({{"tool", "{agent}={attempt}", "$x {task}", "{", "{agent"}, false},
                             {{"agent", "{task} 'a'"}, {"attempt", "2"}}),
              ElementsAre("tool", "{task} 'a'=2", "$x {task}", "{", "{agent"))
      << "a value is not filled again; a placeholder without a value stays";
}

TEST(ScopeText, SaysWhatMayBeChangedAndWhoHoldsTheRest) {
  plan::Job job;
  job.id = "api";
  job.description = "mend it";
  job.locks = {resource("src/api/")};
  job.writes = {resource("src/api/"), resource("docs/**")};
  job.denies = {resource("src/api/secret")};
  job.reads = {resource("README.md")};
  const std::string text =
      scope_text(job, "/repo",
                 {{"ann", {"lib/", "x"}, "because"}, {"bob", {"y"}, ""}, {"cy", {"z"}, "", true}});
  for (const char* const part :
       {"You are api,", "/repo", "Your task: mend it\n", "hold the locks on:\n- src/api/\n",
        "may change:\n- src/api/\n- docs/**\n", "not change, even there:\n- src/api/secret\n",
        "read, as needed:\n- README.md\n", "- ann: lib/, x (\"because\")\n", "- bob: y\n",
        "- cy: z (in this plan)\n"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(scope_text({}, "/repo", {}), HasSubstr("You may not change any file."));
  EXPECT_THAT(scope_text({}, "/repo", {}), Not(HasSubstr("Other agents hold")));
}

TEST(ScopeText, ManyAreCounted) {
  plan::Job job;
  for (int i = 0; i < 203; ++i) job.writes.push_back(resource("f" + std::to_string(i)));
  EXPECT_THAT(scope_text(job, "/r", {}), HasSubstr("- f199\n- and 3 more\n"));
}

TEST(CutText, EndsAtALetterAndSaysWhereTheRestIs) {
  const std::string just(kVariableBytesMax, 'x');
  EXPECT_EQ(cut_text(just, "f"), just);
  std::string letters;
  while (letters.size() <= kVariableBytesMax) letters += "\u20ac";
  const std::string cut = cut_text(letters, "FILE");
  EXPECT_LT(cut.size(), kVariableBytesMax + 100);
  EXPECT_EQ(cut.find("\n\u2026 the whole text is in FILE\n") % 3, 0U);
  EXPECT_EQ(cut_text(std::string(kVariableBytesMax + 9, '\x80'), "F").find("the whole"), 4U + 1U)
      << "no letter at all";
}

}  // namespace
}  // namespace lockkeeper::crew
