#include "small_world.h"

#include <algorithm>

namespace lockkeeper::sim {

using core::LeaseId;
using core::Outcome;

namespace {

constexpr std::int64_t kBriefMs = 1'000;
constexpr std::int64_t kLongMs = 60'000;
constexpr std::int64_t kLastingMs = 3'600'000;
constexpr std::int64_t kGraceMs = 500;
constexpr std::int64_t kFencesLost = 10;  // from one boot to the next
constexpr int kTriesMax = 40;
constexpr int kRoundsMax = 30;

// One run of the story, in which somebody else decides who is next.
class Play {
 public:
  Play(const World& world, const Story& story, kv::Flavour flavour, Probes& probes,
       std::string* trace)
      : story_(story),
        watch_(world, probes, flavour, core::Limits{}, {.audit_every = 16, .full_audit_every = 16}),
        view_(watch_.processes, 0) {
    watch_.trace = trace;
    for (const Program& program : story.actors) {
      Actor& actor = actors_.emplace_back();
      actor.owner = program.owner;
      actor.process = watch_.processes.start();
    }
    for (const auto& [who, step] : story.before) {
      Actor& actor = actors_[static_cast<std::size_t>(who)];
      perform(actor, step);
    }
  }

  // Who can take a step.
  std::vector<int> ready() const {
    std::vector<int> who;
    for (std::size_t i = 0; i < actors_.size(); ++i) {
      const bool more = actors_[i].next < story_.actors[i].steps.size();
      if (!actors_[i].dead && more) who.push_back(static_cast<int>(i));
    }
    return who;
  }

  void advance(int who) {
    Actor& actor = actors_[static_cast<std::size_t>(who)];
    const Step& step = story_.actors[static_cast<std::size_t>(who)].steps[actor.next];
    if (watch_.flavour == kv::Flavour::kPessimistic) {
      perform(actor, step);
      ++actor.next;
      return;
    }
    if (actor.open) {
      // Refused: nothing has happened, as if it had only begun now, which is another schedule. So
      // it is done at once: what could come in between comes in between there.
      if (!commit(actor)) execute(actor, Op(*actor.op));
      ++actor.next;
      return;
    }
    actor.op = op_of(actor, step);
    // Not a transaction, or one that is not needed: a step of its own.
    if (!actor.op || !begin(actor)) ++actor.next;
  }

  // L9: nobody does anything but wait, give back and look; everything must end.
  void drain() {
    for (int round = 0; round < kRoundsMax; ++round) {
      if (watch_.model.leases.empty() && watch_.model.waiters.empty()) return check();
      for (Actor& actor : actors_) {
        if (!actor.dead) perform(actor, Step{.kind = Step::Kind::kPoll});
        std::vector<LeaseId> own;
        for (const auto& [id, lease] : watch_.model.leases) {
          if (lease.owner == actor.owner) own.push_back(id);
        }
        if (!own.empty()) execute(actor, simple(actor, Op::Kind::kReleaseLeases, own));
      }
      if (round % 4 == 3) watch_.model.now += kLongMs;
      if (round % 4 == 3) perform(actors_.front(), Step{});
    }
    throw Violation("L9: everybody gives back what it has, and this never ends");
  }

 private:
  struct Actor {
    core::Owner owner;
    std::uint64_t process = 0;
    bool dead = false;
    std::size_t next = 0;
    std::optional<Op> op;
    std::optional<Watch::Open> open;
    std::optional<Op> last;  // acquire
    LeaseId last_id;
    std::vector<LeaseId> held;
    std::vector<LeaseId> waiting;
    int tries = 0;
  };

  static Op simple(const Actor& actor, Op::Kind kind, std::vector<LeaseId> ids = {}) {
    Op op;
    op.kind = kind;
    op.owner = actor.owner;
    op.ids = std::move(ids);
    return op;
  }

