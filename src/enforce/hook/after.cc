#include "enforce/hook/after.h"

#include <algorithm>

#include "base/text.h"
#include "core/sessions.h"
#include "enforce/hook/asking.h"
#include "enforce/hook/clean_files.h"
#include "enforce/hook/disk_look.h"
#include "enforce/hook/files.h"
#include "enforce/hook/git_work.h"
#include "enforce/hook/keeping.h"
#include "enforce/hook/words.h"
#include "realm/hook_settings.h"
#include "service/messages.h"

namespace lockkeeper::enforce::hook {
namespace {

using Then = core::ReportRequest::Then;

// What is reported to one worktree's table.
struct Reported {
  Place* place;
  core::ReportRequest request;
};

std::string changed_under_words(const std::string& file) {
  return "lockkeeper: " + shown(file) +
         " is not as your last call wrote it: somebody else's command changed it at the same time. "
         "Read it again before you go on. To see what you had written: lockkeeper recover list " +
         shell_quote(file);
}

// What an event means for the tables, home first. Nothing here may disturb the client: after a call
// it is too late to refuse, and an error is met again, and told, before the next edit.
class Reporting {
 public:
  explicit Reporting(Session& session) : session_(session) {
    const auto home = session.home();
    if (home && *home != nullptr && (*home)->has_table()) at(**home);
  }

  bool any() const { return !reports_.empty(); }
  bool ran_git() const { return ran_git_; }
  // REQUIRES: any(). The session's own table.
  core::ReportRequest& home() { return reports_.front().request; }
  core::ReportRequest& at(Place& place);
  void add(const ToolCall& call);

  Answer carry_out();
  void look(bool ran);
  // REQUIRES: any()
  void keep_all_work();
  // REQUIRES: any()
  void put_away_clean_work();

 private:
  void add_edit(const ToolCall& call, const Touch& touch);
  void note_overwritten(Place& place, const Target& target, core::ReportRequest& request);
  std::vector<AskedClaim> denied_at(const Reported& report);
  std::optional<core::ReportReply> send(const Reported& report);
  void keep_new_waiters(Place& place, std::vector<core::Waiter>& waiting);
  void tell_what_is_free(Place& place, const std::vector<std::string>& refused);
  void report_elsewhere(const core::ReportReply& reply);

