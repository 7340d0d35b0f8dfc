#include <gtest/gtest.h>
#include <sys/wait.h>

#include <fstream>
#include <iterator>

#include "base/test_folder.h"
#include "base/text.h"
#include "cli/verbs/testing.h"
#include "cli/verbs/verbs.h"

namespace lockkeeper::cli {
namespace {

std::string script(const std::string& shell) {
  return said({"completion", shell});
}

// What bash offers for a line of words, of which the last is being typed.
std::string bash_offers(const std::string& words) {
  const TestFolder folder;
  std::ofstream(folder.file("script")) << script("bash");
  const std::string program =
      "source " + folder.file("script") + "; COMP_WORDS=(" + words +
      "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); compopt() { :; }; cd " + folder.path() +
      "; touch some_file; _lockkeeper; echo \"${COMPREPLY[*]}\" >" + folder.file("out");
  const int status = std::system(("bash -c " + shell_quote(program)).c_str());
  EXPECT_EQ(status, 0);
  std::ifstream stream(folder.file("out"));
  std::string line;
  std::getline(stream, line);
  return line;
}

TEST(Completion, every_verb_is_in_every_script) {
  for (const char* const shell : {"bash", "zsh", "fish"}) {
    const std::string text = script(shell);
    for (const Verb& verb : all_verbs()) {
      EXPECT_NE(text.find(verb.name), std::string::npos) << shell << " " << verb.name;
    }
    for (const char* const flag : {"request-id", "all-realms", "status-fd", "repair", "quiet"}) {
      EXPECT_NE(text.find(flag), std::string::npos) << shell << " " << flag;
    }
  }
}

TEST(Completion, bash_offers_verbs_flags_values_and_files) {
  EXPECT_EQ(bash_offers("lockkeeper acq"), "acquire");
  EXPECT_EQ(bash_offers("lockkeeper --agent x rel"), "release");
  EXPECT_EQ(bash_offers("lockkeeper acquire --req"), "--request-id");
  EXPECT_EQ(bash_offers("lockkeeper acquire --mode s"), "shared");
  EXPECT_EQ(bash_offers("lockkeeper acquire some"), "some_file");
  EXPECT_EQ(bash_offers("lockkeeper completion f"), "fish");
}

TEST(Verbs, each_has_examples_a_summary_and_help_within_80_columns) {
  for (const Verb& verb : all_verbs()) {
    EXPECT_FALSE(verb.summary.empty());
    EXPECT_LE(verb.name.size(), 11U);
    const std::string name(verb.name);
    const std::string help = said({name, "--help"});
    EXPECT_TRUE(help.starts_with("Examples:\n  lockkeeper ")) << name;
    std::size_t columns = 0;
    for (const char c : help) {
      columns = c == '\n' ? 0 : columns + ((c & '\xc0') != '\x80' ? 1U : 0U);
      ASSERT_LE(columns, 80U) << name;
    }
  }
}

}  // namespace
}  // namespace lockkeeper::cli
