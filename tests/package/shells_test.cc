// The completions, in the shells that they are for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kPrinted = LOCKKEEPER_PRINTED;

class Shells : public testing::Test {
 protected:
  Shells() {
    const std::string program = Stage::program();
    stage_.env["PATH"] = program.substr(0, program.rfind('/')) + ":" + stage_.env["PATH"];
    stage_.env["TERM"] = "dumb";
    stage_.file("some_file");
    stage_.file("some_folder/x");
    stage_.expect(0, "backend", {"acquire", "held"});
  }

  bool has(const std::string& shell) {
    return stage_.finish(stage_.command({"sh", "-c", "command -v " + shell})).status == 0;
  }

  // What fish offers for a line, one per line, with descriptions.
  std::string fish(const std::string& line) {
    const std::string script = "source " + shell_quote(kPrinted + "/lockkeeper.fish") +
                               "; complete -C " + shell_quote(line);
    const Answer answer = stage_.finish(stage_.command({"fish", "--no-config", "-c", script}));
    EXPECT_EQ(answer.err, "") << line;
    return answer.out;
  }

  // The line as zsh leaves it after TAB.
  std::string zsh(const std::string& line) {
    const std::string result = stage_.path("zsh-" + std::to_string(++asked_));
    write_text(stage_.path("inner.zsh"),
               "PROMPT='' RPROMPT=''; unsetopt zle_bracketed_paste 2>/dev/null\n"
               "fpath=(" +
                   shell_quote(kPrinted) +
                   " $fpath)\n"
                   "autoload -U compinit; compinit -u -D\n"
                   "dump() { print -r -- \"<$BUFFER>\" >" +
                   result +
                   "; }\n"
                   "zle -N dump; bindkey '^X' dump; bindkey '^I' expand-or-complete\n"
                   "setopt no_beep no_list_ambiguous\n"
                   "print ready >" +
                   stage_.path("ready") + "\n");
    write_text(stage_.path("outer.zsh"), "zmodload zsh/zpty; rm -f " + stage_.path("ready") +
                                             "\n"
                                             "zpty shell zsh -f -i\n"
                                             "zpty -w shell 'source " +
                                             stage_.path("inner.zsh") +
                                             "'\n"
                                             "for i in {1..600}; do [[ -e " +
                                             stage_.path("ready") +
                                             " ]] && break; sleep 0.1; done\n"
                                             "zpty -w -n shell " +
                                             shell_quote(line) +
                                             "$'\\t'$'\\x18'\n"
                                             "for i in {1..600}; do [[ -s " +
                                             result +
                                             " ]] && break; "
                                             "zpty -r -t shell 2>/dev/null; sleep 0.1; done\n"
                                             "zpty -d shell\n");
    const Answer answer = stage_.finish(stage_.command({"zsh", "-f", stage_.path("outer.zsh")}));
    std::string text = read_text(result);
    EXPECT_FALSE(text.empty()) << line << "\n" << answer.all();
    return text.substr(0, text.find('\n'));
  }

  // What bash puts into the line, if the words are split as bash splits them.
  std::string bash(const std::string& words, const std::string& line) {
    const std::string script = "source " + shell_quote(kPrinted + "/lockkeeper.bash") +
                               "; COMP_WORDS=(" + words + "); COMP_LINE=" + shell_quote(line) +
                               "; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); compopt() { :; }; "
                               "_lockkeeper; echo \"${COMPREPLY[*]}\"";
    const Answer answer = stage_.finish(stage_.command({"bash", "-c", script}));
    EXPECT_EQ(answer.err, "") << line;
    return answer.out.substr(0, answer.out.find('\n'));
  }

  // Takes what the tests below offer again.
  void hold_some() {
    stage_.env["LOCKKEEPER_AGENT"] = "ann";
    stage_.expect(0, "ann", {"acquire", "some_file", "db:migration-slot", "with blank"});
    stage_.expect(0, "", {"layout", "add", "mkdir", "locks"});
  }

  Stage stage_;
  int asked_ = 0;
};

