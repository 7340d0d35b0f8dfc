#include "enforce/hook/claim.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/text.h"
#include "enforce/hook/after.h"
#include "enforce/hook/asking.h"
#include "enforce/hook/clean_files.h"
#include "enforce/hook/disk_look.h"
#include "enforce/hook/judge.h"
#include "enforce/hook/keeping.h"
#include "enforce/hook/words.h"
#include "realm/disk_path.h"
#include "realm/hook_settings.h"
#include "service/messages.h"

namespace lockkeeper::enforce::hook {
namespace {

using realm::HookPolicy;

Answer refused(std::string why) {
  return {Verdict::kRefuse, std::move(why)};
}

// The files of one call in one worktree.
class Claiming {
 public:
  // `files`: how many the whole call names.
  Claiming(Session& session, const ToolCall& call, Targets& targets, std::size_t files)
      : session_(session), call_(call), targets_(targets), place_(*targets.place), files_(files) {}

  Answer claim();
  // Another place refused the call.
  void undo();
  // It passes although somebody else has claimed one of the files.
  bool met_somebody() const { return met_somebody_; }
  // Whoever edits a file that is as the last commit has it goes on with nobody's work.
  void put_away();

 private:
  service::AcquireCommand command() const;
  Result<service::AcquireResult> ask();
  Result<service::AcquireResult> ask_without_parent(const Error& lost);
  Answer granted(const service::AcquireResult& result);
  Answer in_vain(const service::AcquireResult& result);
  Answer by_policy(const std::vector<core::Conflict>& conflicts);
  Answer warned(const std::vector<core::Conflict>& conflicts);
  Answer failed(const Error& error);
  bool is_worth_waiting(const std::vector<core::Conflict>& conflicts) const;
  HookPolicy policy_of(const core::Conflict& conflict) const;
  void drop_calls_that_failed();
  std::vector<std::string> existing_replaced() const;
  std::vector<std::string> file_paths() const;
  bool is_about_targets(const core::LostLease& lost) const;
  // Records it, and tells whoever is in the way: once for each file.
  void record(const std::string& what, const std::vector<core::Conflict>& conflicts, bool waits);
  bool first_time(const std::string& word);

  core::ReportRequest report() const {
    core::ReportRequest request;
    request.worktree = place_.worktree();
    return request;
  }
  Listener listener() const;

