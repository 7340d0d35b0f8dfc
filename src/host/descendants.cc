#include "host/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <set>
#include <string>

#include "base/fd.h"

namespace lockkeeper::host {
namespace {

constexpr long kNapNs = 10'000'000;
constexpr std::int64_t kNapMs = 10;
constexpr std::int64_t kMeanwhileMs = 100;

// From /proc/PID/stat. The second field may contain anything, so start at its last parenthesis.
struct Parentage {
  char state = '?';
  pid_t parent = 0;
};

Parentage parentage(const std::string& pid) {
  const std::string stat = read_file("/proc/" + pid + "/stat").value_or("");
  const std::size_t end = stat.rfind(')');
  if (end == std::string::npos || end + 4 >= stat.size()) return {};
  Parentage result;
  result.state = stat[end + 2];
  std::from_chars(stat.data() + end + 4, stat.data() + stat.size(), result.parent);
  return result;
}

// Reaps the children that have ended.
bool has_no_children() {
  errno = 0;
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  return errno == ECHILD;
}

}  // namespace

void adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

std::vector<pid_t> children_besides(const std::vector<pid_t>& spared) {
  std::vector<pid_t> children;
  siginfo_t none{};
  const int looked = ::waitid(P_ALL, 0, &none, WEXITED | WNOHANG | WNOWAIT);
  if (looked != 0 && errno == ECHILD) return children;  // the usual case, and quick
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  if (!proc) return children;
  const pid_t self = ::getpid();
  while (const dirent* const entry = ::readdir(proc.get())) {
    const std::string name = entry->d_name;
    pid_t pid = 0;
    const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || rest != name.data() + name.size()) continue;
    if (std::ranges::find(spared, pid) != spared.end()) continue;
    const Parentage found = parentage(name);
    if (found.parent != self) continue;
    if (found.state == 'Z' || found.state == 'X') {
      ::waitpid(pid, nullptr, WNOHANG);
    } else {
      children.push_back(pid);
    }
  }
  return children;
}

std::size_t end_children(std::int64_t grace_ms, std::vector<pid_t> spared,
                         const std::function<void()>& meanwhile) {
  std::set<pid_t> asked;
  for (std::int64_t waited_ms = 0;; waited_ms += kNapMs) {
    if (spared.empty() && has_no_children()) return asked.size();  // the usual case, and quick
    const std::vector<pid_t> left = children_besides(spared);
    if (left.empty()) return asked.size();
    for (const pid_t pid : left) {
      // Its children become ours when it ends, and are asked then.
      if (waited_ms >= grace_ms) {
        if (::kill(pid, SIGKILL) != 0 && errno == EPERM) spared.push_back(pid);
        asked.insert(pid);
      } else if (asked.insert(pid).second) {
        ::kill(pid, SIGTERM);
        ::kill(pid, SIGCONT);
      }
    }
    if (meanwhile && waited_ms % kMeanwhileMs == 0) meanwhile();
    const timespec nap{0, kNapNs};
    ::nanosleep(&nap, nullptr);
  }
}

}  // namespace lockkeeper::host