  Op ask(Actor& actor, const Step& step) {
    Op op = simple(actor, Op::Kind::kAcquire);
    core::AcquireRequest& request = op.request;
    request.owner = actor.owner;
    for (const int resource : step.resources) {
      request.claims.push_back({watch_.world.resource(resource), step.mode});
    }
    request.terms.ttl_ms = step.brief ? kBriefMs : step.lasting ? kLastingMs : kLongMs;
    request.terms.worktree = step.worktree;
    request.call = step.call;
    if (step.attached) request.attachment = Processes::by_slot(actor.process);
    if (step.grace) request.terms.orphan_grace_ms = kGraceMs;
    // A hook that asks again does so with the same call.
    if (step.call.empty()) request.terms.request_id = "r" + std::to_string(++requests_);
    request.wait = step.wait;
    request.waiting_process = Processes::by_slot(actor.process);
    request.wake = ++words_;
    const auto parent = watch_.model.leases.find(
        actors_.front().held.empty() ? LeaseId{} : actors_.front().held.back());
    if (step.under && parent != watch_.model.leases.end()) {
      request.under = parent->first;
      request.under_fence = parent->second.fence;
    }
    return op;
  }

  // What the step means now; nullopt: nothing that the table is asked.
  std::optional<Op> op_of(Actor& actor, const Step& step) {
    switch (step.kind) {
      case Step::Kind::kAcquire:
        actor.last = ask(actor, step);
        return actor.last;
      case Step::Kind::kRepeat:
        return actor.last;
      case Step::Kind::kPoll:
        if (actor.waiting.empty()) return std::nullopt;
        return simple(actor, Op::Kind::kPoll, {actor.waiting.front()});
      case Step::Kind::kCancel:
        if (actor.last_id.empty()) return std::nullopt;
        return simple(actor, Op::Kind::kCancel, {actor.last_id});
      case Step::Kind::kRelease:
      case Step::Kind::kRenew: {
        if (actor.held.empty()) return std::nullopt;
        const bool renews = step.kind == Step::Kind::kRenew;
        Op op = simple(actor, renews ? Op::Kind::kRenew : Op::Kind::kReleaseLeases,
                       {actor.held.back()});
        if (renews) op.attachment = Processes::by_slot(actor.process);
        return op;
      }
      case Step::Kind::kGiveBack: {
        Op op = simple(actor, Op::Kind::kRelease);
        op.resources = step.resources;
        return op;
      }
      case Step::Kind::kBreak:
        return to_break(actor, step);
      case Step::Kind::kCheck: {
        Op op = ask(actor, step);
        op.kind = Op::Kind::kCheck;
        op.request.terms.request_id.clear();
        return op;
      }
      case Step::Kind::kMaintain: {
        Op op = simple(actor, Op::Kind::kMaintain);
        op.most = 10;
        return op;
      }
      case Step::Kind::kLetGo: {
        if (actor.held.empty()) return std::nullopt;
        Op op = simple(actor, Op::Kind::kGiveBack, {actor.held.back()});
        op.attachment = Processes::by_slot(actor.process);
        return op;
      }
      case Step::Kind::kReport: {
        Op op = simple(actor, Op::Kind::kReport);
        op.report = step.report;
        op.report.owner = actor.owner;
        return op;
      }
      case Step::Kind::kExpire:
      case Step::Kind::kPass:
      case Step::Kind::kDie:
      case Step::Kind::kReboot:
        happen(actor, step);
        return std::nullopt;
    }
    return std::nullopt;
  }

  void happen(Actor& actor, const Step& step) {
    if (step.kind == Step::Kind::kReboot) return reboot();
    if (step.kind == Step::Kind::kDie) {
      watch_.processes.kill(actor.process);
      actor.dead = true;
      watch_.note(actor.owner.agent + " dies\n");
      return;
    }
    watch_.model.now += step.kind == Step::Kind::kPass ? step.pass_ms : kBriefMs + 1;
    watch_.note("time passes\n");
  }

