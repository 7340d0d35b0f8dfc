#include "host/spawn.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/test_folder.h"
#include "host/pipes.h"

namespace lockkeeper::host {
namespace {

struct Ended {
  int status = -1;
  std::string output;
};

// Runs it to its end, with what it prints.
Ended run(Program program) {
  auto pipe = make_pipe();
  EXPECT_TRUE(pipe);
  program.out = program.err = pipe->writer.get();
  const auto pid = start_program(program);
  if (!pid) return {-1, pid.error().message};
  pipe->writer.reset();
  Ended ended;
  char block[4096];
  for (ssize_t n = 0; (n = ::read(pipe->reader.get(), block, sizeof block)) > 0;) {
    ended.output.append(block, static_cast<std::size_t>(n));
  }
  ended.status = wait_for(*pid).value_or(-1);
  return ended;
}

Program shell(const std::string& script) {
  Program program;
  program.argv = {"sh", "-c", script};
  return program;
}

TEST(Spawn, RunsInAFolderWithWhatItIsGiven) {
  const TestFolder folder;
  Program program = shell("pwd -P; echo $A-$HOME; exit 7");
  program.folder = folder.path();
  program.variables = {{"A", "b"}, {"HOME", "here"}};
  const Ended ended = run(program);
  EXPECT_EQ(ended.status, 7);
  EXPECT_EQ(ended.output, folder.path() + "\nb-here\n");
  program.environment = {"A=c"};
  EXPECT_EQ(run(program).output, folder.path() + "\nc-\n") << "the whole environment";
}

TEST(Spawn, SaysWhyAProgramCannotBeStarted) {
  const TestFolder folder;
  Program none;
  none.argv = {folder.file("none")};
  const auto started = start(none);
  ASSERT_TRUE(started);
  EXPECT_EQ(started->exec_errno, ENOENT);
  EXPECT_FALSE(wait_for(started->pid)) << "it is reaped already";
  none.argv = {folder.path()};
  EXPECT_EQ(start(none)->exec_errno, EACCES);
  EXPECT_FALSE(start_program(none));
  Program elsewhere = shell("true");
  elsewhere.folder = folder.file("none");
  EXPECT_EQ(start(elsewhere)->exec_errno, ENOENT);
}

TEST(Spawn, ReadsNothingAndHasAThirdDescriptorIfItIsGivenOne) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  Program program = shell("cat; echo said >&3");
  program.in = kNothing;
  program.third = pipe->writer.get();
  EXPECT_EQ(run(program).status, 0);
  pipe->writer.reset();
  char said[16] = {};
  EXPECT_EQ(::read(pipe->reader.get(), said, sizeof said), 5);
  EXPECT_STREQ(said, "said\n");
  EXPECT_EQ(run(shell("echo x >&3")).output.find("said"), std::string::npos);
}

// "pid pgid sid" of the program.
constexpr const char* kPlace = "cut -d' ' -f1,5,6 /proc/$$/stat";

TEST(Spawn, GroupsAndSessionsAreItsOwn) {
  const auto numbers = [](Program::Group group) {
    Program program = shell(kPlace);
    program.group = group;
    int pid = 0;
    int group_id = 0;
    int session = 0;
    const std::string text = run(program).output;
    EXPECT_EQ(std::sscanf(text.c_str(), "%d %d %d", &pid, &group_id, &session), 3) << text;
    return std::pair(group_id == pid, session == pid);
  };
  EXPECT_EQ(numbers(Program::Group::kOurs), std::pair(false, false));
  EXPECT_EQ(numbers(Program::Group::kOwn), std::pair(true, false));
  EXPECT_EQ(numbers(Program::Group::kSession), std::pair(true, true));
}

TEST(Spawn, SignalsAreAsInAFreshProgramOrAsTheyWereBefore) {
  struct sigaction before{};
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGUSR1, &ignore, &before);
  EXPECT_EQ(run(shell("kill -USR1 $$")).status, 128 + SIGUSR1);
  {
    constexpr int kTerm[] = {SIGTERM};
    const HeldSignals held(kTerm, HeldSignals::Ignored::kHeld);
    Program program = shell("kill -USR1 $$; kill -TERM $$");
    program.held = &held;
    EXPECT_EQ(run(program).status, 128 + SIGTERM) << "USR1 ignored as before, TERM not blocked";
  }
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST(Spawn, DiesWithTheProcessThatStartedIt) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  const pid_t parent = ::fork();
  if (parent == 0) {
    pipe->reader.reset();
    Program program = shell("exec sleep 600");
    program.out = pipe->writer.get();
    program.dies_with_us = SIGKILL;
    ::_exit(start_program(program) ? 0 : 1);
  }
  pipe->writer.reset();
  EXPECT_EQ(wait_for(parent), 0);
  char byte = 0;
  EXPECT_EQ(::read(pipe->reader.get(), &byte, 1), 0) << "nobody has the pipe any more";
}

}  // namespace
}  // namespace lockkeeper::host
