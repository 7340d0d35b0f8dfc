#include "chaos/worker.h"

#include <fcntl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>
#include <vector>

#include "chaos/ledger.h"

namespace lockkeeper::chaos {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

constexpr const char* kWait = "--wait=2s";
constexpr std::size_t kStoreCalls = 80;  // most verbs make fewer
// When a program is killed: mostly while it starts, asks and answers, at times while it waits.
constexpr std::size_t kSoonUs = 8'000;
constexpr std::size_t kLateUs = 60'000;

volatile pid_t under_way = 0;

void kill_command(int) {
  if (under_way > 0) ::kill(under_way, SIGKILL);
}

void kill_after(std::size_t us) {
  itimerval when{};
  when.it_value.tv_usec = static_cast<suseconds_t>(us);
  ::setitimer(ITIMER_REAL, &when, nullptr);
}

// For the shell.
std::string quoted(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += " '" + word + "'";
  return text;
}

struct Done {
  bool killed = false;
  int status = 0;
  std::string out;
};

class Worker {
 public:
  explicit Worker(const WorkerPlan& plan) : plan_(plan), random_(plan.seed) {}

  void once() {
    const Scope& scope = scopes()[below(scopes().size())];
    hold_ = plan_.name + "." + std::to_string(++holds_);
    switch (below(3)) {
      case 0:
        return under_run(scope);
      case 1:
        if (plan_.own_namespace) {
          return by_hand(scope, {"--attach", std::to_string(::getpid()), "--ttl", "400ms"}, 400,
                         'b');
        }
        return by_hand(scope, {"--attach", std::to_string(::getpid())}, 0, 'a');
      default:
        return by_hand(scope, {"--ttl", "400ms"}, 400, 'd');
    }
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_()) % n; }

  static std::string mode(const Scope& scope) { return scope.shared ? " --mode shared" : ""; }

  Words ask(const char* verb, const Scope& scope) {
    Words words{verb, "--task", scope.name, "--session", hold_, "--request-id", hold_};
    if (scope.shared) words.insert(words.end(), {"--mode", "shared"});
    if (below(2) == 0) words.emplace_back(kWait);
    words.insert(words.end(), scope.resources.begin(), scope.resources.end());
    return words;
  }

  // The command writes into the ledger itself: it outlives `run` where that alone is killed. It is
  // asked to end then, and does so after what it is at.
  void under_run(const Scope& scope) {
    Words words = ask("run", scope);
    const std::string end = "printf '%s\\n' \"E " + hold_ + "\" >>\"$LEDGER\"";
    std::string script = "e() { " + end +
                         "; exit; }; trap e TERM; unset LOCKKEEPER_TEST_FAULT; IFS='. ' read s c _ "
                         "</proc/uptime; printf '%s\\n' \"B " +
                         hold_ + " " + scope.name +
                         " $LOCKKEEPER_FENCE r $s${c}0 0\" >>\"$LEDGER\"; sleep 0.00" +
                         std::to_string(below(10)) + "; ";
    if (below(4) == 0) {
      script += "'" + plan_.program + "' check --fence $LOCKKEEPER_FENCE" + mode(scope) +
                quoted(scope.resources) + " >/dev/null 2>&1; s=$?; [ $s = 0 ] || [ $s = 69 ] || " +
                "printf '%s\\n' \"X " + hold_ + " I5: not current inside run: $s\" >>\"$LEDGER\"; ";
    }
    script += end;
    words.insert(words.end(), {"--", "sh", "-c", script});
    const Done done = call(words);
    if (!done.killed && done.status != 0) expect_refusal("run", done);
  }

  // acquire … release, with the work in between done here. A call that is killed is repeated under
  // its request id: it must find what the first has done (I8).
  void by_hand(const Scope& scope, const Words& how, std::int64_t length_ms, char kind) {
    Words words = ask("acquire", scope);
    words.emplace_back("--json");
    words.insert(words.end(), how.begin(), how.end());
    const std::int64_t asked_ms = boot_ms();
    Done done = call(words);
    const bool repeated = done.killed;
    while (done.killed) done = call(words);
    if (done.status != 0) {
      // Over by now may be a grant whose answer was never seen: by its length, or because it was
      // handed to a waiting process that was killed before it could confirm. Nothing else.
      const bool by_time = length_ms > 0 && boot_ms() > asked_ms + length_ms;
      const bool waited = std::find(words.begin(), words.end(), kWait) != words.end();
      if (done.status == 79 && (by_time || (repeated && waited))) return;
      return expect_refusal("acquire", done);
    }
    const Json json = Json::parse(done.out, nullptr, false);
    if (json.is_discarded() || !json.contains("lease")) return accuse("acquire", done);
    const Json& lease = json["lease"];
    if (lease["resources"].size() != scope.resources.size()) return accuse("I2", done);
    hold(scope, lease["fence"].get<std::uint64_t>(), asked_ms, length_ms, kind);
    give_back(lease["id"].get<std::string>(), asked_ms, length_ms);
  }

  void hold(const Scope& scope, std::uint64_t fence, std::int64_t asked_ms, std::int64_t length_ms,
            char kind) {
    const std::int64_t until_ms = asked_ms + length_ms;
    const std::int64_t now_ms = boot_ms();
    const bool detached = length_ms > 0;
    if (detached && now_ms >= until_ms) return;  // too slow: it does not rely on it
    line("B " + hold_ + " " + scope.name + " " + std::to_string(fence) + " " + kind + " " +
         std::to_string(now_ms) + " " + std::to_string(until_ms));
    std::this_thread::sleep_for(std::chrono::milliseconds(below(12)));
    if (below(4) == 0) still_held(scope, fence, detached ? until_ms : INT64_MAX);
    line("E " + hold_);
    if (detached && boot_ms() < until_ms) line("S " + hold_);
  }

