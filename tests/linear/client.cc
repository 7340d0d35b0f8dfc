#include "linear/client.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

#include "linear/door.h"

namespace lockkeeper::linear {
namespace {

// Files, folders and patterns of one place; most pairs overlap. The program reads the last one as a
// pattern and as a name, so that it is two resources there.
const char* const kNames[] = {"a", "b", "d/", "d/c", "*", "d/**", "", "[ab]"};
// Who asks: mostly the session itself, now and then one of its parts.
const char* const kParts[] = {"", "", "", "", "", "/x", "/x", "/x/1", "/y"};

class Client {
 public:
  explicit Client(const ClientPlan& plan)
      : plan_(plan), random_(plan.seed), number_(plan.first_number) {
    log_ = ::open(plan.log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (log_ < 0) give_up("cannot open " + plan.log);
    const auto killed = [this](const Call& call, const Death& death) {
      write(death_line(call.process, {death.from, death.to + plan_.told_late_ns}));
    };
    door_ = plan.program.empty() ? library_door(plan.repo, plan.env)
                                 : program_door(plan.program, plan.repo, plan.env, killed);
  }

  // Goes on where one that was killed was, in its session.
  void inherit() {
    if (plan_.heritage.empty()) return;
    const Call& last = plan_.heritage.back();
    const std::string& resource = last.asked.wishes.front().resource;
    place_ = resource.substr(0, resource.find('/') + 1);
    const std::string session = owner_of(last.owner).session;
    session_ = session.substr(0, session.find('/'));
    for (const Call& call : plan_.heritage) {
      if (!call.asked.request_id.empty()) asked_.emplace_back(call.owner, call.asked);
      if (!call.told.lease.empty() && below(4) == 0) {
        held_.push_back({call.told.lease, call.owner, call.asked.wishes, call.told.fence, 1});
        if (!renew(held_.size() - 1)) return;
      }
      if (below(5) != 0 && !repeat(call.owner, call.asked)) return;
    }
    stay();
  }

  // A stay at one place, in a session of its own or in the agent's, so that places have nothing to
  // do with each other.
  void visit() {
    const std::uint64_t place = plan_.campaign->calls / plan_.campaign->calls_per_place;
    const std::string name = std::to_string(place * 2 + below(2));
    place_ = "n" + name + "/";
    session_ =
        below(3) == 0 ? plan_.process + "." + std::to_string(++visits_) : "t" + name + plan_.agent;
    held_.clear();
    asked_.clear();
    stay();
  }

 private:
  struct Held {
    std::string lease;
    std::string owner;
    std::vector<Wish> wishes;
    std::uint64_t fence;
    std::int64_t ttl_ms;
  };

  bool library() const { return plan_.program.empty(); }
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  void write(const std::string& line) const {
    if (::write(log_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      give_up("cannot write the log");
    }
  }

  // All that is attached is given back at its end; the rest runs out.
  void stay() {
    for (std::uint64_t left = 4 + below(24); left > 0 && plan_.campaign->stop == 0; --left) {
      if (!act()) return;
    }
    while (!held_.empty()) {
      if (held_.back().ttl_ms != kNoEnd && below(2) == 0) {
        held_.pop_back();
      } else if (!release(held_.size() - 1)) {
        return;
      }
    }
  }

  std::string name() { return place_ + kNames[below(std::size(kNames) - (library() ? 0 : 1))]; }

  Wish wish(core::Mode mode) { return {name(), mode}; }

  core::Mode mode() { return below(5) < 2 ? core::Mode::kShared : core::Mode::kExclusive; }

  // A part may have another name than its session's agent.
  std::string owner() {
    const std::string part = kParts[below(std::size(kParts))];
    const std::string agent = part.empty() || below(3) != 0 ? plan_.agent : "sub";
    return agent + "@" + session_ + part;
  }

  // False: its process was killed; whether it happened is not known, so the stay is over.
  bool call(const std::string& owner, const Asked& asked, Call& call, std::int64_t wait_ms = 0) {
    call.number = number_++;
    call.owner = owner;
    call.asked = asked;
    call.process = plan_.process;
    if (!library()) call.process += "." + std::to_string(call.number);
    call.invoked = monotonic_ns();
    write(invocation_line(call));
    const auto queued = [&] {
      // A hub takes over what is handed to its client before the client knows that it is queued.
      if (plan_.env.contains("LOCKKEEPER_SERVER")) return;
      call.queued = monotonic_ns();
      write(queued_line(call));
    };
    const bool answered = door_->ask(call, wait_ms, queued);
    call.returned = monotonic_ns();
    if (answered) write(return_line(call));
    ++plan_.campaign->calls;
    return answered && call.told.word != "unknown";
  }

  bool act() {
    const std::uint64_t dice = below(100);
    if (!held_.empty() && dice < 28) return release(below(held_.size()));
    if (!held_.empty() && dice < 36) return renew(below(held_.size()));
    if (dice < 54) return check();
    if (dice < 56) return break_key();
    if (!held_.empty() && dice < 62) return again(below(held_.size()));
    if (!asked_.empty() && dice < 68) return once_more();
    return acquire();
  }

  bool acquire() {
    Asked asked;
    const core::Mode how = mode();
    asked.wishes.push_back(wish(how));
    if (below(4) == 0) asked.wishes.push_back(wish(how));
    return acquire(owner(), std::move(asked));
  }

  // What it holds already: renewed; or, shared before, an upgrade.
  bool again(std::size_t i) {
    Asked asked;
    asked.wishes = held_[i].wishes;
    if (below(2) == 0) {
      for (Wish& one : asked.wishes) one.mode = core::Mode::kExclusive;
    }
    return acquire(held_[i].owner, std::move(asked));
  }

  // Under a lease that it knows: by another session, by a part, or by its own holder.
  void go_under(std::string& who, Asked& asked) {
    const Held& host = held_[below(held_.size())];
    asked.under = host.lease;
    asked.under_fence = host.fence;
    if (below(2) == 0) asked.wishes = {host.wishes.front()};
    if (below(3) != 0) who = plan_.agent + "@g" + session_;
  }

  bool acquire(std::string who, Asked asked) {
    asked.verb = Verb::kAcquire;
    if (below(3) == 0) {
      asked.ttl_ms = static_cast<std::int64_t>(1 + below(library() ? 30 : 200));
    } else {
      asked.attach = plan_.process;
      asked.ttl_ms = below(2) == 0 ? kNoEnd : 3'600'000;
      if (library() && below(3) == 0) asked.grace_ms = static_cast<std::int64_t>(1 + below(60));
    }
    // The program does not say when it is in the queue: every order of those who wait is tried.
    asked.wait = below(5) < (library() ? 2 : 1);
    if (!held_.empty() && below(8) == 0) {
      go_under(who, asked);
    } else if (below(4) == 0) {
      asked.request_id = "r" + std::to_string(number_);
      asked_.emplace_back(who, asked);
    }
    return ask(who, asked);
  }

  // For no reason, or by mistake for something else.
  bool once_more() {
    auto [who, asked] = asked_[below(asked_.size())];
    if (below(8) == 0) asked.wishes.front() = wish(asked.wishes.front().mode);
    return repeat(who, asked);
  }

  // By this process, who may wait or not, and keep it or not, whatever the first one did.
  bool repeat(const std::string& who, Asked asked) {
    if (!asked.attach.empty() || below(4) == 0) asked.attach = plan_.process;
    if (below(8) == 0) {
      asked.attach.clear();
      asked.ttl_ms = std::min<std::int64_t>(asked.ttl_ms == kNoEnd ? 20 : asked.ttl_ms, 200);
    }
    if (below(4) == 0) asked.wait = !asked.wait;
    return ask(who, asked);
  }

  bool ask(const std::string& who, const Asked& asked) {
    Call done;
    const auto wait_ms = static_cast<std::int64_t>(1 + below(library() ? 6 : 40));
    if (!call(who, asked, done, wait_ms)) {
      // Was it granted? Whoever asks once more knows.
      return asked.under.empty() && below(3) != 0 && repeat(who, asked);
    }
    const bool holds = done.told.word == "granted" || done.told.word == "renewed";
    if (holds && std::ranges::find(held_, done.told.lease, &Held::lease) == held_.end()) {
      held_.push_back({done.told.lease, who, asked.wishes, done.told.fence, asked.ttl_ms});
    }
    return true;
  }

  void drop(std::size_t i) { held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i)); }

