#include "nemesis/worker.h"

#include <fcntl.h>
#include <unistd.h>

#include <random>

#include "linear/door.h"
#include "support/process.h"

namespace lockkeeper::nemesis {
namespace {

using linear::Asked;
using linear::Call;
using linear::Verb;

// Files, folders and a pattern of one place; most pairs overlap.
const char* const kNames[] = {"a", "b", "d/", "d/c", "*"};
constexpr std::uint64_t kCallsPerPlace = 120;  // then everybody moves on to new names
constexpr std::int64_t kDetachedMs = 3'600'000;
constexpr std::int64_t kWaitMostMs = 2'500;

class Worker {
 public:
  explicit Worker(const WorkerPlan& plan)
      : plan_(plan), random_(plan.seed), number_(plan.first_number) {
    log_ = ::open(plan.log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (log_ < 0) linear::give_up("cannot open " + plan.log);
    const auto killed = [](const Call&, const linear::Death&) {};
    door_ = plan.kind == Kind::kProgram
                ? linear::program_door(plan.program, plan.repo, plan.env, killed)
                : linear::library_door(plan.repo, plan.env);
  }

  void cycle() {
    const std::int64_t began = linear::monotonic_ns();
    const bool held = plan_.kind != Kind::kPulse && (this->*other())();
    // Whoever was refused takes what nobody else wants: only trouble can be in the way of that.
    if (held || own()) plan_.campaign->cycle_began_ns[plan_.index] = began;
    pause(10, 60);
  }

 private:
  using Way = bool (Worker::*)();
  Way other() const { return plan_.kind == Kind::kTimed ? &Worker::timed : &Worker::crowd; }

  bool stopping() const { return plan_.campaign->stop != 0; }
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  // An agent thinks and works.
  void pause(std::uint64_t least_ms, std::uint64_t most_ms) {
    stage::pause_ms(static_cast<int>(least_ms + below(most_ms - least_ms)));
  }

  void write(const std::string& line) const {
    if (::write(log_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      linear::give_up("cannot write the log");
    }
  }

  // What was not answered has no answer in the history, for as long as its process lives.
  bool call(const std::string& owner, const Asked& asked, Call& call, std::int64_t wait_ms = 0) {
    call = {};
    call.number = number_++;
    call.owner = owner;
    call.asked = asked;
    call.process = plan_.process;
    if (plan_.kind == Kind::kProgram) call.process += "." + std::to_string(call.number);
    call.invoked = linear::monotonic_ns();
    write(linear::invocation_line(call));
    const auto queued = [&] {
      write("# queued " + std::to_string(call.number) + " " +
            std::to_string(linear::monotonic_ns()) + "\n");
    };
    const bool answered = door_->ask(call, wait_ms, queued);
    call.returned = linear::monotonic_ns();
    ++plan_.campaign->calls;
    if (!answered || call.told.word == "unknown") {
      ++plan_.campaign->unknown;
      return false;
    }
    write(linear::return_line(call));
    return true;
  }

  // Until somebody answers again: to repeat a request all the time would make a history in which
  // each repetition may have happened or not.
  void await_answers() {
    Asked asked;
    asked.verb = Verb::kCheck;
    asked.wishes.push_back({"own/" + plan_.process, core::Mode::kExclusive});
    Call done;
    do {
      pause(50, 150);
      if (call(plan_.agent + "@" + session(), asked, done) && done.told.word != "failed") return;
    } while (!stopping());
  }

  // The same request until somebody knows; false: we are to stop.
  bool acquire(const std::string& owner, Asked asked, Call& done, std::int64_t wait_ms = 0) {
    asked.verb = Verb::kAcquire;
    asked.request_id = "r" + std::to_string(number_);
    return until_known(owner, asked, done, wait_ms);
  }

  // Gives it back.
  bool release(const Call& grant) {
    Asked asked;
    asked.verb = Verb::kRelease;
    asked.lease = grant.told.lease;
    Call done;
    return until_known(grant.owner, asked, done);
  }

  bool until_known(const std::string& owner, const Asked& asked, Call& done,
                   std::int64_t wait_ms = 0) {
    for (bool unknown = false; !stopping();) {
      const bool answered = call(owner, asked, done, wait_ms);
      if (answered && done.told.word != "failed") {
        if (unknown) ++plan_.campaign->resolved;
        return true;
      }
      unknown |= !answered;
      await_answers();
    }
    return false;
  }

  static bool holds(const Call& call) {
    return call.told.word == "granted" || call.told.word == "renewed";
  }

  void look(const Call& grant) {
    Asked asked;
    asked.verb = Verb::kCheck;
    asked.wishes = grant.asked.wishes;
    asked.fence = grant.told.fence;
    Call done;
    static_cast<void>(call(grant.owner, asked, done));
  }

  void renew(const Call& grant) {
    Asked asked;
    asked.verb = Verb::kRenew;
    asked.lease = grant.told.lease;
    asked.keep_ttl = true;
    Call done;
    static_cast<void>(call(grant.owner, asked, done));
  }

  std::string session() { return plan_.process + "." + std::to_string(++sessions_); }

  bool crowd() {
    const std::uint64_t place = plan_.campaign->calls / kCallsPerPlace;
    const std::string folder =
        "n" + std::to_string(plan_.campaign->round) + "." + std::to_string(place) + "/";
    Asked asked;
    const bool shared = below(4) == 0;
    const core::Mode mode = shared ? core::Mode::kShared : core::Mode::kExclusive;
    const std::size_t first = below(std::size(kNames));
    asked.wishes.push_back({folder + kNames[first], mode});
    if (below(5) == 0) {
      const std::size_t second = (first + 1 + below(std::size(kNames) - 1)) % std::size(kNames);
      asked.wishes.push_back({folder + kNames[second], mode});
    }
    if (below(3) == 0) {
      asked.ttl_ms = kDetachedMs;
    } else {
      asked.attach = plan_.process;
    }
    asked.wait = below(2) == 0;
    const std::string owner = plan_.agent + "@" + session();
    Call grant;
    const auto wait_ms = static_cast<std::int64_t>(200 + below(kWaitMostMs));
    if (!acquire(owner, asked, grant, wait_ms) || !holds(grant)) return false;
    pause(5, 40);
    if (below(3) == 0) look(grant);
    if (below(8) == 0) renew(grant);
    return release(grant);
  }

  // Nobody gives it back: it ends by itself, and whoever waits gets it.
  bool timed() {
    Asked asked;
    asked.wishes.push_back({std::string(kTimedFolder) + std::to_string(plan_.campaign->round),
                            core::Mode::kExclusive});
    asked.ttl_ms = kTimedMs;
    asked.wait = below(2) == 0;
    Call grant;
    static_cast<void>(acquire(plan_.agent + "@" + session(), asked, grant, 4 * kTimedMs));
    return false;
  }

  bool own() {
    Asked asked;
    asked.wishes.push_back({"own/" + plan_.process, core::Mode::kExclusive});
    asked.attach = plan_.process;
    Call grant;
    const std::string owner = plan_.agent + "@" + session();
    return acquire(owner, asked, grant) && holds(grant) && release(grant);
  }

  const WorkerPlan& plan_;
  std::mt19937_64 random_;
  std::uint64_t number_;
  std::uint64_t sessions_ = 0;
  int log_ = -1;
  std::unique_ptr<linear::Door> door_;
};

}  // namespace

void be_worker(const WorkerPlan& plan) {
  Worker worker(plan);
  while (plan.campaign->stop == 0) worker.cycle();
  ::_exit(0);
}

}  // namespace lockkeeper::nemesis
