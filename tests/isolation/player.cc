#include "isolation/player.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>

#include "core/presence.h"
#include "core/testing.h"
#include "core/traces.h"

namespace lockkeeper::isolation {
namespace {

using core::AcquireReply;
using core::AcquireRequest;
using core::Claim;
using core::Event;
using core::Lease;
using core::LeaseId;
using core::Mode;
using core::Outcome;
using core::Owner;

constexpr const char* kWorktree = "/w";  // where files change

std::string joined(const std::vector<std::string>& words, const char* separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

std::string resources_of(const Lease& lease) {
  std::vector<std::string> texts;
  for (const Claim& claim : lease.claims) {
    texts.push_back((claim.mode == Mode::kShared ? "shared:" : "") + claim.resource.text());
  }
  return joined(texts, " ");
}

// "lease ann a, waiter bob b": each conflict once, in the order of their texts.
std::string conflicts_text(const std::vector<core::Conflict>& conflicts) {
  std::vector<std::string> texts;
  for (const core::Conflict& conflict : conflicts) {
    texts.push_back((conflict.waiting ? "waiter " : "lease ") + conflict.holder.owner.agent + " " +
                    conflict.held.resource.text());
  }
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return joined(texts, ", ");
}

std::string text_of(const AcquireReply& reply) {
  switch (reply.outcome) {
    case Outcome::kGranted:
      return "granted";
    case Outcome::kRenewed:
      return "renewed";
    case Outcome::kHeld:
      return "held by " + conflicts_text(reply.conflicts);
    case Outcome::kQueued:
      return "waits behind " + conflicts_text(reply.conflicts);
    case Outcome::kDeadlock: {
      std::vector<std::string> steps;
      for (const core::CycleStep& step : reply.cycle) {
        steps.push_back(step.owner.agent + " waits for " + joined(step.waits_for, " "));
      }
      return "deadlock: " + joined(steps, ", ");
    }
    case Outcome::kTimeout:  // the table itself never says these
    case Outcome::kInterrupted:
      break;
  }
  return "?";
}

// What an event of the history says of somebody whom the step was not about.
std::string effect_of(const Event& event) {
  const std::string what = event.owner.agent + " ";
  const std::string resources = joined(event.resources, " ");
  const std::string why = event.cause.empty() ? event.what : event.cause;
  if (event.what == "granted" && event.cause == "handoff") return what + "gets " + resources;
  if (event.what == "expired" || event.what == "ended" || event.what == "broken" ||
      (event.what == "released" && event.cause == "parent_ended")) {
    return what + "loses " + resources + " (" + why + ")";
  }
  if (event.what == "orphaned") return what + "is orphaned";
  if (event.what == "cancelled") return what + "leaves the queue (" + why + ")";
  return "";
}

class Player {
 public:
  Player(const Spec& spec, kv::Flavour flavour) : spec_(spec), realm_(flavour) {
    meet([this](std::int64_t now) { return realm_.store().open_another(now); });
  }
  Player(const Spec& spec, kv::Store& rows, const OpenStore& open) : spec_(spec), realm_(rows) {
    in_memory_ = false;
    meet([&open](std::int64_t) { return open(); });
  }

  void meet(const core::Machine::Open& open) {
    for (const Session& session : spec_.sessions) {
      owners_[session.name] = {session.agent, session.id};
      processes_[session.name] = processes_.size() + 1;
      if (session.at.empty()) continue;
      place_[session.name] = session.at;
      if (!machines_.contains(session.at)) {
        // Their clocks have nothing to do with one another.
        const auto mono_ms = static_cast<std::int64_t>(1 + 7'654'321 * machines_.size());
        machines_[session.at] = std::make_unique<core::Machine>(open, mono_ms);
      }
    }
    for (const Step& step : spec_.steps) steps_[step.name] = &step;
  }

  std::vector<std::string> run() {
    for (const Move& move : spec_.moves) {
      const std::size_t before = realm_.events().size();
      std::string result = move.step.empty() ? happen(move) : take(*steps_.at(move.step));
      const std::vector<Event> events = realm_.events();
      std::vector<std::string> effects;
      for (std::size_t i = before; i < events.size(); ++i) {
        if (!move.step.empty() && is_own(events[i], *steps_.at(move.step))) continue;
        const std::string effect = effect_of(events[i]);
        if (!effect.empty()) effects.push_back(effect);
      }
      // Of what one commit does to several, only that it does it is promised, not in which order.
      std::sort(effects.begin(), effects.end());
      for (const std::string& effect : effects) result += (result.empty() ? "" : "; ") + effect;
      if (result != move.expected) {
        differ(move.line, (move.step.empty() ? joined(move.words, " ") : move.step), move.expected,
               result);
      }
    }
    compare_end();
    return std::move(problems_);
  }

 private:
  void differ(int line, const std::string& where, const std::string& expected,
              const std::string& got) {
    problems_.push_back("line " + std::to_string(line) + ", " + where + ": expected '" + expected +
                        "', got '" + got + "'");
  }

  // What cancelling and polling do to the asker itself is told by the outcome.
  bool is_own(const Event& event, const Step& step) const {
    const bool about_itself = step.words[0] == "cancel" || step.words[0] == "poll";
    return about_itself && event.owner == owners_.at(step.session);
  }

  std::string happen(const Move& move) {
    const std::string& what = move.words[0];
    if (what == "reboot") realm_.reboot();
    if (what == "pass") pass(duration(move.words.at(1)));
    if (what == "vanish") realm_.store().vanish([](std::string_view) { return true; });
    if (what == "stops") machines_.at(move.words.at(1))->stop();
    if (what == "starts") machines_.at(move.words.at(1))->start(1'000);
    if (machines_.empty()) realm_.maintain();
    for (const auto& [name, machine] : machines_) {
      realm_.machine = machine.get();
      if (machine->is_up()) realm_.maintain();
    }
    return "";
  }

  void pass(std::int64_t ms) {
    realm_.pass(ms);
    if (in_memory_) realm_.store().pass(ms);
    for (const auto& [name, machine] : machines_) machine->pass(ms);
  }

  // The process of whoever takes the step. On another machine: of a session that has a row.
  core::Attachment process_of(const std::string& session) {
    const std::uint64_t number = processes_.at(session);
    if (!place_.contains(session)) return core::process(number);
    const std::uint64_t row = 1'000'000 + hash_of(session);
    if (begun_.insert(session).second) {
      EXPECT_TRUE(realm_.run([&](core::Table& table) -> Result<bool> {
        LK_CHECK(core::begin_session(table.state(), row));
        return true;
      }));
    }
    realm_.machine->prober.heard.insert(number);
    return core::Attachment::remote(number, row);
  }

  std::uint64_t hash_of(const std::string& session) const {
    return static_cast<std::uint64_t>(std::distance(place_.begin(), place_.find(session)));
  }

  // It goes on at another machine, and its session with it.
  std::string move_to(const std::string& session, const std::string& machine) {
    Former former{place_.at(session), {}};
    realm_.machine = machines_.at(machine).get();
    place_[session] = machine;
    const std::uint64_t row = 1'000'000 + hash_of(session);
    const auto moved = realm_.run([&](core::Table& table) -> Result<bool> {
      LK_ASSIGN(former.seen, core::see_session(table.state(), row));
      LK_CHECK(core::take_over_session(table.state(), row));
      return true;
    });
    former_.try_emplace(session, former);
    return moved ? "moved" : std::string(code_name(moved.error().code));
  }

  static std::int64_t duration(const std::string& text) {
    const auto ms = parse_duration_ms(text);
    EXPECT_TRUE(ms.has_value()) << text;
    return ms.value_or(0);
  }

  std::string take(const Step& step) {
    if (!machines_.empty()) realm_.machine = machines_.at(place_.at(step.session)).get();
    const std::string& verb = step.words[0];
    const Owner& owner = owners_.at(step.session);
    const std::vector<std::string> rest(step.words.begin() + 1, step.words.end());
    if (verb == "acquire") return told(step, realm_.acquire(request_of(step, rest)));
    if (verb == "poll") return told(step, realm_.poll(ids_[rest.at(0)]));
    if (verb == "cancel") return told(step, realm_.cancel(ids_[rest.at(0)]));
    if (verb == "check") return check(step, rest);
    if (verb == "release") return release(owner, rest);
    if (verb == "renew") return renew(step, rest.at(0));
    if (verb == "lets-go") return let_go(step, rest.at(0));
    if (verb == "reports") return report(owner, rest);
    if (verb == "looks-at") return look_at(owner, rest.at(0));
    if (verb == "break") {
      const auto broken = realm_.break_lease({.by = owner, .reason = "spec"}, ids_[rest.at(0)]);
      return broken && !broken->empty() ? "broken" : "nothing to break";
    }
    if (verb == "dies") {
      realm_.kill(processes_.at(step.session));
      if (realm_.machine != nullptr) realm_.machine->prober.dead.insert(processes_[step.session]);
      return "dead";
    }
    if (verb == "moves-to") return move_to(step.session, rest.at(0));
    if (verb == "restarts") {
      realm_.kill(processes_.at(step.session));
      processes_[step.session] = ++restarted_;
      return "alive";
    }
    return "there is no action " + verb;
  }

  AcquireRequest request_of(const Step& step, const std::vector<std::string>& words) {
    AcquireRequest request = core::Realm::ask(owners_.at(step.session), {});
    const core::Attachment process = process_of(step.session);
    Mode mode = Mode::kExclusive;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (word == "shared") {
        mode = Mode::kShared;
      } else if (word == "exclusive") {
        mode = Mode::kExclusive;
      } else if (word == "wait") {
        request.wait = true;
        request.waiting_process = process;
      } else if (word == "attached") {
        request.attachment = process;
      } else if (word == "late") {
        const Former& former = former_.at(step.session);
        request.through = former.seen;
        realm_.machine = machines_.at(former.machine).get();
      } else if (word == "for" || word == "grace") {
        std::int64_t& ms = word == "for" ? request.terms.ttl_ms : request.terms.orphan_grace_ms;
        ms = duration(words.at(++i));
      } else if (word == "in" || word == "call") {
        (word == "in" ? request.terms.worktree : request.call) = words.at(++i);
      } else if (word == "under") {
        const std::string& parent = words.at(++i);
        request.under = ids_[parent];
        request.under_fence = fences_[parent];
      } else {
        request.claims.push_back({core::resource(word), mode});
      }
    }
    return request;
  }

  std::string told(const Step& step, const Result<AcquireReply>& reply) {
    if (!reply) return std::string(code_name(reply.error().code));
    if (step.words[0] == "acquire") {
      ids_[step.name] = reply->lease.id;
      fences_[step.name] = reply->lease.fence();
    }
    if (step.words[0] == "cancel" && reply->outcome == Outcome::kHeld) return "left the queue";
    return text_of(*reply);
  }

  std::string check(const Step& step, const std::vector<std::string>& words) {
    const auto reply = realm_.check(request_of(step, words));
    if (!reply) return std::string(code_name(reply.error().code));
    return reply->free ? "free" : "held by " + conflicts_text(reply->conflicts);
  }

  std::string release(const Owner& owner, const std::vector<std::string>& words) {
    std::vector<key::Resource> resources;
    for (const std::string& word : words) resources.push_back(core::resource(word));
    const auto reply =
        realm_.run([&](core::Table& table) { return table.release(owner, resources); });
    if (!reply) return std::string(code_name(reply.error().code));
    std::vector<std::string> parts;
    if (!reply->released.empty()) parts.push_back("released " + joined(reply->released, " "));
    if (!reply->not_held.empty()) parts.push_back("not held " + joined(reply->not_held, " "));
    for (const auto& [text, other] : reply->not_owner)
      parts.push_back(text + " is " + other.agent + "'s");
    return joined(parts, ", ");
  }

  std::string renew(const Step& step, const std::string& of) {
    const auto reply =
        realm_.renew(owners_.at(step.session), ids_[of], std::nullopt, process_of(step.session));
    return reply ? "renewed" : std::string(code_name(reply.error().code));
  }

  std::string let_go(const Step& step, const std::string& of) {
    const core::Attachment own = process_of(step.session);
    const auto reply = realm_.run([&](core::Table& table) {
      return table.give_back(owners_.at(step.session), {ids_[of]}, own);
    });
    if (!reply) return std::string(code_name(reply.error().code));
    return reply->released.empty() ? "let go" : "released " + joined(reply->released, " ");
  }

  std::string report(const Owner& owner, const std::vector<std::string>& words) {
    using Then = core::ReportRequest::Then;
    static const std::map<std::string, Then> kThens{
        {"idle", Then::kIdle}, {"over", Then::kTurnOver}, {"passed-on", Then::kPassedOn}};
    core::ReportRequest request;
    request.owner = owner;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (kThens.contains(word)) {
        request.then = kThens.at(word);
      } else if (word == "turn") {
        request.turn_begins = true;
      } else if (word == "parts-go-on") {
        request.parts_go_on = true;
      } else if (word == "changed") {
        request.worktree = kWorktree;
        request.changed.push_back({words.at(++i), {}, ""});
      } else {
        list_of(request, word).push_back(words.at(++i));
      }
    }
    const auto reply = realm_.run([&](core::Table& table) { return table.report(request); });
    if (!reply) return std::string(code_name(reply.error().code));
    std::string text = reply->ended.empty() ? "noted" : "ended " + joined(reply->ended, " ");
    if (!reply->refused.empty()) text += ", still refused " + joined(reply->refused, " ");
    if (!reply->news.empty()) text += ", news " + joined(reply->news, " ");
    return text;
  }

  static std::vector<std::string>& list_of(core::ReportRequest& report, const std::string& word) {
    if (word == "begun") return report.begun;
    if (word == "done") return report.done;
    if (word == "refused") return report.refused;
    if (word == "settled") return report.settled;
    if (word == "once") return report.once;
    EXPECT_EQ(word, "failed") << "nobody reports this";
    return report.failed;
  }

  // Whoever looks at a file is told who changed it, once.
  std::string look_at(const Owner& owner, const std::string& path) {
    const auto news = realm_.run([&](core::Table& table) -> Result<std::optional<core::Trace>> {
      LK_ASSIGN(std::optional<core::Trace> unseen,
                core::unseen_change(table.state(), owner, kWorktree, path));
      if (unseen) LK_CHECK(core::note_told(table.state(), owner, *unseen));
      return unseen;
    });
    if (!news) return std::string(code_name(news.error().code));
    return *news ? "changed by " + (*news)->owner.agent : "nothing new";
  }

  void compare_end() {
    std::vector<std::string> actual;
    for (const Lease& lease : realm_.leases()) {
      actual.push_back(lease.owner.agent + " holds " + resources_of(lease));
    }
    for (const core::Waiter& waiter : realm_.waiters()) {
      actual.push_back(waiter.request.owner.agent + " waits for " + resources_of(waiter.request));
    }
    if (actual.empty()) actual.emplace_back("nobody holds anything");
    std::vector<std::string> expected = spec_.end;
    std::sort(actual.begin(), actual.end());
    std::sort(expected.begin(), expected.end());
    if (actual != expected) {
      problems_.push_back("in the end: expected '" + joined(expected, "; ") + "', got '" +
                          joined(actual, "; ") + "'");
    }
  }

  const Spec& spec_;
  core::Realm realm_;
  bool in_memory_ = true;
  std::map<std::string, Owner> owners_;
  std::map<std::string, std::uint64_t> processes_;
  std::map<std::string, std::unique_ptr<core::Machine>> machines_;  // by name; empty: one for all
  std::map<std::string, std::string> place_;  // where each session is, if there are several
  // Where a session was at first, and its row there.
  struct Former {
    std::string machine;
    core::SessionSeen seen;
  };
  std::map<std::string, Former> former_;  // of those that have moved
  std::set<std::string> begun_;           // the sessions that have had a row
  std::uint64_t restarted_ = 1'000;
  std::map<std::string, const Step*> steps_;
  std::map<std::string, LeaseId> ids_;
  std::map<std::string, std::uint64_t> fences_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> play(const Spec& spec, kv::Flavour flavour) {
  const bool several =
      std::ranges::any_of(spec.sessions, [](const Session& one) { return !one.at.empty(); });
  if (several && flavour == kv::Flavour::kPessimistic) return {};  // only one machine writes there
  return Player(spec, flavour).run();
}

std::optional<std::vector<std::string>> play(const Spec& spec, const OpenStore& open) {
  const bool of_memory = std::ranges::any_of(spec.moves, [](const Move& move) {
    const std::string what = move.words.empty() ? "" : move.words.front();
    return what == "reboot" || what == "vanish" || what == "stops" || what == "starts";
  });
  if (of_memory) return std::nullopt;
  const std::unique_ptr<kv::Store> rows = open();
  return Player(spec, *rows, open).run();
}

}  // namespace lockkeeper::isolation