TEST_F(Shells, B15_BashOffersWhatIsHeldAgentsAndLayouts) {
  hold_some();
  EXPECT_EQ(bash("lockkeeper release so", "lockkeeper release so"), "some_file");
  EXPECT_EQ(bash("lockkeeper unlock wi", "lockkeeper unlock wi"), "with\\ blank");
  EXPECT_EQ(bash("lockkeeper release db : mig", "lockkeeper release db:mig"), "migration-slot");
  EXPECT_EQ(bash("lockkeeper renew ''", "lockkeeper renew "),
            "db:migration-slot some_file with\\ blank");
  EXPECT_EQ(bash("lockkeeper break hel", "lockkeeper break hel"), "held");
  EXPECT_EQ(bash("lockkeeper message send ba", "lockkeeper message send ba"), "backend");
  EXPECT_EQ(bash("lockkeeper layout remove mk", "lockkeeper layout remove mk").substr(0, 6),
            "mkdir-");
  EXPECT_EQ(bash("lockkeeper list --agent = b", "lockkeeper list --agent=b"), "backend");
}

TEST_F(Shells, B15_ZshOffersWhatIsHeldAgentsAndLayouts) {
  if (!has("zsh")) GTEST_SKIP() << "no zsh";
  hold_some();
  EXPECT_EQ(zsh("lockkeeper release so"), "<lockkeeper release some_file >");
  EXPECT_EQ(zsh("lockkeeper unlock db"), "<lockkeeper unlock db:migration-slot >");
  EXPECT_EQ(zsh("lockkeeper break hel"), "<lockkeeper break held >");
  EXPECT_EQ(zsh("lockkeeper message send ba"), "<lockkeeper message send backend >");
  EXPECT_EQ(zsh("lockkeeper layout remove mk").substr(0, 32), "<lockkeeper layout remove mkdir-");
  EXPECT_EQ(zsh("lockkeeper log -n 5 --fol"), "<lockkeeper log -n 5 --follow >");
}

TEST_F(Shells, B15_FishOffersWhatIsHeldAgentsAndLayouts) {
  if (!has("fish")) GTEST_SKIP() << "no fish";
  hold_some();
  EXPECT_EQ(fish("lockkeeper release so"), "some_file\n");
  EXPECT_EQ(fish("lockkeeper unlock wi"), "with blank\n");
  EXPECT_EQ(fish("lockkeeper break hel"), "held\n");
  EXPECT_EQ(fish("lockkeeper message send ba"), "backend\n");
  EXPECT_THAT(fish("lockkeeper layout remove mk"), HasSubstr("mkdir-"));
  EXPECT_THAT(fish("lockkeeper log -n 5 --fol"), HasSubstr("--follow"));
}

TEST_F(Shells, FishOffersVerbsFlagsValuesFilesAndAgents) {
  if (!has("fish")) GTEST_SKIP() << "no fish";
  EXPECT_THAT(fish("lockkeeper acq"), HasSubstr("acquire\tTake resources"));
  EXPECT_THAT(fish("lk rel"), HasSubstr("release\t"));
  EXPECT_THAT(fish("lockkeeper --agent x rel"), HasSubstr("release\t"));
  EXPECT_THAT(fish("lockkeeper "), Not(HasSubstr("some_file")));
  EXPECT_THAT(fish("lockkeeper acquire --req"), HasSubstr("--request-id"));
  EXPECT_THAT(fish("lockkeeper acquire --mode s"), HasSubstr("shared"));
  EXPECT_THAT(fish("lockkeeper acquire --mode s"), Not(HasSubstr("some_file")));
  EXPECT_THAT(fish("lockkeeper acquire some"), HasSubstr("some_file"));
  EXPECT_THAT(fish("lockkeeper acquire some"), Not(HasSubstr("release")));
  EXPECT_THAT(fish("lockkeeper list --agent b"), HasSubstr("backend"));
  EXPECT_THAT(fish("lockkeeper list --realm some"), HasSubstr("some_folder/"));
  EXPECT_THAT(fish("lockkeeper list --realm some"), Not(HasSubstr("some_file")));
  EXPECT_THAT(fish("lockkeeper completion f"), HasSubstr("fish"));
  EXPECT_THAT(fish("lockkeeper completion "), Not(HasSubstr("some_file")));
  EXPECT_THAT(fish("lockkeeper run some_file -- l"), HasSubstr("ls"));
}

