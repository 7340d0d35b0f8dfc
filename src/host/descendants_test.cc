// What a command leaves behind is ended: asked, then killed, with what it starts meanwhile.
#include "host/descendants.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace lockkeeper::host {
namespace {

// Runs `body` in a process of its own, which is not the parent of any test; its exit status.
int alone(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(60);
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

pid_t child(const std::function<void()>& body) {
  int ready[2];
  if (::pipe(ready) != 0) ::_exit(99);
  const pid_t pid = ::fork();
  if (pid == 0) {
    body();
    ::close(ready[0]);
    ::close(ready[1]);
    for (;;) ::pause();
  }
  ::close(ready[1]);
  char c = 0;
  static_cast<void>(!::read(ready[0], &c, 1));  // it is set up
  ::close(ready[0]);
  return pid;
}

TEST(Descendants, NobodyIsLeft) {
  EXPECT_EQ(alone([] {
              adopt_orphans();
              child([] {});
              child([] { ::signal(SIGTERM, SIG_IGN); });
              const std::size_t ended = end_children(50, {});
              return ended == 2 && children_besides({}).empty() ? 0 : static_cast<int>(10 + ended);
            }),
            0);
}

TEST(Descendants, TheSparedLive) {
  EXPECT_EQ(alone([] {
              const pid_t spared = child([] {});
              child([] {});
              int called = 0;
              if (end_children(1'000, {spared}, [&] { ++called; }) != 1) return 1;
              if (::kill(spared, SIGKILL) != 0) return 2;
              return called > 0 ? 0 : 3;
            }),
            0);
}

TEST(Descendants, NoChildrenNoWait) {
  EXPECT_EQ(alone([] { return static_cast<int>(end_children(60'000, {})); }), 0);
}

// A program of root's, left behind by somebody else's command: it cannot be ended, and must not be
// waited for.
TEST(Descendants, WhoMayNotBeKilledIsLeft) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a process that we may not kill";
  EXPECT_EQ(alone([] {
              const pid_t roots = child([] {});
              if (::setresuid(65534, 65534, 0) != 0) return 1;
              end_children(20, {});
              if (::seteuid(0) != 0) return 2;
              return ::kill(roots, SIGKILL) == 0 ? 0 : 3;
            }),
            0);
}

}  // namespace
}  // namespace lockkeeper::host