  // What was not committed has not happened, and what waited is not there any more.
  void reboot() {
    for (Actor& actor : actors_) {
      if (actor.open) ++actor.next;
      actor.open.reset();
      actor.waiting.clear();
    }
    kv::Epoch next = watch_.epoch;
    ++next.id;
    next.fence_offset += kFencesLost;
    next.start_mono_ms = kBriefMs;
    watch_.reboot(next);
    for (Actor& actor : actors_) {
      if (actor.dead) continue;
      actor.process = watch_.processes.start();
      if (!actor.last) continue;
      core::AcquireRequest& request = actor.last->request;
      request.waiting_process = Processes::by_slot(actor.process);
      if (request.attachment.attached()) request.attachment = request.waiting_process;
    }
  }

  std::optional<Op> to_break(const Actor& actor, const Step& step) const {
    std::vector<LeaseId> ids;
    for (const auto& [id, lease] : watch_.model.leases) {
      const bool wanted =
          std::any_of(lease.wants.begin(), lease.wants.end(), [&](const Want& want) {
            return watch_.world.overlap(want.resource, step.resources.front());
          });
      if (lease.owner != actor.owner && wanted) ids.push_back(id);
    }
    if (ids.empty()) return std::nullopt;
    Op op = simple(actor, Op::Kind::kBreak, std::move(ids));
    op.how = {actor.owner, "in the way", false, false};
    return op;
  }

  void perform(Actor& actor, const Step& step) {
    const std::optional<Op> op = op_of(actor, step);
    if (op) execute(actor, *op);
  }

  void execute(Actor& actor, const Op& op) {
    actor.op = op;
    while (begin(actor) && !commit(actor)) {
    }
  }

  // False: it ended in an error, which was judged.
  bool begin(Actor& actor) {
    auto open = watch_.open(watch_.store(), *actor.op, view_);
    watch_.note("[" + std::to_string(watch_.model.now) + "] " + Judge::describe(*actor.op) +
                (open ? "\n" : "  =>  " + open.error().message + "\n"));
    if (open) {
      actor.open = std::move(*open);
      return true;
    }
    for (const LeaseId& id : actor.op->ids) {
      std::erase(actor.waiting, id);
      std::erase(actor.held, id);
    }
    return false;
  }

  // False: it must begin again.
  bool commit(Actor& actor) {
    const kv::Version before = watch_.store().version();
    const auto fate = watch_.finish(*actor.open, *actor.op, view_, before);
    if (!fate) throw Violation("the store failed: " + fate.error().message);
    const Watch::Open done = std::move(*actor.open);
    actor.open.reset();
    watch_.note("  " + actor.owner.agent + " commits\n");
    if (*fate == Watch::Fate::kTryAgain) {
      if (++actor.tries > kTriesMax) throw Violation("an operation that never ends");
      return false;
    }
    learn(actor, done.answer);
    return true;
  }

  static void learn(Actor& actor, const Answer& answer) {
    if (actor.op->kind == Op::Kind::kReleaseLeases || actor.op->kind == Op::Kind::kGiveBack) {
      for (const LeaseId& id : actor.op->ids) std::erase(actor.held, id);
    }
    const auto* reply = std::get_if<core::AcquireReply>(&answer);
    if (reply == nullptr) return;
    const LeaseId& id = reply->lease.id;
    std::erase(actor.waiting, id);
    std::erase(actor.held, id);
    if (actor.op->kind == Op::Kind::kAcquire) actor.last_id = id;
    if (reply->outcome == Outcome::kQueued) actor.waiting.push_back(id);
    const bool has = reply->outcome == Outcome::kGranted || reply->outcome == Outcome::kRenewed;
    if (has) actor.held.push_back(id);
  }

  void check() {
    auto reader = watch_.store().begin(kv::Access::kRead);
    if (!reader) throw Violation("cannot read the store");
    watch_.audit(**reader, view_, true);
  }