  Session& session_;
  std::vector<Reported> reports_;
  bool ran_git_ = false;  // a shell command names it
  Lines lines_;
};

core::ReportRequest& Reporting::at(Place& place) {
  const auto known = std::ranges::find(reports_, &place, &Reported::place);
  if (known != reports_.end()) return known->request;
  core::ReportRequest request;
  request.worktree = place.worktree();
  return reports_.emplace_back(&place, std::move(request)).request;
}

void Reporting::add(const ToolCall& call) {
  const auto touch = session_.touch_of(call);
  if (!touch || touch->what == Touch::What::kNothing) return;
  if (touch->what == Touch::What::kEdit) {
    add_edit(call, *touch);
  } else if (any()) {
    home().done.push_back(Session::run_id(call));
    ran_git_ = ran_git_ || touch->command.find("git") != std::string::npos;
  }
}

void Reporting::add_edit(const ToolCall& call, const Touch& touch) {
  const auto sorted = session_.sort(touch);
  if (!sorted) return;
  for (const Targets& targets : sorted->places) {
    if (!targets.place->has_table()) continue;
    core::ReportRequest& request = at(*targets.place);
    const std::string id = Session::edit_id(call);
    if (call.outcome == Outcome::kFailed) {
      request.failed.push_back(id);
      for (const Target& target : targets.files) {
        const bool file = target.resources.front().kind() == key::Kind::kFile;
        if (file) keep_remains(session_, *targets.place, target.path());
      }
      continue;
    }
    request.done.push_back(id);
    request.done.push_back(asked_id(id));
    const Files files(targets.place->worktree());
    for (const Target& target : targets.files) {
      // It is no news that what it has just edited is free.
      for (const key::Resource& resource : target.resources) {
        request.settled.push_back(refused_word(*targets.place, resource.text()));
      }
      note_overwritten(*targets.place, target, request);
      if (target.resources.front().kind() != key::Kind::kFile) continue;
      const std::string path = target.path();
      if (call.original && targets.files.size() == 1) {
        keep_original(session_, *targets.place, path, *call.original);
      }
      const bool mine = is_calls_work(session_, *targets.place, call, path);
      keep_change(session_, *targets.place, path, mine);
      (mine ? request.changed : request.found).push_back(files.change(path));
      if (!mine) lines_.add(changed_under_words(session_.names_of(*targets.place).name(path)));
    }
  }
}

// Its claim gave way while its user was thinking, or its user let it pass. The policy "warn" has
// told both sides already.
void Reporting::note_overwritten(Place& place, const Target& target, core::ReportRequest& request) {
  const auto policy = realm::hook_policy_for(place.settings(), target.resources.front());
  if (policy == realm::HookPolicy::kWarn) return;
  service::CheckCommand command;
  command.wanted.resources = target.resources;
  if (place.settings().hook_worktrees.value != realm::HookWorktrees::kBlock) {
    command.worktree = place.worktree();
  }
  const auto now = place.locks().check(command);
  if (!now) return;
  for (const core::Conflict& conflict : now->conflicts) {
    const core::Lease& holder = conflict.holder;
    if (conflict.waiting || holder.foreign) continue;
    if (core::is_part_of(holder.owner, session_.owner())) continue;
    request.notes.push_back({"overwrote", {target.path()}, holder.owner, "edit"});
    service::SendCommand send;
    send.to = holder.owner;
    send.type = "alert";
    send.text = "changed " + target.path() + " while you held it. Read it again before you go on";
    static_cast<void>(service::Messages(place.site(), session_.owner()).send(send));
  }
}

// A claim that only a question to the user has confirmed, for a call that did nothing.
std::vector<AskedClaim> Reporting::denied_at(const Reported& report) {
  std::vector<AskedClaim> denied;
  if (report.request.failed.empty() && !report.request.turn_begins) return denied;
  const auto is_among = [](const std::vector<std::string>& calls, const std::string& call) {
    return std::ranges::find(calls, call) != calls.end();
  };
  for (AskedClaim& claim : asked_claims(session_, *report.place)) {
    const bool worked = std::ranges::any_of(
        claim.calls, [&](const std::string& call) { return is_among(report.request.done, call); });
    const bool failed = report.request.turn_begins || is_among(report.request.failed, claim.call);
    if (failed && !worked) denied.push_back(std::move(claim));
  }
  return denied;
}

void Reporting::look(bool ran) {
  if (!any()) return;
  Place& place = *reports_.front().place;
  if (ran) adopt_locks(session_, place);
  if (ran_git_) note_git_work(session_, place, home());
  const auto told = look_at_disk(session_, place, ran, home());
  if (told) lines_.add(*told);
  for (Place* const other : other_places(session_, place)) {
    const auto there = look_at_disk(session_, *other, ran, at(*other));
    if (there) lines_.add(*there);
  }
}

void Reporting::keep_all_work() {
  Place& place = *reports_.front().place;
  keep_work(session_, place);
  for (Place* const other : other_places(session_, place)) {
    at(*other);  // whoever is told of trouble there
    keep_work(session_, *other);
  }
}

void Reporting::put_away_clean_work() {
  Place& place = *reports_.front().place;
  const auto look = place.locks().look(place.worktree());
  if (look) put_away_clean(session_, place, look->traces);
}

// Home comes last: it may say that no other call is left, also for other worktrees of its table.
Answer Reporting::carry_out() {
  for (std::size_t i = 1; i < reports_.size(); ++i) send(reports_[i]);
  if (any()) {
    const auto reply = send(reports_.front());
    if (reply) report_elsewhere(*reply);
  }
  return {.tell = can_tell(session_.event()) ? lines_.text() : std::string()};
}

// Nothing can be done here about a table that cannot be written: what was not reported gives way
// after a while.
std::optional<core::ReportReply> Reporting::send(const Reported& report) {
  const bool tells = can_tell(session_.event());
  Place& place = *report.place;
  if (tells) lines_.add(unkept_words(place));
  if (tells) place.locks().tell_along({.losses = true, .messages = true, .waiting = true});
  const std::vector<AskedClaim> denied = denied_at(report);
  auto reply = place.locks().report(report.request);
  if (!reply) return std::nullopt;
  give_up(place, denied);
  if (!tells) return std::move(*reply);
  auto notices = place.locks().notices();
  if (notices) {
    keep_new_waiters(place, notices->waiting);
    lines_.add(notice_words(*notices, session_.now().wall_ms));
  }
  tell_what_is_free(place, reply->refused);
  return std::move(*reply);
}

// The table tells of a waiter as long as it waits; a model is told once.
void Reporting::keep_new_waiters(Place& place, std::vector<core::Waiter>& waiting) {
  if (waiting.empty()) return;
  const auto word_of = [](const core::Waiter& waiter) {
    return "waits " + waiter.request.id.text();
  };
  core::ReportRequest request;
  request.worktree = place.worktree();
  for (const core::Waiter& waiter : waiting) request.once.push_back(word_of(waiter));
  place.locks().tell_along({});
  const auto reply = place.locks().report(request);
  std::erase_if(waiting, [&](const core::Waiter& waiter) {
    return !reply || std::ranges::find(reply->news, word_of(waiter)) == reply->news.end();
  });
}

// The tables of other repositories hear of the turn from here alone.
void Reporting::report_elsewhere(const core::ReportReply& reply) {
  const core::ReportRequest& said = home();
  const bool all = said.turn_begins || said.no_call_left || said.then != Then::kGoesOn;
  if (!all) return;
  for (const std::string& root : reply.also_in) {
    const auto place = session_.place_at(root);
    if (!place || *place == nullptr || !(*place)->has_table()) continue;
    core::ReportRequest there;
    there.worktree = (*place)->worktree();
    there.turn_begins = said.turn_begins;
    there.no_call_left = said.no_call_left;
    there.parts_go_on = said.parts_go_on;
    there.then = said.then;
    send({*place, std::move(there)});
  }
}

void Reporting::tell_what_is_free(Place& place, const std::vector<std::string>& refused) {
  const Freed freed = free_of(session_, refused);
  if (freed.words.empty()) return;
  core::ReportRequest request;
  request.worktree = place.worktree();
  request.settled = freed.words;
  static_cast<void>(place.locks().report(request));
  lines_.add(free_words(freed));
}

bool parts_go_on(Client client) {
  return client == Client::kCopilot || client == Client::kCodex;
}

}  // namespace

// A file of that name may be in several worktrees of one table, and only one was refused.
std::string refused_word(const Place& place, const std::string& file) {
  return file + "\n" + place.worktree();
}

Freed free_of(Session& session, const std::vector<std::string>& refused) {
  Freed freed;
  for (const std::string& word : refused) {
    const std::size_t end = word.find('\n');
    if (end == std::string::npos) continue;
    const std::string file = word.substr(0, end);
    const auto place = session.place_at(word.substr(end + 1));
    if (!place || *place == nullptr) continue;
    service::CheckCommand command;
    command.wanted.texts = {file};
    command.wanted.syntax = key::Syntax::kLiteral;
    command.worktree = (*place)->worktree();
    const auto now = (*place)->locks().check(command);
    if (!now || !now->free) continue;
    freed.words.push_back(word);
    freed.files.push_back(session.names_of(**place).name(file));
  }
  return freed;
}

std::string free_words(const Freed& freed) {
  const char* const them = freed.files.size() == 1 ? "it" : "them";
  return "lockkeeper: you can edit " + shown_list(freed.files, 5) + " now. An earlier edit of " +
         them + " was refused. Read " + them + " again before you edit";
}

Answer after_calls(Session& session) {
  Reporting reporting(session);
  const Event& event = session.event();
  for (const ToolCall& call : event.calls) reporting.add(call);
  if (!reporting.any()) return {};
  // A batch tells of all calls that its owner had made.
  if (event.moment == Moment::kBatchOver) reporting.home().no_call_left = true;
  const bool ran = std::ranges::any_of(
      reporting.home().done, [](const std::string& id) { return id.starts_with("run "); });
  if (ran) reporting.look(true);
  Answer answer = reporting.carry_out();
  const auto& after_git = session.world().after_git;
  const auto home = session.home();
  const bool looks = reporting.ran_git() && after_git && home && *home != nullptr;
  if (looks) after_git(session.owner(), (*home)->worktree());
  return answer;
}

Answer at_session_start(Session& session) {
  const auto home = session.home();
  if (!home) return {.tell = unusable_words(home.error())};
  if (*home == nullptr) {
    return {.tell =
                "lockkeeper: this folder is in no git repository, so no file here is guarded "
                "against other agents"};
  }
  if (!(*home)->mistakes().empty()) {
    Lines lines;
    lines.add(unusable_words((*home)->mistakes().front()));
    lines.add(Reporting(session).carry_out().tell);
    return {.tell = lines.text()};
  }
  const World& world = session.world();
  Result<void> possible;
  if (world.table_possible && !(*home)->has_table()) {
    possible = world.table_possible((*home)->realm());
  }
  if (!possible) {
    return {.tell = "lockkeeper: no file of this repository is guarded against other agents: " +
                    possible.error().message};
  }
  Answer answer = Reporting(session).carry_out();
  Lines lines;
  lines.add(answer.tell);
  if (world.at_start && can_tell(session.event())) lines.add(world.at_start());
  answer.tell = lines.text();
  return answer;
}

Answer at_turn_start(Session& session) {
  Reporting reporting(session);
  if (!reporting.any()) return {};
  // Before its edits end: what became of some of its calls was perhaps never said.
  reporting.keep_all_work();
  reporting.put_away_clean_work();
  reporting.home().turn_begins = true;
  return reporting.carry_out();
}

Answer at_subagent_start(Session& session) {
  if (session.event().subagent.empty()) return {};
  return at_turn_start(session);
}

Answer at_end(Session& session) {
  const Event& event = session.event();
  // Copilot says this after each turn, also while its subagents work on. Its process ends the rest.
  if (event.client == Client::kCopilot && event.moment == Moment::kSessionOver) return {};
  Reporting reporting(session);
  if (!reporting.any()) return {};
  reporting.keep_all_work();
  if (event.moment == Moment::kTurnOver) reporting.look(event.goes_on);
  core::ReportRequest& request = reporting.home();
  if (event.moment == Moment::kIdle) {
    request.then = Then::kIdle;
  } else if (event.moment == Moment::kSubagentOver) {
    request.then = Then::kPassedOn;
  } else if (event.goes_on) {
    request.no_call_left = true;
    request.begun = {"run background"};
  } else {
    request.then = Then::kTurnOver;
    request.parts_go_on = event.moment == Moment::kTurnOver && parts_go_on(event.client);
    request.session_over = event.moment == Moment::kSessionOver;
  }
  return reporting.carry_out();
}

}  // namespace lockkeeper::enforce::hook
