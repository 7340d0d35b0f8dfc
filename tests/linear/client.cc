#include "linear/client.h"

#include <fcntl.h>
#include <unistd.h>

#include <random>

#include "linear/door.h"

namespace lockkeeper::linear {
namespace {

// Files, folders and patterns of one place; most pairs overlap.
const char* const kNames[] = {"a", "b", "d/", "d/c", "*", "d/**", "[ab]", ""};

class Client {
 public:
  explicit Client(const ClientPlan& plan)
      : plan_(plan), random_(plan.seed), number_(plan.first_number) {
    log_ = ::open(plan.log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (log_ < 0) give_up("cannot open " + plan.log);
    const auto killed = [this](const Call& call, const Death& death) {
      write(death_line(call.process, death));
    };
    door_ = plan.program.empty() ? library_door(plan.repo, plan.env)
                                 : program_door(plan.program, plan.repo, plan.env, killed);
  }

  // A stay at one place under a session of its own, so that places have nothing to do with each
  // other. All that is attached is given back at its end; the rest runs out.
  void visit() {
    const std::uint64_t place = plan_.campaign->calls / plan_.campaign->calls_per_place;
    place_ = "n" + std::to_string(place * 2 + below(2)) + "/";
    session_ = plan_.process + "." + std::to_string(++visits_);
    held_.clear();
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

 private:
  struct Held {
    std::string lease;
    std::vector<Wish> wishes;
    std::uint64_t fence;
    std::int64_t ttl_ms;
  };

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  void write(const std::string& line) const {
    if (::write(log_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      give_up("cannot write the log");
    }
  }

  std::string name() { return place_ + kNames[below(std::size(kNames))]; }

  Wish wish(core::Mode mode) { return {name(), mode}; }

  core::Mode mode() { return below(5) < 2 ? core::Mode::kShared : core::Mode::kExclusive; }

  // False: its process was killed; whether it happened is not known, so the stay is over.
  bool call(const Asked& asked, Call& call, std::int64_t wait_ms = 0) {
    call.number = number_++;
    call.owner = plan_.agent + "@" + session_;
    call.asked = asked;
    call.process = plan_.process;
    if (!plan_.program.empty()) call.process += "." + std::to_string(call.number);
    call.invoked = monotonic_ns();
    write(invocation_line(call));
    const auto queued = [&] {
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
    if (!held_.empty() && dice < 30) return release(below(held_.size()));
    if (!held_.empty() && dice < 40) return renew(below(held_.size()));
    if (dice < 60) return check();
    if (dice < 62) return break_key();
    if (!held_.empty() && dice < 68) return again(below(held_.size()));
    return acquire();
  }

  bool acquire() {
    Asked asked;
    const core::Mode how = mode();
    asked.wishes.push_back(wish(how));
    if (below(4) == 0) asked.wishes.push_back(wish(how));
    return acquire(std::move(asked));
  }

  // What it holds already: renewed; or, shared before, an upgrade.
  bool again(std::size_t i) {
    Asked asked;
    asked.wishes = held_[i].wishes;
    if (below(2) == 0) {
      for (Wish& one : asked.wishes) one.mode = core::Mode::kExclusive;
    }
    return acquire(std::move(asked));
  }

  bool acquire(Asked asked) {
    asked.verb = Verb::kAcquire;
    if (below(3) == 0) {
      asked.ttl_ms = static_cast<std::int64_t>(1 + below(plan_.program.empty() ? 30 : 200));
    } else {
      asked.attach = plan_.process;
      asked.ttl_ms = below(2) == 0 ? kNoEnd : 3'600'000;
    }
    asked.wait = below(5) < 2;
    Call done;
    const auto wait_ms = static_cast<std::int64_t>(1 + below(plan_.program.empty() ? 6 : 100));
    if (!call(asked, done, wait_ms)) return false;
    if (done.told.word == "granted") {
      held_.push_back({done.told.lease, asked.wishes, done.told.fence, asked.ttl_ms});
    }
    return true;
  }

  bool release(std::size_t i) {
    Asked asked;
    asked.verb = Verb::kRelease;
    const bool by_name = below(3) == 0;
    if (by_name) {
      asked.wishes = {held_[i].wishes.front()};
    } else {
      asked.lease = held_[i].lease;
      held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    Call done;
    if (!call(asked, done)) return false;
    // Of what was released by name something may be left; the id says not_found if not.
    if (by_name && done.told.word != "released") held_.erase(held_.begin() + std::ptrdiff_t(i));
    return true;
  }

  bool renew(std::size_t i) {
    Asked asked;
    asked.verb = Verb::kRenew;
    asked.lease = held_[i].lease;
    asked.keep_ttl = below(2) == 0;
    if (!asked.keep_ttl) asked.ttl_ms = static_cast<std::int64_t>(1 + below(100));
    Call done;
    if (!call(asked, done)) return false;
    if (done.told.word != "renewed") held_.erase(held_.begin() + std::ptrdiff_t(i));
    return true;
  }

  bool check() {
    Asked asked;
    asked.verb = Verb::kCheck;
    const core::Mode how = mode();
    asked.wishes.push_back(wish(how));
    if (!held_.empty() && below(2) == 0) {
      const Held& held = held_[below(held_.size())];
      asked.fence = held.fence;
      if (below(2) == 0) asked.wishes = {held.wishes.front()};
    }
    Call done;
    return call(asked, done);
  }

  bool break_key() {
    Asked asked;
    asked.verb = Verb::kBreak;
    asked.wishes.push_back(wish(core::Mode::kExclusive));
    Call done;
    return call(asked, done);
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
};

}  // namespace

void be_client(const ClientPlan& plan) {
  Client client(plan);
  while (plan.campaign->stop == 0) client.visit();
  ::_exit(0);
}

}  // namespace lockkeeper::linear