TEST_F(Shells, FishKnowsTheSubcommands) {
  if (!has("fish")) GTEST_SKIP() << "no fish";
  EXPECT_THAT(fish("lockkeeper task "), HasSubstr("acquire\tTake a task"));
  EXPECT_THAT(fish("lockkeeper task "), Not(HasSubstr("some_file")));
  EXPECT_THAT(fish("lk task --root some_folder sw"), HasSubstr("sweep\t"));
  EXPECT_THAT(fish("lockkeeper workflow run some"), HasSubstr("some_file"));
  EXPECT_THAT(fish("lockkeeper workflow run some"), Not(HasSubstr("status")));
  EXPECT_THAT(fish("lockkeeper workflow run some_file some"), Not(HasSubstr("some_file")));
  EXPECT_THAT(fish("lockkeeper workflow run --"), HasSubstr("--jobs"));
  EXPECT_THAT(fish("lockkeeper workflow run --"), Not(HasSubstr("--scopes")));
  EXPECT_THAT(fish("lockkeeper workflow lock --"), HasSubstr("--scopes"));
  EXPECT_THAT(fish("lockkeeper workflow run some_file -- l"), HasSubstr("ls"));
  EXPECT_THAT(fish("lockkeeper layout add "), HasSubstr("mkdir"));
  EXPECT_THAT(fish("lockkeeper layout add mkdir some"), HasSubstr("some_folder/"));
  EXPECT_THAT(fish("lockkeeper layout add mkdir some"), Not(HasSubstr("some_file")));
  EXPECT_THAT(fish("lockkeeper task lock-file some"), Not(HasSubstr("some_file")));
  EXPECT_THAT(fish("lockkeeper task lock-file T-1 a some"), HasSubstr("some_file"));
}

TEST_F(Shells, ZshOffersVerbsFlagsValuesFilesAndAgents) {
  if (!has("zsh")) GTEST_SKIP() << "no zsh";
  EXPECT_EQ(zsh("lockkeeper acq"), "<lockkeeper acquire >");
  EXPECT_EQ(zsh("lk rel"), "<lk release >");
  EXPECT_EQ(zsh("lockkeeper --agent x rel"), "<lockkeeper --agent x release >");
  EXPECT_EQ(zsh("lockkeeper acquire --req"), "<lockkeeper acquire --request-id=>");
  EXPECT_EQ(zsh("lockkeeper acquire --mode s"), "<lockkeeper acquire --mode shared >");
  EXPECT_EQ(zsh("lockkeeper acquire some_fi"), "<lockkeeper acquire some_file >");
  EXPECT_EQ(zsh("lockkeeper acquire a some_fi"), "<lockkeeper acquire a some_file >");
  EXPECT_EQ(zsh("lockkeeper list --agent b"), "<lockkeeper list --agent backend >");
  EXPECT_EQ(zsh("lockkeeper list --realm some"), "<lockkeeper list --realm some_folder/>");
  EXPECT_EQ(zsh("lockkeeper completion f"), "<lockkeeper completion fish >");
  EXPECT_EQ(zsh("lockkeeper run some_fi"), "<lockkeeper run some_file >");
  EXPECT_EQ(zsh("lockkeeper run a -- ls some_fi"), "<lockkeeper run a -- ls some_file >");
}

TEST_F(Shells, ZshKnowsTheSubcommands) {
  if (!has("zsh")) GTEST_SKIP() << "no zsh";
  EXPECT_EQ(zsh("lockkeeper task acq"), "<lockkeeper task acquire >");
  EXPECT_EQ(zsh("lk task --root some_folder sw"), "<lk task --root some_folder sweep >");
  EXPECT_EQ(zsh("lockkeeper workflow run some_fi"), "<lockkeeper workflow run some_file >");
  EXPECT_EQ(zsh("lockkeeper workflow run a some_fi"), "<lockkeeper workflow run a some_fi>");
  EXPECT_EQ(zsh("lockkeeper workflow run --jo"), "<lockkeeper workflow run --jobs=>");
  EXPECT_EQ(zsh("lockkeeper workflow run --sco"), "<lockkeeper workflow run --sco>");
  EXPECT_EQ(zsh("lockkeeper workflow lock --sco"), "<lockkeeper workflow lock --scopes=>");
  EXPECT_EQ(zsh("lockkeeper workflow run a -- ls some_fi"),
            "<lockkeeper workflow run a -- ls some_file >");
  EXPECT_EQ(zsh("lockkeeper layout add mk"), "<lockkeeper layout add mkdir >");
  EXPECT_EQ(zsh("lockkeeper layout add mkdir some"), "<lockkeeper layout add mkdir some_folder/>");
  EXPECT_EQ(zsh("lockkeeper task lock-file T-1 a some_fi"),
            "<lockkeeper task lock-file T-1 a some_file >");
}

}  // namespace
}  // namespace lockkeeper::stage
