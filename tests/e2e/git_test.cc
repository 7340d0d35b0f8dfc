// Commands of git that would take others' work, as real processes: refused by the hook, and by the
// git that `run` puts in front of PATH. Whatever happens, the work is still there afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Git : public testing::Test {
 protected:
  Git() {
    stage_.file("a.c", "a\n");
    stage_.file("mine.c", "m\n");
    stage_.file("src/s.c", "s\n");
    stage_.git("repo", {"add", "-A"});
    stage_.git("repo", {"commit", "-q", "-m", "files"});
    stage_.git("repo", {"branch", "other"});
  }

  std::string at(const std::string& name) const { return stage_.repo() + "/" + name; }
  Json call(const std::string& session, const std::string& moment, const std::string& tool,
            const Json& input) const {
    return {{"session_id", session},     {"transcript_path", "/t"}, {"cwd", stage_.repo()},
            {"hook_event_name", moment}, {"tool_name", tool},       {"tool_input", input},
            {"tool_use_id", "t"},        {"tool_response", "ok"}};
  }
  std::string payload(const Json& json) {
    const std::string file = stage_.path("payload-" + std::to_string(++payloads_));
    std::ofstream(file) << json.dump();
    return file;
  }
  Answer hook(const Json& json) {
    Launch launch = stage_.launch("", {"hook", "claude"});
    launch.in = payload(json);
    return stage_.finish(std::move(launch));
  }
  // As Claude Code would: the hook first, the command only if it passes.
  Answer shell(const std::string& session, const std::string& command) {
    Answer answer = hook(call(session, "PreToolUse", "Bash", {{"command", command}}));
    if (answer.out.find("\"deny\"") != std::string::npos) return answer;
    Answer ran = stage_.finish(stage_.command({"sh", "-c", command}));
    hook(call(session, "PostToolUse", "Bash", {{"command", command}}));
    return ran;
  }
  void edits(const std::string& session, const std::string& file, const std::string& text) {
    const Json input = {{"file_path", at(file)}, {"old_string", "a"}, {"new_string", "b"}};
    EXPECT_EQ(hook(call(session, "PreToolUse", "Edit", input)).all(), "");
    stage_.file(file, text);
    hook(call(session, "PostToolUse", "Edit", input));
  }
  Answer run(const std::string& agent, const Words& words) {
    Words all{"run", "-q", "mine.c", "--"};
    all.insert(all.end(), words.begin(), words.end());
    return stage_.as(agent, all);
  }

  Stage stage_;
  int payloads_ = 0;
};

TEST_F(Git, AfterEveryAccidentOfOneAgentTheWorkOfTheOtherIsThere) {
  edits("s1", "a.c", "work of s1\n");
  edits("s1", "src/s.c", "more of s1\n");
  edits("s1", "new.c", "new of s1\n");
  hook({{"session_id", "s1"},
        {"transcript_path", "/t"},
        {"cwd", stage_.repo()},
        {"hook_event_name", "Stop"}});
  for (const char* const accident :
       {"git reset --hard", "git checkout -- .", "git checkout a.c", "git clean -fdx",
        "git stash -u", "rm -rf src", "git restore .", "git checkout -f other", "git switch other",
        "git add -A", "git commit -qam all", "cd src && rm -rf *", "git rm -rqf src"}) {
    EXPECT_THAT(shell("s2", accident).out, AllOf(HasSubstr("\"deny\""), HasSubstr("session s1")))
        << accident;
    EXPECT_EQ(read_text(at("a.c")), "work of s1\n") << accident;
    EXPECT_EQ(read_text(at("src/s.c")), "more of s1\n") << accident;
    EXPECT_EQ(read_text(at("new.c")), "new of s1\n") << accident;
  }
  const Answer status = stage_.finish(stage_.command({"git", "status", "--porcelain"}));
  EXPECT_EQ(status.out, " M a.c\n M src/s.c\n?? new.c\n");
  const Answer report = stage_.as("", {"hook", "report"});
  EXPECT_THAT(report.out,
              HasSubstr("a.c: calls by claude-code while another claude-code was working on it"));
}

