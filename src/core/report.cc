// Table: edits (rule 16). How they begin, are reported, and end with their owner's turn.
#include <algorithm>
#include <string>

#include "core/mirrored.h"
#include "core/table.h"
#include "core/traces.h"

namespace lockkeeper::core {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_end(const ReportRequest& request) {
  using Then = ReportRequest::Then;
  return request.then == Then::kTurnOver || request.then == Then::kPassedOn;
}

bool nothing_left(const ReportRequest& request) {
  return request.no_call_left || request.turn_begins || is_end(request);
}

void add_call(Activity& activity, const std::string& id, const std::string& worktree,
              const Context& context) {
  if (std::ranges::find(activity.calls, id, &RunningCall::id) != activity.calls.end()) return;
  // A client that never reports must not fill the row: the oldest calls count no longer anyway.
  if (activity.calls.size() >= kCallsMax) activity.calls.erase(activity.calls.begin());
  activity.calls.push_back({id, worktree, context.now.mono_ms});
}

// True: it was not there before.
bool add_word(std::vector<std::string>& words, const std::string& word) {
  if (word.empty() || contains(words, word)) return false;
  words.push_back(word);
  if (words.size() > kWordsMax) words.erase(words.begin());
  return true;
}

// What the table only keeps.
void keep_words(Activity& activity, const ReportRequest& request, ReportReply& reply) {
  if (request.turn_begins) activity.refused.clear();
  std::erase_if(activity.refused,
                [&](const std::string& word) { return contains(request.settled, word); });
  for (const std::string& word : request.refused) add_word(activity.refused, word);
  for (const std::string& word : request.once) {
    if (add_word(activity.told, word)) reply.news.push_back(word);
  }
  add_word(activity.also_in, request.also_in);
  reply.refused = activity.refused;
  reply.also_in = activity.also_in;
  if (is_end(request) || request.turn_begins) activity.also_in.clear();
}

void take_in(Activity& activity, const ReportRequest& request, const Context& context) {
  const bool all = nothing_left(request);
  std::erase_if(activity.calls, [&](const RunningCall& call) {
    return all || contains(request.done, call.id) || contains(request.failed, call.id);
  });
  for (const std::string& call : request.begun) {
    add_call(activity, call, request.worktree, context);
  }
  activity.idle = request.then != ReportRequest::Then::kGoesOn;
  activity.gone = request.session_over;
  if (request.turn_begins) activity.turn_wall_ms = context.now.wall_ms;
}

// What is left of the edit once these calls are over. True: it must end, because nothing was done.
bool settle_calls(Edit& edit, const ReportRequest& request, const Context& context) {
  const bool all = nothing_left(request);
  const std::size_t before = edit.calls.size();
  const bool done = std::erase_if(edit.calls, [&](const std::string& call) {
                      return contains(request.done, call);
                    }) > 0;
  std::erase_if(edit.calls,
                [&](const std::string& call) { return all || contains(request.failed, call); });
  edit.confirmed |= done;
  if (edit.calls.size() != before) edit.touched_mono_ms = context.now.mono_ms;
  return !edit.confirmed && edit.calls.empty();
}

}  // namespace

Result<void> Table::note_begun(const Owner& owner, const std::vector<std::string>& calls,
                               const std::string& worktree) {
  LK_ASSIGN(Activity activity, state_.activity(owner));
  for (const std::string& call : calls) add_call(activity, call, worktree, context_);
  activity.idle = false;
  activity.gone = false;
  LK_CHECK(state_.put_activity(owner, std::move(activity)));
  return note_part(owner);
}

// Its session ends what its parts leave behind, and finds them here.
Result<void> Table::note_part(const Owner& owner) {
  const std::optional<Owner> whole = nearest_whole(owner);
  if (!whole) return {};
  LK_ASSIGN(Activity above, state_.activity(*whole));
  if (contains(above.parts, owner.session)) return {};
  above.parts.push_back(owner.session);
  return state_.put_activity(*whole, std::move(above));
}

Result<void> Table::begin_on(Lease& edit, const std::string& call) {
  std::vector<std::string>& calls = edit.edit->calls;
  if (!contains(calls, call)) calls.push_back(call);
  if (calls.size() > kCallsMax) calls.erase(calls.begin());
  edit.edit->touched_mono_ms = context_.now.mono_ms;
  LK_CHECK(note_begun(edit.owner, {call}, edit.terms.worktree));
  return wake_waiting_of(edit.owner);
}

// Edits that had begun to give way may stand in the way again: that draws edges of a cycle like a
// grant does.
Result<void> Table::wake_waiting_of(const Owner& owner) {
  LK_ASSIGN(const bool any_waiters, state_.any_waiters());
  if (!any_waiters) return {};
  Lease firm;
  firm.owner = owner;
  firm.overtook = true;
  return settler_.wake_waiting(firm);
}

Result<ReportReply> Table::report(const ReportRequest& request) {
  ReportReply reply;
  LK_CHECK(put_traces(state_, request.worktree, request.owner, request.changed));
  LK_CHECK(put_traces(state_, request.worktree, {}, request.found));
  LK_ASSIGN(Activity activity, state_.activity(request.owner));
  keep_words(activity, request, reply);
  LK_CHECK(state_.put_activity(request.owner, std::move(activity)));
  for (const EditNote& note : request.notes) {
    LK_CHECK(state_.append(
        Event::unseen(request.owner, note.resources, {note.what, note.cause, "", note.by})));
  }
  LK_CHECK(report_all(request, reply));
  LK_CHECK(settler_.settle());
  return reply;
}

