#include "crew/worker.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "crew/log_pump.h"
#include "crew/record/record_json.h"
#include "crew/record/whole_number.h"
#include "host/file_ops.h"
#include "host/spawn.h"

namespace lockkeeper::crew {
namespace {

constexpr std::size_t kResultBytesMax = 256U << 20;
constexpr std::size_t kMarkBytesMax = 4096;
constexpr int kSilentEndsMax = 3;
static_assert(kChannelFd == 3);  // as host::Program::third

// The supervisor starts with no signal blocked, and inherits only the channel.
Result<pid_t> start_supervisor(std::vector<std::string> words, int channel, int log) {
  host::Program supervisor;
  supervisor.argv = std::move(words);
  supervisor.in = host::kNothing;
  supervisor.out = supervisor.err = log;
  supervisor.third = channel;
  return host::start_program(supervisor);
}

}  // namespace

Result<void> Worker::prepare(Orders orders) {
  number_ = record_.attempts.empty() ? 1 : record_.attempts.back().number + 1;
  LK_ASSIGN(const Folder folder, agents_.folder(file_name_for(record_.id)));
  // A folder that the record does not know belongs to a foreman that could not write its journal.
  for (;; ++number_) {
    LK_ASSIGN(const bool taken, folder.has(std::to_string(number_)));
    if (!taken) break;
  }
  LK_ASSIGN(Folder attempt, folder.folder(std::to_string(number_)));
  orders.number = number_;
  orders.session += "." + std::to_string(number_);
  orders.environment["LOCKKEEPER_ATTEMPT"] = std::to_string(number_);
  LK_CHECK(attempt.write(kOrdersName, orders_text(orders)));
  attempt_ = std::move(attempt);
  record_.attempts.emplace_back().number = number_;
  return {};
}

Result<void> Worker::start(const std::vector<std::string>& program, std::int64_t now_ms) {
  LK_ASSIGN(auto ends, Channel::pair());
  LK_ASSIGN(const Fd log, attempt_->append(kSupervisorLogName));
  std::vector<std::string> words = program;
  words.push_back(attempt_->path());
  LK_ASSIGN(pid_, start_supervisor(std::move(words), ends.second.fd(), log.get()));
  channel_ = std::move(ends.first);
  said_.reset();
  refused_.reset();
  adopted_ = false;
  phase_ = Phase::kAsking;
  since_ms_ = now_ms;
  return {};
}

std::optional<Channel::Message> Worker::hear() {
  if (!channel_) return std::nullopt;
  auto message = channel_->receive(0);
  if (channel_->gone()) channel_.reset();
  if (!message) return std::nullopt;
  const std::string said = message->value("say", "");
  if (said == "ended") {
    if (auto attempt = attempt_from(message->at("attempt"))) said_ = std::move(*attempt);
  } else if (said == "refused") {
    refused_ = message->value("message", "");
  }
  return message;
}

Result<void> Worker::go(const std::string& scope, std::int64_t now_ms) {
  LK_CHECK(attempt_->write("scope.txt", scope));
  channel_->send({{"say", "go"}});
  silent_ends_ = 0;
  phase_ = Phase::kRunning;
  since_ms_ = now_ms;
  return {};
}

void Worker::send_away(std::int64_t now_ms) {
  if (channel_) channel_->send({{"say", "no"}});
  phase_ = Phase::kLeaving;
  since_ms_ = now_ms;
  stop();
}

void Worker::ask(int signal) const {
  if (adopted_ && (!found_ || host::alive(*found_) != host::Alive::kAlive)) return;
  if (pid_ > 0) ::kill(pid_, signal);
}

Result<bool> Worker::read_mark(const Folder& attempt) {
  LK_ASSIGN(const auto text, attempt.read(kStartedName, kMarkBytesMax));
  if (!text) return false;
  const Json mark = Json::parse(*text, nullptr, false);
  if (!mark.is_object()) return true;
  found_ = host::ProcessId{whole_number_or<std::uint64_t>(mark, "pid_namespace", 0),
                           whole_number_or<pid_t>(mark, "pid", 0),
                           whole_number_or<std::uint64_t>(mark, "start_ticks", 0)};
  marked_ms_ = whole_number_or<std::int64_t>(mark, "started_ms", 0);
  return true;
}

Result<bool> Worker::find_again(std::int64_t now_ms) {
  if (!has_open_attempt(record_)) return false;
  number_ = record_.attempts.back().number;
  LK_ASSIGN(attempt_, attempt_folder(agents_, record_.id, number_));
  if (!attempt_) return false;
  adopted_ = true;
  since_ms_ = now_ms;
  phase_ = Phase::kRunning;
  LK_ASSIGN(const bool over, gone());
  if (!over && found_) pid_ = found_->pid;
  return !over;
}

Result<bool> Worker::gone() {
  // The lock comes first: a supervisor writes its result before it frees the lock.
  LK_ASSIGN(const bool alive, host::is_locked(*attempt_, kAliveName));
  LK_ASSIGN(const bool started, read_mark(*attempt_));
  phase_ = started ? Phase::kRunning : Phase::kLeaving;
  if (found_) pid_ = found_->pid;
  if (started && marked_ms_ != 0) since_ms_ = marked_ms_;
  return !alive;
}

Result<std::optional<Attempt>> Worker::finish() {
  const bool wanted = phase_ != Phase::kLeaving && !adopted_;
  phase_ = Phase::kIdle;
  channel_.reset();
  pid_ = 0;
  if (!attempt_) return std::nullopt;
  const Folder folder = std::move(*attempt_);
  attempt_.reset();
  // If the folder vanished, the supervisor's last message is all there is.
  const auto text = folder.read(kResultName, kResultBytesMax);
  if (text && *text) {
    const Json json = Json::parse(**text, nullptr, false);
    LK_ASSIGN(Attempt attempt, attempt_from(json));
    return attempt;
  }
  if (said_) return said_;
  Attempt attempt;
  attempt.number = number_;
  if (refused_) {
    attempt.ending = Ending::kUnstarted;
    attempt.why = *refused_;
    return attempt;
  }
  LK_ASSIGN(const bool started, read_mark(folder));
  if (!started) {
    if (!wanted || ++silent_ends_ < kSilentEndsMax) return std::nullopt;
    silent_ends_ = 0;
    attempt.ending = Ending::kUnstarted;
    attempt.why = "its supervisor ended " + std::to_string(kSilentEndsMax) +
                  " times before the command could start; see " +
                  folder.path_of(kSupervisorLogName);
    return attempt;
  }
  attempt.started_ms = marked_ms_;
  attempt.ending = Ending::kDied;
  attempt.why = "its supervisor was killed; how far the command got is unknown";
  return attempt;
}

std::string Worker::last_line() const {
  const std::vector<std::string> lines =
      attempt_ ? log_tail(*attempt_, 1) : std::vector<std::string>();
  return lines.empty() ? "" : lines.back();
}

}  // namespace lockkeeper::crew