  bool release(std::size_t i) {
    Asked asked;
    asked.verb = Verb::kRelease;
    const std::string who = held_[i].owner;
    const bool by_name = below(3) == 0;
    if (library() && below(3) != 0) asked.attach = plan_.process;
    if (by_name) {
      asked.wishes = {held_[i].wishes.front()};
    } else {
      asked.lease = held_[i].lease;
      asked.only_own_hold = !asked.attach.empty() && below(2) == 0;
      drop(i);
    }
    Call done;
    if (!call(who, asked, done)) return false;
    // Of what was released by name something may be left; the id says not_found if not.
    if (by_name && done.told.word != "released") drop(i);
    return true;
  }

  bool renew(std::size_t i) {
    Asked asked;
    asked.verb = Verb::kRenew;
    asked.lease = held_[i].lease;
    asked.keep_ttl = below(2) == 0;
    if (!asked.keep_ttl) asked.ttl_ms = static_cast<std::int64_t>(1 + below(100));
    Call done;
    if (!call(held_[i].owner, asked, done)) return false;
    if (done.told.word != "renewed") drop(i);
    return true;
  }

  bool check() {
    Asked asked;
    asked.verb = Verb::kCheck;
    const core::Mode how = mode();
    std::string who = owner();
    asked.wishes.push_back(wish(how));
    if (!held_.empty() && below(2) == 0) {
      const Held& held = held_[below(held_.size())];
      asked.fence = held.fence;
      if (below(2) == 0) asked.wishes = {held.wishes.front()};
    }
    if (!held_.empty() && below(6) == 0) go_under(who, asked);
    Call done;
    return call(who, asked, done);
  }