  // What was acknowledged is there (I5), and its fence decides (I4).
  void still_held(const Scope& scope, std::uint64_t fence, std::int64_t until_ms) {
    Words words{"check", "--session", hold_, "--fence", std::to_string(fence)};
    if (scope.shared) words.insert(words.end(), {"--mode", "shared"});
    words.insert(words.end(), scope.resources.begin(), scope.resources.end());
    const Done done = call(words);
    const bool fine = done.killed || done.status == 0 || done.status == 69;
    if (!fine && boot_ms() < until_ms) accuse("I5: not current", done);
  }

  void give_back(const std::string& lease, std::int64_t asked_ms, std::int64_t length_ms) {
    const Words words{"release", "--lease", lease, "--session", hold_, "--json"};
    Done done = call(words);
    const bool repeated = done.killed;
    while (done.killed) done = call(words);
    if (done.status == 0 || done.status == 69) return;
    const bool was_released = repeated && done.status == 66;
    const bool may_be_over = length_ms > 0 && boot_ms() > asked_ms + length_ms;
    if (!was_released && !(may_be_over && (done.status == 79 || done.status == 66))) {
      accuse("release", done);
    }
  }

  // Held, timeout, and a store that a neighbour kept busy on a crowded machine.
  void expect_refusal(const char* verb, const Done& done) {
    if (done.status != 75 && done.status != 124 && done.status != 69) accuse(verb, done);
  }

  void accuse(const char* what, const Done& done) {
    std::string out = done.out;
    for (char& c : out) c = c == '\n' ? ' ' : c;
    line("X " + hold_ + " " + what + " " + std::to_string(done.status) + " " + out);
  }

  void line(const std::string& text) { append_line(plan_.ledger, text); }

  Done call(const Words& words) {
    Words argv{plan_.program};
    argv.insert(argv.end(), words.begin(), words.end());
    const std::string fault = choose_fault();
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) ::_exit(3);
    const pid_t child = ::fork();
    if (child == 0) start(argv, fault, ends[1]);
    ::close(ends[1]);
    under_way = child;
    if (fault.empty() && below(4) == 0) kill_after(1 + below(below(8) == 0 ? kLateUs : kSoonUs));
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) != 0) {
    }
    under_way = 0;  // before its number can be given to another
    kill_after(0);
    int status = 0;
    ::waitpid(child, &status, 0);
    Done done;
    done.out = read_ready(ends[0]);
    ::close(ends[0]);
    done.killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    done.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    count(done, fault);
    return done;
  }

  // Random moments seldom fall into the store; some programs are told where to die.
  std::string choose_fault() {
    const std::size_t chosen = below(8);
    if (chosen > 1) return "";
    return (chosen == 0 ? "kill@" : "kill-after@") + std::to_string(1 + below(kStoreCalls));
  }

  void count(const Done& done, const std::string& fault) {
    ++plan_.board->calls;
    if (done.status == 69) ++plan_.board->busy;
    if (done.killed) ++(fault.empty() ? plan_.board->kills : plan_.board->planned);
  }

  [[noreturn]] void start(const Words& argv, const std::string& fault, int out) {
    std::vector<std::string> variables{
        "LEDGER=" + plan_.ledger, "LOCKKEEPER_AGENT=" + plan_.name.substr(0, plan_.name.find('.'))};
    if (!fault.empty()) variables.push_back("LOCKKEEPER_TEST_FAULT=" + fault);
    for (const auto& [name, value] : plan_.env) variables.push_back(name + "=" + value);
    std::vector<char*> arguments, environment;
    for (const std::string& word : argv) arguments.push_back(const_cast<char*>(word.c_str()));
    for (const std::string& text : variables)
      environment.push_back(const_cast<char*>(text.c_str()));
    arguments.push_back(nullptr);
    environment.push_back(nullptr);
    ::signal(SIGALRM, SIG_DFL);
    ::dup2(out, STDOUT_FILENO);
    // Warnings would spoil the object on stdout; `run` says everything on stderr.
    const int err = argv[1] == "run" ? out : ::open("/dev/null", O_WRONLY);
    ::dup2(err, STDERR_FILENO);
    if (::chdir(plan_.repo.c_str()) == 0) {
      ::execve(arguments[0], arguments.data(), environment.data());
    }
    ::_exit(125);
  }

  // What it said fits into the pipe; a command that outlived `run` may still hold the other end.
  static std::string read_ready(int fd) {
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
    std::string text;
    char buffer[4096];
    for (;;) {
      const ssize_t n = ::read(fd, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return text;
      text.append(buffer, static_cast<std::size_t>(n));
    }
  }

  const WorkerPlan& plan_;
  std::mt19937 random_;
  std::string hold_;
  int holds_ = 0;
};

}  // namespace

void append_line(const std::string& ledger, const std::string& line) {
  const int fd = ::open(ledger.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const std::string text = line + "\n";
  if (fd < 0 || ::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    ::_exit(4);
  }
  ::close(fd);
}

void work(const WorkerPlan& plan) {
  struct sigaction action{};
  action.sa_handler = kill_command;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGALRM, &action, nullptr);
  Worker worker(plan);
  while (plan.board->stop == 0) worker.once();
  // As the first process of a namespace it would take commands that outlived their `run` with it.
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
  ::_exit(0);
}

}  // namespace lockkeeper::chaos