TEST_F(Git, TheCommandThatARefusalNamesWorks) {
  edits("s1", "a.c", "work of s1\n");
  edits("s2", "mine.c", "work of s2\n");
  EXPECT_THAT(shell("s2", "git stash").out, HasSubstr("git stash push -- mine.c"));
  EXPECT_EQ(shell("s2", "git stash push -q -- mine.c").status, 0);
  EXPECT_EQ(read_text(at("a.c")), "work of s1\n");
  EXPECT_EQ(read_text(at("mine.c")), "m\n");
  EXPECT_THAT(shell("s1", "git stash drop").out, HasSubstr("\"deny\"")) << "it is s2's";
  EXPECT_EQ(shell("s2", "git stash pop -q").status, 0);
  EXPECT_EQ(read_text(at("mine.c")), "work of s2\n");
  EXPECT_THAT(shell("s2", "git add .").out, HasSubstr("git add -- mine.c"));
  EXPECT_EQ(
      shell("s2", "git add -- mine.c && git -c user.name=t -c user.email=t@t commit -q -m mine")
          .status,
      0);
  EXPECT_EQ(read_text(at("a.c")), "work of s1\n");
}

TEST_F(Git, TheStashOfAnotherStaysWhereItIs) {
  edits("s1", "a.c", "work of s1\n");
  stage_.env["GIT_AUTHOR_NAME"] = stage_.env["GIT_COMMITTER_NAME"] = "t";
  stage_.env["GIT_AUTHOR_EMAIL"] = stage_.env["GIT_COMMITTER_EMAIL"] = "t@example.org";
  EXPECT_EQ(shell("s1", "git stash push -q -- a.c").status, 0);
  EXPECT_THAT(shell("s2", "git stash; git pull; git stash pop").out,
              AllOf(HasSubstr("\"deny\""), HasSubstr("session s1"), HasSubstr("stash@{0}")));
  const Answer inside = run("bob", {"git", "stash", "pop"});
  EXPECT_EQ(inside.status, 75) << inside.all();
  EXPECT_THAT(inside.err, AllOf(HasSubstr("session s1"), HasSubstr("stash@{0}")));
  EXPECT_EQ(run("bob", {"sh", "-c", "echo x >mine.c; git stash -q && git stash pop -q"}).status, 0);
  EXPECT_EQ(read_text(at("mine.c")), "x\n");
  EXPECT_EQ(read_text(at("a.c")), "a\n");
  EXPECT_EQ(shell("s1", "git stash pop -q").status, 0);
  EXPECT_EQ(read_text(at("a.c")), "work of s1\n");
}

TEST_F(Git, UnderRunGitIsJudgedInTheNameOfTheCommand) {
  Process ann = stage_.start_holding("ann", "src/");
  stage_.file("src/s.c", "work of ann\n");
  for (const Words& words : {Words{"git", "reset", "--hard"}, Words{"sh", "-c", "git stash"},
                             Words{"sh", "-c", "cd src && git checkout -- ."}}) {
    const Answer answer = run("bob", words);
    EXPECT_EQ(answer.status, 75) << answer.all();
    EXPECT_THAT(answer.err, AllOf(HasSubstr("ann"), HasSubstr("src/s.c")));
    EXPECT_EQ(read_text(at("src/s.c")), "work of ann\n");
  }
  EXPECT_EQ(run("bob", {"git", "status", "--porcelain"}).out, " M src/s.c\n");
  EXPECT_EQ(run("bob", {"sh", "-c", "echo x >mine.c && git checkout -q -- mine.c"}).all(), "");
  EXPECT_EQ(read_text(at("mine.c")), "m\n");
  EXPECT_EQ(run("bob", {"sh", "-c", "git no-such-word 2>/dev/null; echo $?"}).out, "1\n");
  ann.signal(SIGTERM);
  ann.wait();
  EXPECT_EQ(run("bob", {"git", "reset", "-q", "--hard"}).all(), "") << "nobody's any more";
  EXPECT_EQ(read_text(at("src/s.c")), "s\n");
}

