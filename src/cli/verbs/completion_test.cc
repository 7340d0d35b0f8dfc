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
std::string bash_offers(const std::string& words, const std::string& setup = "") {
  const TestFolder folder;
  std::ofstream(folder.file("script")) << script("bash");
  const std::string program = "source " + folder.file("script") + "; COMP_WORDS=(" + words +
                              "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); compopt() { :; }; cd " +
                              folder.path() + "; touch some_file; mkdir some_folder; " + setup +
                              " _lockkeeper; echo \"${COMPREPLY[*]}\" >" + folder.file("out");
  const int status = std::system(("bash -c " + shell_quote(program)).c_str());
  EXPECT_EQ(status, 0);
  std::ifstream stream(folder.file("out"));
  std::string line, before;
  for (std::string word; stream >> word; before = word) {
    if (word != before) line += (line.empty() ? "" : " ") + word;  // bash shows it once
  }
  return line;
}

TEST(Completion, every_verb_is_in_every_script) {
  for (const char* const shell : {"bash", "zsh", "fish"}) {
    const std::string text = script(shell);
    for (const Verb& verb : all_verbs()) {
      if (verb.summary.empty()) continue;
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
  EXPECT_EQ(bash_offers("lockkeeper acquire some_fi"), "some_file");
  EXPECT_EQ(bash_offers("lockkeeper completion f"), "fish");
  EXPECT_EQ(bash_offers("lockkeeper install c"), "claude codex copilot cursor");
  EXPECT_EQ(bash_offers("lockkeeper install claude --policy w"), "wait warn");
  EXPECT_EQ(bash_offers("lockkeeper init --policy b"), "block");
}

TEST(Completion, B15_bash_completes_a_command_after_the_dashes) {
  EXPECT_EQ(bash_offers("lockkeeper run x -- mkfif"), "mkfifo");
  EXPECT_EQ(bash_offers("lockkeeper run x -- cat some_fi"), "some_file");
  EXPECT_EQ(bash_offers("lockkeeper guard -- mkfif"), "mkfifo");
  EXPECT_EQ(bash_offers("lockkeeper acquire -- some_fi"), "some_file") << "a name, not a command";
}

TEST(Completion, B15_bash_knows_other_names_short_flags_and_equals) {
  EXPECT_EQ(bash_offers("lockkeeper lock --req"), "--request-id");
  EXPECT_EQ(bash_offers("lockkeeper lock some_fi"), "some_file");
  EXPECT_EQ(bash_offers("lockkeeper log -n 5 --under some_fi"), "some_file");
}

TEST(Completion, help_takes_the_name_of_a_verb) {
  EXPECT_EQ(bash_offers("lockkeeper help wo"), "workflow");
  EXPECT_EQ(bash_offers("lockkeeper he"), "help");
}

TEST(Completion, bash_asks_in_the_name_that_was_typed) {
  const std::string program = "lockkeeper() { IFS=,; printf '%s\\n' \"$*\"; };";
  EXPECT_EQ(bash_offers("lockkeeper release --agent ann ''", program),
            "completion\\,held\\,--agent=ann");
  EXPECT_EQ(
      bash_offers("lockkeeper --realm /r release --session=s --agent ann --lease ''", program),
      "completion\\,own-leases\\,--realm=/r\\,--session=s\\,--agent=ann");
  EXPECT_EQ(bash_offers("lockkeeper release ''", program), "completion\\,held");
}

TEST(Completion, zsh_leaves_the_flags_after_a_verb_to_that_verb) {
  EXPECT_NE(script("zsh").find("_arguments -C -A '-*'"), std::string::npos);
}

TEST(Completion, bash_knows_the_subcommands_and_what_each_takes) {
  EXPECT_EQ(bash_offers("lockkeeper task ''"), "acquire lock-file release list sweep");
  EXPECT_EQ(bash_offers("lockkeeper task --root spec sw"), "sweep");
  EXPECT_EQ(bash_offers("lockkeeper workflow run some_fi"), "some_file");
  EXPECT_EQ(bash_offers("lockkeeper workflow run some_file some"), "");
  EXPECT_EQ(bash_offers("lockkeeper workflow run --jo"), "--jobs");
  EXPECT_EQ(bash_offers("lockkeeper workflow run --sc"), "") << "that is of lock";
  EXPECT_EQ(bash_offers("lockkeeper workflow lock --sc"), "--scopes");
  EXPECT_EQ(bash_offers("lockkeeper workflow --output out run --jobs 4 some_fi"), "some_file");
  EXPECT_EQ(bash_offers("lockkeeper layout add m"), "mkdir");
  EXPECT_EQ(bash_offers("lockkeeper layout add mkdir some"), "some_folder");
  EXPECT_EQ(bash_offers("lockkeeper layout add --mode read mkdir some"), "some_folder");
  EXPECT_EQ(bash_offers("lockkeeper task lock-file some"), "") << "a task, not a file";
  EXPECT_EQ(bash_offers("lockkeeper task lock-file T-1 a some_fi"), "some_file");
  EXPECT_EQ(bash_offers("lockkeeper message send --type que"), "question");
  EXPECT_EQ(bash_offers("lockkeeper completion ''"), "bash zsh fish");
  EXPECT_EQ(bash_offers("lockkeeper nonsense ''"), "");
}

}  // namespace
}  // namespace lockkeeper::cli