  Session& session_;
  const ToolCall& call_;
  Targets& targets_;
  Place& place_;
  std::size_t files_;
  bool met_somebody_ = false;
  std::optional<std::vector<core::Trace>> traces_;  // of its files, if the grant brought them
};

Listener Claiming::listener() const {
  Listener to{.asker = session_.owner(), .now_wall_ms = session_.now().wall_ms};
  to.names = session_.names_of(place_);
  to.files = files_;
  const auto home = session_.home();
  const bool here = home && *home != nullptr && (*home)->realm().same_table(place_.realm());
  if (!here) to.list += " --realm " + shell_quote(place_.worktree());
  return to;
}

service::AcquireCommand Claiming::command() const {
  service::AcquireCommand command = edit_command(session_, place_);
  for (const Target& target : targets_.files) {
    std::ranges::copy(target.resources, std::back_inserter(command.wanted.resources));
  }
  command.call = Session::edit_id(call_);
  command.terms.reason = "tool call: " + (call_.tool.empty() ? "edit" : call_.tool);
  const bool one_table = place_.settings().hook_worktrees.value == realm::HookWorktrees::kBlock;
  if (!one_table) command.terms.worktree = place_.worktree();
  command.worktree = place_.worktree();
  command.traced = file_paths();
  return command;
}

std::vector<std::string> Claiming::file_paths() const {
  std::vector<std::string> paths;
  for (const Target& target : targets_.files) {
    if (target.resources.front().kind() == key::Kind::kFile) paths.push_back(target.path());
  }
  return paths;
}

void Claiming::put_away() {
  if (!place_.has_table()) return;
  if (!traces_)
    traces_ =
        place_.locks().traces(place_.worktree(), file_paths()).value_or(std::vector<core::Trace>());
  if (!traces_->empty()) put_away_clean(session_, place_, *traces_);
}

// Codex makes its edits one after the other, and says nothing of one that failed. (Claude Code says
// at the end of a batch what became of all its calls.)
void Claiming::drop_calls_that_failed() {
  if (session_.event().client != Client::kCodex) return;
  const auto own = place_.locks().own_calls();
  if (!own) return;  // whoever asks for the lock meets the same error
  core::ReportRequest request = report();
  for (const core::RunningCall& running : *own) {
    const bool edit = running.id.starts_with("edit ") && running.id != Session::edit_id(call_);
    if (edit) request.failed.push_back(running.id);
  }
  if (!request.failed.empty()) static_cast<void>(place_.locks().report(request));
}

Result<service::AcquireResult> Claiming::ask() {
  auto result = place_.locks().acquire(command());
  if (!result || result->outcome != core::Outcome::kHeld) {
    if (result) traces_ = result->traces;
    return result;
  }
  const auto must_wait = [&](const core::Conflict& conflict) {
    return policy_of(conflict) == HookPolicy::kWait;
  };
  const std::int64_t wait_ms = place_.settings().hook_wait_ms.value;
  const bool waits = wait_ms > 0 && std::ranges::all_of(result->conflicts, must_wait) &&
                     is_worth_waiting(result->conflicts);
  if (!waits) return result;
  service::AcquireCommand waiting = command();
  waiting.wait_ms = wait_ms;
  waiting.on_wait = [this](const service::WaitProgress& progress) {
    return is_worth_waiting(progress.conflicts);
  };
  auto waited = place_.locks().acquire(waiting);
  if (waited) waited->lost.insert(waited->lost.begin(), result->lost.begin(), result->lost.end());
  return waited;
}

// Whoever is in the way is in the middle of a call on that file, or has nearly moved on. A user who
// is being asked may take any time.
bool Claiming::is_worth_waiting(const std::vector<core::Conflict>& conflicts) const {
  const std::int64_t until_mono_ms = session_.now().mono_ms + place_.settings().hook_wait_ms.value;
  return std::ranges::all_of(conflicts, [&](const core::Conflict& conflict) {
    if (!conflict.holder.edit || conflict.waiting) return conflict.waiting;
    const bool soon = conflict.yields || conflict.yields_mono_ms <= until_mono_ms;
    const core::Edit& edit = *conflict.holder.edit;
    return soon || (!edit.calls.empty() && !is_asked(edit));
  });
}

HookPolicy Claiming::policy_of(const core::Conflict& conflict) const {
  return realm::hook_policy_for(place_.settings(), conflict.requested.resource);
}

Answer Claiming::claim() {
  drop_calls_that_failed();
  auto result = ask();
  if (!result && result.error().code == Code::kLost) result = ask_without_parent(result.error());
  if (!result) return failed(result.error());
  const bool got =
      result->outcome == core::Outcome::kGranted || result->outcome == core::Outcome::kRenewed;
  return got ? granted(*result) : in_vain(*result);
}

// The client was started under a lease that is gone. Its agent is told once, and then works on its
// own.
Result<service::AcquireResult> Claiming::ask_without_parent(const Error& lost) {
  const bool news = first_time("parent");
  if (news) return fail(lost);
  place_.locks() = service::Locks(place_.site(), session_.owner());
  return ask();
}

Answer Claiming::granted(const service::AcquireResult& result) {
  const bool can_tell_now = can_tell(session_.event());
  std::vector<core::LostLease> lost = result.lost;
  const bool about =
      std::ranges::any_of(lost, [&](const core::LostLease& one) { return is_about_targets(one); });
  if (about || (!lost.empty() && !can_tell_now)) {
    undo();
    return refused(lost_words(lost) +
                   ". The call was refused once because of that. Read the file again, then repeat "
                   "it if it is still right");
  }
  const std::vector<std::string> replaced = existing_replaced();
  if (!replaced.empty()) {
    const auto unseen = place_.locks().unseen(place_.worktree(), replaced);
    if (!unseen) {
      undo();
      return failed(unseen.error());
    }
    if (!unseen->empty()) {
      undo();
      return refused(stale_words(*unseen, listener()));
    }
  }
  Lines lines;
  if (!lost.empty()) lines.add(lost_words(lost));
  const bool told = place_.settings().hook_worktrees.value == realm::HookWorktrees::kWarn;
  for (const core::Conflict& there : result.elsewhere) {
    const std::string word = "elsewhere " + there.requested.resource.text() + " " +
                             there.holder.owner.agent + " " + there.holder.owner.session;
    if (!told || !can_tell_now || !first_time(word)) continue;
    lines.add(elsewhere_words(there));
  }
  return {.tell = lines.text()};
}

std::vector<std::string> Claiming::existing_replaced() const {
  std::vector<std::string> paths;
  for (const Target& target : targets_.files) {
    struct stat info{};
    const std::string file = realm::join_path(place_.worktree(), target.path());
    if (target.replaced && ::lstat(file.c_str(), &info) == 0) paths.push_back(target.path());
  }
  return paths;
}

bool Claiming::is_about_targets(const core::LostLease& lost) const {
  return std::ranges::any_of(targets_.files, [&](const Target& target) {
    return std::ranges::any_of(target.resources, [&](const key::Resource& resource) {
      return std::ranges::find(lost.resources, resource.text()) != lost.resources.end();
    });
  });
}

Answer Claiming::in_vain(const service::AcquireResult& result) {
  Answer answer;
  if (result.outcome == core::Outcome::kDeadlock) {
    record("refused", result.conflicts, true);
    answer = refused(deadlock_words(result, listener()));
  } else {
    answer = by_policy(result.conflicts);
  }
  if (result.lost.empty()) return answer;
  Lines lines;
  lines.add(answer.tell);
  lines.add(lost_words(result.lost));
  answer.tell = lines.text();
  return answer;
}

// The strictest policy of what is in the way.
Answer Claiming::by_policy(const std::vector<core::Conflict>& conflicts) {
  const auto any = [&](HookPolicy policy) {
    return std::ranges::any_of(
        conflicts, [&](const core::Conflict& each) { return policy_of(each) == policy; });
  };
  const bool asks = any(HookPolicy::kAsk);
  if (any(HookPolicy::kBlock) || any(HookPolicy::kWait) || (asks && !can_ask(session_.event()))) {
    record("refused", conflicts, true);
    return refused(held_words(conflicts, listener()));
  }
  if (asks) {
    record("asked", conflicts, true);
    return {Verdict::kAsk, question_words(conflicts, listener())};
  }
  return warned(conflicts);
}

// Lets it pass. What is free is claimed.
Answer Claiming::warned(const std::vector<core::Conflict>& conflicts) {
  met_somebody_ = true;
  record("warned", conflicts, false);
  std::erase_if(targets_.files, [&](const Target& target) {
    return std::ranges::any_of(target.resources, [&](const key::Resource& resource) {
      return std::ranges::any_of(conflicts, [&](const core::Conflict& conflict) {
        return conflict.requested.resource == resource;
      });
    });
  });
  if (!targets_.files.empty()) {
    static_cast<void>(place_.locks().acquire(command()));
  } else {
    core::ReportRequest request = report();
    request.begun = {Session::edit_id(call_)};
    static_cast<void>(place_.locks().report(request));
  }
  Lines lines;
  for (const core::Conflict& conflict : conflicts) {
    lines.add("lockkeeper: " + in_the_way(conflict, listener()) +
              ". This call was let through, because the policy is \"warn\"; the other side is "
              "told of it");
    break;
  }
  return {.tell = lines.text()};
}

bool Claiming::first_time(const std::string& word) {
  core::ReportRequest request = report();
  request.once = {word};
  const auto reply = place_.locks().report(request);
  return reply && !reply->news.empty();
}

// It may be read long after, so it says what was.
std::string words_to_holder(const std::string& what, const std::string& file) {
  if (what == "warned") {
    return "edited " + file + " while you held it: the policy \"warn\" let the call pass";
  }
  const std::string tried = "tried to edit " + file + " while you held it; ";
  return tried + (what == "asked" ? "its user was asked" : "the call was refused");
}

void Claiming::record(const std::string& what, const std::vector<core::Conflict>& conflicts,
                      bool waits) {
  if (session_.event().session.starts_with(kProofSession)) return;  // nobody has met anybody
  core::ReportRequest request = report();
  std::vector<std::pair<std::string, const core::Conflict*>> words;
  for (const core::Conflict& conflict : conflicts) {
    const std::string file = conflict.requested.resource.text();
    if (waits) request.refused.push_back(refused_word(place_, file));
    request.notes.push_back({what, {file}, conflict.holder.owner, "edit"});
    const core::Owner& holder = conflict.holder.owner;
    std::string word = what;
    word.append(" ").append(file).append(" ").append(holder.agent).append(" ");
    word.append(holder.session);
    request.once.push_back(word);
    words.emplace_back(std::move(word), &conflict);
  }
  const auto reply = place_.locks().report(request);
  if (!reply) return;
  for (const auto& [word, conflict] : words) {
    const bool news = std::ranges::find(reply->news, word) != reply->news.end();
    if (!news || conflict->holder.foreign || conflict->waiting) continue;
    service::SendCommand send;
    send.to = conflict->holder.owner;
    send.type = what == "warned" ? "alert" : "request";
    send.text = words_to_holder(what, conflict->requested.resource.text());
    static_cast<void>(service::Messages(place_.site(), session_.owner()).send(send));
  }
}

void Claiming::undo() {
  core::ReportRequest request = report();
  request.failed = {Session::edit_id(call_)};
  static_cast<void>(place_.locks().report(request));
}

Answer Claiming::failed(const Error& error) {
  const bool verdict = error.code == Code::kOperationNotPermitted ||
                       error.code == Code::kInvalidResource || error.code == Code::kLost;
  if (verdict) return refused(not_judged_words(error));
  // A table that does not exist and cannot be made guards nothing.
  const auto store = realm::check_store(place_.realm());
  const bool impossible = store && *store == realm::StoreState::kAbsent;
  if (impossible && place_.site().server() == nullptr) return {};
  if (!place_.blocks_after(error)) return {.tell = failed_words(error)};
  return refused(failed_words(error));
}

// The session says at home that its turn is over; from there the other tables hear of it.
void note_at_home(Session& session, const Sorted& sorted) {
  const auto home = session.home();
  if (!home || *home == nullptr) return;
  for (const Targets& targets : sorted.places) {
    if (targets.place->realm().same_table((*home)->realm())) continue;
    core::ReportRequest request;
    request.worktree = (*home)->worktree();
    request.also_in = targets.place->worktree();
    static_cast<void>((*home)->locks().report(request));
  }
}

// What a call is about to change.
struct AboutToChange {
  Place* place;
  std::vector<std::string> paths;
};

std::vector<AboutToChange> about_to_change(const Sorted& sorted) {
  std::vector<AboutToChange> all;
  for (const Targets& targets : sorted.places) {
    AboutToChange& there = all.emplace_back(targets.place);
    for (const Target& target : targets.files) {
      const bool file = target.resources.front().kind() == key::Kind::kFile;
      if (file) there.paths.push_back(target.path());
    }
  }
  return all;
}

// Returns what has to be said of that.
std::string keep_before(Session& session, const std::vector<AboutToChange>& all, bool contested) {
  Lines lines;
  for (const auto& [place, paths] : all) {
    // Whoever edits one of them at the same time wrote what is there.
    if (contested) keep_unfinished(session, *place, false);
    keep(session, *place, paths, snapshot::Why::kBefore);
    if (can_tell(session.event())) lines.add(unkept_words(*place));
  }
  return lines.text();
}

Answer before_edit(Session& session, const ToolCall& call, const Touch& touch) {
  auto sorted = session.sort(touch);
  if (!sorted) return refused(not_judged_words(sorted.error()));
  for (const Targets& targets : sorted->places) {
    const std::vector<Error>& mistakes = targets.place->mistakes();
    if (!mistakes.empty()) return refused(bad_settings_words(mistakes.front()));
  }
  // Also what is not claimed, because the policy lets the call pass all the same.
  const std::vector<AboutToChange> changes = about_to_change(*sorted);
  std::vector<Claiming> claims;
  Lines lines;
  std::size_t files = sorted->outside.size();
  for (const Targets& targets : sorted->places) files += targets.files.size();
  for (Targets& targets : sorted->places) {
    claims.emplace_back(session, call, targets, files);
    const Answer answer = claims.back().claim();
    if (answer.verdict != Verdict::kPass) {
      claims.pop_back();
      for (Claiming& earlier : claims) earlier.undo();
      // The user may say yes.
      if (answer.verdict == Verdict::kAsk) keep_before(session, changes, true);
      return answer;
    }
    lines.add(answer.tell);
  }
  note_at_home(session, *sorted);
  for (Claiming& each : claims) each.put_away();
  const bool contested = std::ranges::any_of(claims, &Claiming::met_somebody);
  lines.add(keep_before(session, changes, contested));
  return {.tell = lines.text()};
}

// What has changed by now is not the command's doing.
void note_found(Session& session, Place& place) {
  if (!place.has_table()) return;
  core::ReportRequest request;
  request.worktree = place.worktree();
  const auto looked = look_at_disk(session, place, false, request);
  const bool any = !request.found.empty() || !request.changed.empty();
  if (looked && any) static_cast<void>(place.locks().report(request));
}

// The command may go to any worktree, but most likely to one that the session has worked in.
std::string keep_before_run(Session& session, Place& home) {
  std::vector<Place*> places = other_places(session, home);
  places.insert(places.begin(), &home);
  Lines lines;
  for (Place* const place : places) {
    const bool changed = keep_work(session, *place);
    if (changed) note_found(session, *place);
    if (can_tell(session.event())) lines.add(unkept_words(*place));
  }
  return lines.text();
}

// Any file may change: who had a call running is all that will be known.
Answer before_run(Session& session, const ToolCall& call, bool our_tool) {
  const auto home = session.home();
  if (!home || *home == nullptr) return {};
  // Our own tool is about to make a table if there is none.
  if (!our_tool && !(*home)->has_table()) return {};
  core::ReportRequest request;
  request.worktree = (*home)->worktree();
  request.begun = {Session::run_id(call)};
  Answer answer;
  if (!our_tool) answer.tell = keep_before_run(session, **home);
  const auto begun = (*home)->locks().report(request);
  if (!begun || !our_tool || !call.input.is_object()) return answer;
  // Its server finds out who calls: mcp/locks/ownership.h.
  answer.input = call.input;
  answer.input["agent"] = "call:" + call.id;
  return answer;
}

// The part of the settings that cannot be read may say which files such a tool changes.
Answer before_unknown(Session& session, const ToolCall& call) {
  const auto home = session.home();
  const bool wrong = home && *home != nullptr && !(*home)->mistakes().empty();
  if (wrong) return refused(bad_settings_words((*home)->mistakes().front()));
  return before_run(session, call, false);
}

// What would destroy the work of others is refused before it counts as running.
Answer before_shell(Session& session, const ToolCall& call, const Touch& touch) {
  const shell::Found found = look_at_command(session, touch.command);
  Answer judged = judge(session, found);
  if (judged.verdict != Verdict::kPass) return judged;
  Lines lines;
  lines.add(judged.tell);
  lines.add(before_run(session, call, false).tell);
  judged.tell = lines.text();
  return judged;
}

}  // namespace

Answer before_call(Session& session, const ToolCall& call) {
  if (session.world().client_gone) {
    return refused("lockkeeper: the agent that asked has ended, so nothing was claimed for it");
  }
  const auto touch = session.touch_of(call);
  if (!touch) return refused(not_judged_words(touch.error()));
  switch (touch->what) {
    case Touch::What::kNothing:
      return {};
    case Touch::What::kEdit:
      return before_edit(session, call, *touch);
    case Touch::What::kShell:
      return before_shell(session, call, *touch);
    case Touch::What::kUnknown:
      return before_unknown(session, call);
    case Touch::What::kOwnMcp:
      return before_run(session, call, true);
  }
  return {};
}

}  // namespace lockkeeper::enforce::hook