  const Story& story_;
  Watch watch_;
  const View view_;
  std::vector<Actor> actors_;
  std::uint64_t requests_ = 0;
  std::uint64_t words_ = 0;
};

// Follows `schedule` where there is a choice, then always the first; notes how many there were.
void follow(Play& play, Schedule& schedule, std::vector<int>& choices) {
  choices.clear();
  for (std::vector<int> ready = play.ready(); !ready.empty(); ready = play.ready()) {
    std::size_t pick = 0;
    if (ready.size() > 1) {
      if (choices.size() == schedule.size()) schedule.push_back(0);
      pick = static_cast<std::size_t>(schedule[choices.size()]);
      choices.push_back(static_cast<int>(ready.size()));
    }
    play.advance(ready.at(pick));
  }
  play.drain();
}

}  // namespace

std::string describe(const Schedule& schedule) {
  std::string text;
  for (const int choice : schedule) text += std::to_string(choice);
  return text;
}

namespace {

std::string text_of_report(const core::ReportRequest& report) {
  static const char* const kThens[] = {"", " idle", " over", " passed on"};
  std::string text = report.turn_begins ? " turn" : "";
  for (const std::string& call : report.begun) text += " begun " + call;
  for (const std::string& call : report.done) text += " done " + call;
  for (const std::string& call : report.failed) text += " failed " + call;
  text += kThens[static_cast<std::size_t>(report.then)];
  return report.parts_go_on ? text + ", parts go on" : text;
}

}  // namespace

std::string describe(const Story& story, const World& world) {
  static const char* const kNames[] = {
      "acquire",  "poll",   "cancel", "release", "give back", "renew",  "break", "check",
      "maintain", "repeat", "let go", "expire",  "die",       "report", "pass",  "reboot"};
  const auto text_of = [&](const Step& step) {
    std::string text = kNames[static_cast<std::size_t>(step.kind)];
    const bool modes = step.kind == Step::Kind::kAcquire;
    if (modes && step.mode == core::Mode::kShared) text += " shared";
    for (const int resource : step.resources) text += " " + world.resource(resource).text();
    if (step.wait) text += " wait";
    if (step.brief) text += " brief";
    if (step.attached) text += " attached";
    if (step.grace) text += " grace";
    if (step.under) text += " under";
    if (step.lasting) text += " lasting";
    if (!step.worktree.empty()) text += " in " + step.worktree;
    if (!step.call.empty()) text += " call " + step.call;
    if (step.pass_ms != 0) text += " " + std::to_string(step.pass_ms) + " ms";
    return text + text_of_report(step.report);
  };
  std::string text = story.name;
  for (const auto& [who, step] : story.before) {
    text += "\n  before: " + story.actors[static_cast<std::size_t>(who)].owner.agent + ": " +
            text_of(step);
  }
  for (const Program& actor : story.actors) {
    text += "\n  " + actor.owner.agent + "(" + actor.owner.session + "):";
    for (const Step& step : actor.steps) text += " " + text_of(step) + ";";
  }
  return text;
}

std::uint64_t play_all(const World& world, const Story& story, kv::Flavour flavour,
                       Probes& probes) {
  Schedule schedule;
  std::vector<int> choices;
  std::uint64_t count = 0;
  for (;;) {
    try {
      Play play(world, story, flavour, probes, nullptr);
      follow(play, schedule, choices);
    } catch (const Violation& violation) {
      throw Violation("schedule " + describe(schedule) + "\n" + violation.what());
    }
    ++count;
    // The next one: the last choice that has another side.
    while (!schedule.empty() && schedule.back() + 1 == choices[schedule.size() - 1]) {
      schedule.pop_back();
    }
    if (schedule.empty()) return count;
    ++schedule.back();
  }
}

void play_one(const World& world, const Story& story, kv::Flavour flavour, const Schedule& schedule,
              std::string& trace) {
  Probes ignored;
  Schedule told = schedule;
  std::vector<int> choices;
  Play play(world, story, flavour, ignored, &trace);
  follow(play, told, choices);
}

}  // namespace lockkeeper::sim