TEST_F(Git, ACommandMayTakeBackItsOwnWork) {
  const Answer answer = stage_.as(
      "ann", {"run", "-q", "src/", "--", "sh", "-c", "echo x >src/s.c && git reset -q --hard"});
  EXPECT_EQ(answer.all(), "");
  EXPECT_EQ(read_text(at("src/s.c")), "s\n");
}

// The hooks of a client name its session, its shell that of the run. Both are one agent.
TEST_F(Git, AClientUnderRunMayTakeBackWhatItsHooksHaveSeen) {
  const Json input = {{"file_path", at("mine.c")}, {"old_string", "a"}, {"new_string", "b"}};
  const std::string before = payload(call("s1", "PreToolUse", "Edit", input));
  const std::string after = payload(call("s1", "PostToolUse", "Edit", input));
  const std::string lk = Stage::program();
  const std::string script = "export CLAUDECODE=1 CLAUDE_CODE_SESSION_ID=s1; " + lk +
                             " hook claude <" + before + "; echo mine >mine.c; " + lk +
                             " hook claude <" + after + "; git checkout -q -- mine.c";
  EXPECT_EQ(run("ann", {"sh", "-c", script}).all(), "");
  EXPECT_EQ(read_text(at("mine.c")), "m\n");
}

TEST_F(Git, TheGitInFrontIsItsUsersAloneAndFindsTheRealOne) {
  const Answer answer = run("bob", {"sh", "-c", "command -v git; git --version"});
  EXPECT_THAT(answer.out, AllOf(HasSubstr("/lockkeeper/git-in-front/"), HasSubstr("git version")));
  const std::string link = answer.out.substr(0, answer.out.find('\n'));
  EXPECT_EQ(std::filesystem::read_symlink(link), std::filesystem::canonical(Stage::program()));
  struct stat info{};
  ASSERT_EQ(::stat(link.substr(0, link.rfind('/')).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  // One run in another, and a link that somebody has changed.
  const std::string lk = Stage::program();
  const Answer nested = run("bob", {lk, "run", "-q", "a.c", "--", "git", "rev-parse", "HEAD"});
  EXPECT_EQ(nested.status, 0) << nested.all();
  std::filesystem::remove(link);
  std::filesystem::create_symlink("/nowhere", link);
  EXPECT_THAT(run("bob", {"git", "--version"}).out, HasSubstr("git version"));
  EXPECT_EQ(std::filesystem::read_symlink(link), std::filesystem::canonical(Stage::program()));
}

TEST_F(Git, HarmlessGitWorksWhateverItsCallerIsCalled) {
  const Answer named = run("bob", {"sh", "-c", "LOCKKEEPER_AGENT='a b' git rev-parse --git-dir"});
  EXPECT_EQ(named.out, ".git\n") << named.all();
  const Answer gone =
      run("bob", {"sh", "-c", "mkdir gone && cd gone && rmdir ../gone && git --version"});
  EXPECT_THAT(gone.out, HasSubstr("git version")) << gone.all();
}

TEST_F(Git, WithoutGitInPathItSaysSo) {
  std::filesystem::create_directory(stage_.path("bin"));
  for (const char* const name : {"sh", "env"}) {
    std::filesystem::create_symlink(std::string("/usr/bin/") + name,
                                    stage_.path("bin") + "/" + name);
  }
  stage_.env["PATH"] = stage_.path("bin");
  const Answer answer = run("bob", {"sh", "-c", "git --version"});
  EXPECT_EQ(answer.status, 127);
  EXPECT_THAT(answer.err, HasSubstr("git is not installed"));
}

TEST_F(Git, APolicyOfWarnLetsItPassAndSaysSo) {
  Process ann = stage_.start_holding("ann", "src/");
  stage_.file("src/s.c", "work of ann\n");
  stage_.file("lockkeeper.toml", "[hook]\npolicy = \"warn\"\n");
  const Answer answer = run("bob", {"git", "stash", "-q"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_THAT(answer.err, AllOf(HasSubstr("ann"), HasSubstr("let through")));
  EXPECT_EQ(read_text(at("src/s.c")), "s\n");
}

}  // namespace
}  // namespace lockkeeper::stage
