// The two ways in which a recorded client reaches the lock table: the service library in its own
// process, and the shipped program, one process a call.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "linear/history.h"

namespace lockkeeper::linear {

class Door {
 public:
  virtual ~Door() = default;
  // Asks what `call` says and fills in what it was told. `queued` is called as soon as it is known
  // to stand in the queue. False: the process that asked was killed, and there is no answer.
  virtual bool ask(Call& call, std::int64_t wait_ms, const std::function<void()>& queued) = 0;
};

std::unique_ptr<Door> library_door(const std::string& repo,
                                   const std::map<std::string, std::string>& env);

// SIGUSR1 kills the program that is under way with SIGKILL, and it alone. `killed` is then told
// when that was.
std::unique_ptr<Door> program_door(const std::string& program, const std::string& repo,
                                   const std::map<std::string, std::string>& env,
                                   const std::function<void(const Call&, const Death&)>& killed);

std::int64_t monotonic_ns();

// Through a hub, a request whose answer was lost is repeated by itself. If what it got was over by
// then, it is told that this is lost. (Under an id of an earlier call, that is another matter.)
inline bool may_be_repeated(const Call& call, const std::map<std::string, std::string>& env) {
  const std::string& id = call.asked.request_id;
  const bool first = id.empty() || id == "r" + std::to_string(call.number);
  return env.contains("LOCKKEEPER_SERVER") && call.asked.verb == Verb::kAcquire && first;
}

// As it calls itself: a hub adds the name of the token to agent and session.
inline std::string name_without_token(core::Owner owner) {
  const auto cut = [](std::string& text) {
    const auto at = text.find('@');
    if (at != std::string::npos) text.erase(at, text.find('/', at) - at);
  };
  cut(owner.agent);
  cut(owner.session);
  return text_of(owner);
}

// An answer that has no place in a history is a failure of the run: says so and ends the process.
[[noreturn]] void give_up(const std::string& why);

}  // namespace lockkeeper::linear
