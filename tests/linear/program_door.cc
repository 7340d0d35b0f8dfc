#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>

#include "linear/door.h"

namespace lockkeeper::linear {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

volatile pid_t under_way = 0;
volatile std::int64_t killed_at = 0;

void kill_command(int) {
  if (under_way <= 0) return;
  if (killed_at == 0) killed_at = monotonic_ns();
  ::kill(under_way, SIGKILL);
}

std::set<std::string> owners(const Json& list) {
  std::set<std::string> names;
  for (const Json& one : list) {
    const Json& session = one["session"];
    names.insert(name_without_token(
        {one["agent"].get<std::string>(), session.is_null() ? "" : session.get<std::string>()}));
  }
  return names;
}

Words command_of(const Call& call, std::int64_t wait_ms) {
  const Asked& asked = call.asked;
  Words words{name_of(asked.verb), "--json", "--session", owner_of(call.owner).session};
  const auto add = [&](const std::string& name, const std::string& value) {
    words.push_back(name);
    words.push_back(value);
  };
  const bool length = asked.verb == Verb::kAcquire || asked.verb == Verb::kRenew;
  if (length && !asked.keep_ttl) {
    add("--ttl", asked.ttl_ms == kNoEnd ? "none" : std::to_string(asked.ttl_ms) + "ms");
  }
  if (asked.wait) words.push_back("--wait=" + std::to_string(wait_ms) + "ms");
  if (!asked.attach.empty()) add("--attach", std::to_string(::getpid()));
  if (!asked.lease.empty()) add("--lease", asked.lease);
  if (asked.fence) add("--fence", std::to_string(*asked.fence));
  if (!asked.request_id.empty()) add("--request-id", asked.request_id);
  if (asked.verb == Verb::kBreak) add("--reason", "recorded");
  // Always told: a check of a fence is by default about any mode.
  if (asked.verb == Verb::kAcquire || asked.verb == Verb::kCheck) {
    const bool shared = asked.wishes.front().mode == core::Mode::kShared;
    add("--mode", shared ? "shared" : "exclusive");
  }
  for (const Wish& wish : asked.wishes) words.push_back(wish.resource);
  return words;
}

void read_answer(Call& call, const Json& json, int status) {
  Told& told = call.told;
  const Verb verb = call.asked.verb;
  const std::string code =
      json.contains("error") ? json["error"]["code"].get<std::string>() : std::string();
  if (verb == Verb::kCheck && json.contains("free")) {
    told.word = "checked";
    told.free = json["free"].get<bool>();
    told.mine = json["mine"].get<bool>();
    told.current = call.asked.fence.has_value() && code != "lost";
    told.by = owners(json["conflicts"]);
  } else if (json.contains("outcome")) {
    told.word = json["outcome"].get<std::string>();
    if (told.word == "held") told.by = owners(json["conflicts"]);
    for (const Json& lost : json.value("lost", Json::array())) {
      told.lost.push_back(lost["id"].get<std::string>());
    }
  } else if (json.contains("released")) {
    told.word = !json["released"].empty()    ? "released"
                : !json["not_owner"].empty() ? "not_owner"
                                             : "not_held";
  } else if (json.contains("broken")) {
    told.word = "broken";
    told.by = owners(json["broken"]);
  } else if (json.contains("renewed")) {
    told.word = "renewed";
  } else if (code == "lost" || code == "not_found" || code == "not_owner" || code == "unknown") {
    told.word = code;
  } else if (code == "invalid_input" && !call.asked.request_id.empty()) {
    told.word = "misused";
  } else if (code == "limit_exceeded") {
    told.word = "failed";
  } else if (code == "store_busy" || code == "store_unavailable" || code == "no_space") {
    told.word = call.asked.wait ? "unknown" : "failed";
  } else {
    give_up("status " + std::to_string(status) + ": " + json.dump());
  }
  const Json lease = json.contains("lease")                 ? json["lease"]
                     : verb == Verb::kRenew && code.empty() ? json["renewed"][0]
                                                            : Json();
  if (!lease.is_object()) return;
  told.lease = lease["id"].get<std::string>();
  told.fence = lease["fence"].get<std::uint64_t>();
}

class ProgramDoor final : public Door {
 public:
  ProgramDoor(std::string program, std::string repo, std::map<std::string, std::string> env,
              std::function<void(const Call&, const Death&)> killed)
      : program_(std::move(program)),
        repo_(std::move(repo)),
        env_(std::move(env)),
        killed_(std::move(killed)) {
    struct sigaction action{};
    action.sa_handler = kill_command;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGUSR1, &action, nullptr);
  }

  bool ask(Call& call, std::int64_t wait_ms, const std::function<void()>&) override {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) give_up("pipe");
    killed_at = 0;
    const std::int64_t began = monotonic_ns();
    const Words words = command_of(call, wait_ms);  // before the fork: it names our own pid
    const pid_t child = ::fork();
    if (child < 0) give_up("fork");
    if (child == 0) start(words, call, ends[1]);
    ::close(ends[1]);
    under_way = child;
    std::string out;
    char buffer[4096];
    for (ssize_t n = 1; n != 0;) {
      n = ::read(ends[0], buffer, sizeof buffer);
      if (n > 0) out.append(buffer, static_cast<std::size_t>(n));
      if (n < 0 && errno != EINTR) break;
    }
    ::close(ends[0]);
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) != 0) {
    }
    under_way = 0;  // before its number can be given to another
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
      // A crash is not a kill.
      if (killed_at == 0 || WTERMSIG(status) != SIGKILL) {
        give_up("the program ended by signal " + std::to_string(WTERMSIG(status)));
      }
      killed_(call, {killed_at, monotonic_ns()});
      return false;
    }
    const Json json = Json::parse(out, nullptr, false);
    if (!json.is_object()) give_up("not an object: " + out);
    read_answer(call, json, WEXITSTATUS(status));
    if (call.told.word == "lost" && may_be_repeated(call, env_)) call.told.word = "unknown";
    // It may stand in the queue, and has ended.
    if (call.told.word == "unknown") killed_(call, {began, monotonic_ns()});
    return true;
  }

 private:
  [[noreturn]] void start(Words words, const Call& call, int out) const {
    words.insert(words.begin(), program_);
    Words variables{"LOCKKEEPER_AGENT=" + owner_of(call.owner).agent};
    if (!call.asked.under.empty()) {
      variables.push_back("LOCKKEEPER_LEASE=" + call.asked.under);
      variables.push_back("LOCKKEEPER_FENCE=" + std::to_string(call.asked.under_fence));
    }
    for (const auto& [name, value] : env_) variables.push_back(name + "=" + value);
    std::vector<char*> arguments, environment;
    for (std::string& word : words) arguments.push_back(word.data());
    for (std::string& variable : variables) environment.push_back(variable.data());
    arguments.push_back(nullptr);
    environment.push_back(nullptr);
    ::signal(SIGUSR1, SIG_DFL);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);  // warnings
    if (::chdir(repo_.c_str()) == 0) {
      ::execve(arguments[0], arguments.data(), environment.data());
    }
    ::_exit(125);
  }

  const std::string program_;
  const std::string repo_;
  const std::map<std::string, std::string> env_;
  const std::function<void(const Call&, const Death&)> killed_;
};

}  // namespace

std::unique_ptr<Door> program_door(const std::string& program, const std::string& repo,
                                   const std::map<std::string, std::string>& env,
                                   const std::function<void(const Call&, const Death&)>& killed) {
  return std::make_unique<ProgramDoor>(program, repo, env, killed);
}

}  // namespace lockkeeper::linear
