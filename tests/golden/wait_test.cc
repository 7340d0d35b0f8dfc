// Interrupting a wait, with the shipped program: the queue is left, the exit status is the
// shell's.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "golden/shell.h"

namespace lockkeeper::golden {
namespace {

using Json = nlohmann::json;

// Starts `lockkeeper acquire src/a.py --wait` in the repository, without a shell between: a shell
// would keep Ctrl-C from what it starts in the background.
pid_t start_waiting(const Shell& shell) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const std::string program = std::string(LOCKKEEPER_BIN_FOLDER) + "/lockkeeper";
  const std::string home = "HOME=" + shell.files().at("home");
  const char* const environment[] = {home.c_str(), nullptr};
  const char* const words[] = {"lockkeeper", "acquire", "src/a.py", "--agent",
                               "second",     "--wait",  "--json",   nullptr};
  const int out = ::open(shell.files().at("reply").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (::chdir(shell.root().c_str()) != 0 || ::dup2(out, STDOUT_FILENO) < 0) ::_exit(99);
  // Tests that run in the background, or under nohup, are started with these ignored.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
  ::execve(program.c_str(), const_cast<char* const*>(words), const_cast<char* const*>(environment));
  ::_exit(99);
}

std::size_t waiters(const Shell& shell) {
  const Ran ran = shell.run("lockkeeper list --json");
  return Json::parse(ran.out)["waiters"].size();
}

bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 600; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

class GivingUp : public testing::TestWithParam<int> {};

TEST_P(GivingUp, leaves_the_queue_and_holds_nothing) {
  const Shell shell;
  ASSERT_EQ(shell.run("lockkeeper acquire src/a.py --agent first").status, 0);
  const pid_t child = start_waiting(shell);
  ASSERT_GT(child, 0);
  ASSERT_TRUE(eventually([&] { return waiters(shell) == 1; }));
  ASSERT_EQ(::kill(child, GetParam()), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "it must leave by itself";
  EXPECT_EQ(WEXITSTATUS(status), 128 + GetParam());
  EXPECT_EQ(waiters(shell), 0U);
  const Ran reply = shell.run("cat ../reply");
  EXPECT_EQ(Json::parse(reply.out)["outcome"], "interrupted") << reply.out;
  EXPECT_EQ(shell.run("lockkeeper release --all --agent first").status, 0);
  const Ran list = shell.run("lockkeeper list --json");
  EXPECT_TRUE(Json::parse(list.out)["leases"].empty()) << list.out;
}

INSTANTIATE_TEST_SUITE_P(Signals, GivingUp, testing::Values(SIGINT, SIGTERM, SIGHUP));

TEST(Waiting, L1_a_waiter_is_granted_when_the_holder_releases) {
  const Shell shell;
  ASSERT_EQ(shell.run("lockkeeper acquire src/a.py --agent first").status, 0);
  const pid_t child = start_waiting(shell);
  ASSERT_TRUE(eventually([&] { return waiters(shell) == 1; }));
  ASSERT_EQ(shell.run("lockkeeper release --all --agent first").status, 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  const Ran reply = shell.run("cat ../reply");
  EXPECT_EQ(Json::parse(reply.out)["outcome"], "granted") << reply.out;
  EXPECT_EQ(shell.run("lockkeeper check --held src/a.py --agent second").status, 0);
}

TEST(Following, log_prints_what_happens_and_ends_at_a_signal) {
  const Shell shell;
  const Ran ran = shell.run(
      "timeout --preserve-status -s TERM 60 sh -c '"
      "lockkeeper log --follow --json --agent first >../followed & p=$!;"
      "lockkeeper acquire src/a.py --agent first -q;"
      "lockkeeper acquire src/b.py --agent other -q;"
      "lockkeeper release --all --agent first -q;"
      "while [ $(wc -l <../followed) -lt 2 ]; do sleep 0.1; done;"
      "kill -TERM $p; wait $p'");
  EXPECT_EQ(ran.status, 143) << ran.err;
  const Ran followed = shell.run("cat ../followed");
  EXPECT_NE(followed.out.find("\"granted\""), std::string::npos);
  EXPECT_NE(followed.out.find("\"released\""), std::string::npos);
  EXPECT_EQ(followed.out.find("other"), std::string::npos);
}

}  // namespace
}  // namespace lockkeeper::golden
