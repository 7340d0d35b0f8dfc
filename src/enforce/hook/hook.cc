#include "enforce/hook/hook.h"

#include <algorithm>

#include "enforce/hook/after.h"
#include "enforce/hook/asking.h"
#include "enforce/hook/claim.h"
#include "enforce/hook/judge.h"
#include "enforce/hook/session.h"
#include "enforce/hook/words.h"
#include "enforce/shell/danger.h"

namespace lockkeeper::enforce::hook {
namespace {

Answer answer_to(Session& session) {
  const Event& event = session.event();
  switch (event.moment) {
    case Moment::kBefore:
      return event.calls.empty() ? Answer{} : before_call(session, event.calls.front());
    case Moment::kAfter:
    case Moment::kBatchOver:
      return after_calls(session);
    case Moment::kSessionStart:
      return at_session_start(session);
    case Moment::kTurnStart:
      return at_turn_start(session);
    case Moment::kSubagentStart:
      return at_subagent_start(session);
    case Moment::kSubagentOver:
    case Moment::kTurnOver:
    case Moment::kIdle:
    case Moment::kSessionOver:
      return at_end(session);
    case Moment::kQuestion:
      return at_question(session);
    case Moment::kOther:
      return {};
  }
  return {};
}

// What cannot be judged is refused: an edit, or a command that destroys. Whatever else is under way
// is let alone.
bool must_be_judged(const Event& event, const ToolCall& call) {
  const auto touch = touch_of(event.client, call);
  if (!touch || touch->what == Touch::What::kEdit) return true;
  return touch->what == Touch::What::kShell &&
         !shell::look_at_script(touch->command).dangers.empty();
}

Said last_word(const Event& event) {
  if (event.moment != Moment::kBefore) {
    Said said = say(event, {});
    const bool after = event.moment == Moment::kAfter || event.moment == Moment::kBatchOver;
    said.err += "lockkeeper did not answer in time, or crashed";
    if (after) said.err += ": what this call changed may not be recorded under its agent's name";
    said.err += ". To find out why: lockkeeper doctor\n";
    return said;
  }
  const bool harmless = std::ranges::any_of(
      event.calls, [&](const ToolCall& call) { return !must_be_judged(event, call); });
  if (harmless) return say(event, {});
  return say(event, {Verdict::kRefuse,
                     "lockkeeper did not answer in time, or crashed, so this call was refused. To "
                     "find out why: lockkeeper doctor"});
}

}  // namespace

namespace {

constexpr int kWakeLooksApartMs = 1'000;
constexpr int kWakeLastsMs = 600'000;
constexpr int kWakeAloneLastsMs = 60'000;  // nobody watches: a client that is to end waits for us

// Files that were refused in this turn and have not woken it yet. Nullopt: nothing to wait for.
std::optional<std::vector<std::string>> still_refused(Place& place) {
  core::ReportRequest nothing;
  nothing.worktree = place.worktree();
  const auto reply = place.locks().report(nothing);
  if (!reply || reply->refused.empty()) return std::nullopt;
  return reply->refused;
}

}  // namespace

Said answer_wake(const World& world, std::string_view payload,
                 const std::function<bool(int ms)>& sleep_ms) {
  const auto event = read_event(world.client, payload);
  if (!event || event->moment != Moment::kTurnOver) return {};
  if (event->client != Client::kClaude) return {};  // others that read its settings would wait
  if (world.client_gone) return {};
  Session session(world, *event);
  const auto home = session.home();
  if (!session.check() || !home || *home == nullptr || !(*home)->has_table()) return {};
  Place& place = **home;
  if (!place.settings().hook_wake.value) return {};
  const auto attended = realm::variable(world.runtime->env, "CLAUDE_CODE_SESSION_ATTENDED");
  int left_ms = attended && *attended == "0" ? kWakeAloneLastsMs : kWakeLastsMs;
  for (; left_ms > 0; left_ms -= kWakeLooksApartMs) {
    const auto refused = still_refused(place);
    if (!refused) return {};
    core::ReportRequest settled;
    settled.worktree = place.worktree();
    const Freed freed = free_of(session, *refused);
    settled.settled = freed.words;
    if (!freed.words.empty()) {
      static_cast<void>(place.locks().report(settled));
      return {.err = free_words(freed) + "\n", .exit_code = 2};
    }
    if (!sleep_ms(kWakeLooksApartMs)) return {};
  }
  return {};
}

bool is_git_to_judge(std::span<const std::string> words) {
  return !shell::look_at_git(words).empty();
}

Answer judge_git(const World& world, const std::vector<core::Owner>& identities,
                 std::span<const std::string> words) {
  shell::Found found = shell::look_at_git(words);
  if (found.empty()) return {};
  Event event;
  event.moment = Moment::kBefore;
  event.cwd = world.cwd;
  Session session(world, event, identities);
  return judge(session, std::move(found));
}

Said answer_hook(const World& world, std::string_view payload) {
  const auto event = read_event(world.client, payload);
  if (!event) return refuse_unread(world.client, payload, not_judged_words(event.error()));
  if (event->moment == Moment::kOther) return say(*event, {});
  if (world.on_last_word) world.on_last_word(last_word(*event));
  Session session(world, *event);
  if (const auto valid = session.check(); !valid) {
    return say(*event, {Verdict::kRefuse, not_judged_words(valid.error())});
  }
  return say(*event, answer_to(session));
}

}  // namespace lockkeeper::enforce::hook