// What its owner does now is noted before anything ends: it decides who is served then. What the
// parts of its session left behind ends, or is passed on, with it.
Result<void> Table::report_all(const ReportRequest& request, ReportReply& reply) {
  LK_ASSIGN(Activity activity, state_.activity(request.owner));
  take_in(activity, request, context_);
  const std::vector<std::string> parts = activity.parts;
  LK_CHECK(state_.put_activity(request.owner, activity));
  LK_CHECK(wake_waiting_of(request.owner));
  if (is_end(request) && !request.parts_go_on && !parts.empty()) {
    ReportRequest theirs;
    theirs.then = request.then;
    theirs.session_over = request.session_over;
    for (const std::string& part : parts) {
      theirs.owner = {request.owner.agent, part};
      if (is_part_of(theirs.owner, request.owner)) LK_CHECK(report_all(theirs, reply));
    }
    activity.parts.clear();
    if (!reply.again) LK_CHECK(state_.put_activity(request.owner, activity));
  }
  return report_edits(request, reply);
}

Result<void> Table::report_edits(const ReportRequest& request, ReportReply& reply) {
  using Then = ReportRequest::Then;
  const std::optional<Owner> whole = nearest_whole(request.owner);
  const bool passes = request.then == Then::kPassedOn && whole;
  LK_ASSIGN(const std::vector<Lease> held, state_.held_by(request.owner));
  bool keeps = false;
  for (const Lease& one : held) {
    if (!one.edit || !is_confirmed(one)) continue;
    if (!settler_.room_left()) {
      reply.again = true;
      return {};
    }
    LK_CHECK(settler_.reap(one.id));
    LK_ASSIGN(const Lease* found, state_.lease(one.id));
    if (found == nullptr) continue;
    const Lease before = *found;
    Lease after = before;
    carry_over(after, context_);
    const bool undone = settle_calls(*after.edit, request, context_);
    const bool carried = after.epoch != before.epoch;
    if (carried || after.edit != before.edit) LK_CHECK(state_.change_lease(before, after));
    bool passed = false;
    if (!undone && passes) {
      LK_ASSIGN(passed, pass_on(after, *whole));
    }
    if (passed) continue;
    if (undone || is_end(request)) {
      for (std::string& text : resource_texts(after)) reply.ended.push_back(std::move(text));
      LK_CHECK(settler_.end(after, {"released", undone ? "undone" : "turn_over", "", {}}, false));
    } else {
      keeps = true;
      if (request.then == Then::kIdle) settler_.followers_of(after.id);
    }
  }
  // After a reboot its session does not know of it.
  return keeps ? note_part(request.owner) : Result<void>();
}

// The session now holds it: its other parts may take it, strangers may not. False: it cannot, as
// somebody is there who let in the part alone, or because two leases of that size do not fit into
// one commit.
Result<bool> Table::pass_on(const Lease& edit, const Owner& whole) {
  constexpr std::size_t kRowsOfClaim = 4;  // added, removed, and what is filed with each
  constexpr std::size_t kOtherRows = 40;
  const kv::Budget left = state_.txn().left();
  const std::size_t rows = kRowsOfClaim * edit.claims.size() + kOtherRows;
  if (left.writes < rows || left.guards < rows) return false;
  LK_ASSIGN(const std::vector<Lease> held, state_.held_by(whole));
  const auto same = std::ranges::find_if(held, [&](const Lease& own) {
    return own.edit && is_confirmed(own) && own.claims == edit.claims &&
           own.terms.worktree == edit.terms.worktree;
  });
  Lease leaving = edit;
  if (same != held.end()) {
    Lease kept = *same;
    kept.edit->confirmed = true;
    kept.edit->touched_mono_ms = std::max(kept.edit->touched_mono_ms, edit.edit->touched_mono_ms);
    LK_CHECK(state_.change_lease(*same, kept));
  } else {
    LK_ASSIGN(const bool passed, take_over(leaving, whole));
    if (!passed) return false;
  }
  LK_CHECK(settler_.end(leaving, {"released", "passed_on", "", {}}, false));
  LK_CHECK(note_part(whole));
  return true;
}

Result<bool> Table::take_over(Lease& leaving, const Owner& whole) {
  Lease passed = leaving;
  passed.id = make_id(whole, context_.ticket);
  passed.owner = whole;
  passed.terms.request_id.clear();
  passed.created = 0;
  passed.fence_offset = context_.epoch.fence_offset;
  passed.overtook = true;
  passed.mirrored_at.clear();
  LK_ASSIGN(const Findings findings, find_conflicts(state_, passed, {.look = false}));
  for (const Conflict& conflict : findings.conflicts) {
    LK_ASSIGN(const Side theirs, side_of(state_, conflict.holder));
    if (!theirs.has(passed)) return false;
  }
  LK_ASSIGN(const Lease* taken, state_.lease(passed.id));
  if (taken != nullptr) {
    return fail(Code::kFailed, "the id " + passed.id.text() + " is taken", "try again");
  }
  ++context_.ticket;
  LK_CHECK(state_.add_lease(passed));
  LK_CHECK(move_mirrored(state_, leaving, passed));
  Event event = Event::granted(passed);
  event.cause = "passed_on";
  LK_CHECK(state_.append(std::move(event)));
  LK_CHECK(settler_.wake_waiting(passed));
  return true;
}

}  // namespace lockkeeper::core