  bool break_key() {
    Asked asked;
    asked.verb = Verb::kBreak;
    asked.wishes.push_back(wish(core::Mode::kExclusive));
    Call done;
    return call(owner(), asked, done);
  }

  const ClientPlan& plan_;
  std::mt19937_64 random_;
  std::uint64_t number_;
  int log_ = -1;
  std::unique_ptr<Door> door_;
  std::uint64_t visits_ = 0;
  std::string place_;
  std::string session_;
  std::vector<Held> held_;
  std::vector<std::pair<std::string, Asked>> asked_;  // with a request id
};

}  // namespace

std::vector<Call> left_behind(const std::string& log) {
  constexpr std::streamoff kTail = 4096;
  constexpr std::size_t kMost = 3;
  std::ifstream file(log, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? std::streamoff(file.tellg()) : 0;
  file.seekg(std::max<std::streamoff>(0, size - kTail));
  std::string line, text;
  if (size > kTail) std::getline(file, line);
  std::set<std::string> asked;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string kind, number;
    words >> kind >> number;
    if (kind == ">") asked.insert(number);
    if (asked.contains(number)) text += line + "\n";
  }
  std::vector<Call> calls = parse_history(text).calls;
  std::erase_if(calls, [](const Call& call) {
    const bool holds = call.told.word == "granted" || !call.answered();
    return !holds || call.asked.verb != Verb::kAcquire || !call.asked.under.empty();
  });
  // Those of the last session alone.
  const auto session = [](const Call& call) {
    const std::string name = owner_of(call.owner).session;
    return name.substr(0, name.find('/'));
  };
  std::erase_if(calls, [last = calls.empty() ? "" : session(calls.back()),
                        &session](const Call& call) { return session(call) != last; });
  if (calls.size() > kMost) calls.erase(calls.begin(), calls.end() - kMost);
  return calls;
}

void be_client(const ClientPlan& plan) {
  Client client(plan);
  client.inherit();
  while (plan.campaign->stop == 0) client.visit();
  ::_exit(0);
}

}  // namespace lockkeeper::linear
