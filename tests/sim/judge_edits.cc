// Edits and what is reported of them (rules 15 and 16): is it legal?
#include <algorithm>

#include "judge.h"

namespace lockkeeper::sim {

using core::Event;
using Then = core::ReportRequest::Then;

namespace {

bool among(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::count(names, name) != 0;
}

bool is_over(const core::ReportRequest& report) {
  return report.then == Then::kTurnOver || report.then == Then::kPassedOn;
}

bool none_left(const core::ReportRequest& report) {
  return report.no_call_left || report.turn_begins || is_over(report);
}

bool is_below(const core::Owner& part, const core::Owner& whole) {
  const std::string session = whole.session.empty() ? "-" : whole.session;
  return part.agent == whole.agent && part.session.starts_with(session + "/");
}

core::Owner whole_of(const core::Owner& part) {
  const std::string whole = part.session.substr(0, part.session.rfind('/'));
  return {part.agent, whole == "-" ? "" : whole};
}

// The edit once the report is taken in.
core::Edit after(const core::Edit& edit, const core::ReportRequest& report, std::int64_t now) {
  core::Edit rest = edit;
  std::erase_if(rest.calls, [&](const std::string& call) {
    rest.confirmed |= among(report.done, call);
    return among(report.done, call) || among(report.failed, call) || none_left(report);
  });
  if (rest.calls != edit.calls) rest.touched_mono_ms = now;
  return rest;
}

bool undone(const core::Edit& edit) {
  return !edit.confirmed && edit.calls.empty();
}

}  // namespace

// What was reported of this owner: of a part only that it is over.
core::ReportRequest Judge::report_of(const Op& op, const core::Owner& owner) const {
  if (owner == op.owner) return op.report;
  require(is_over(op.report) && is_below(owner, op.owner), "rule 16: reported for somebody else");
  require(!op.report.parts_go_on, "rule 16: a part that goes on was ended");
  core::ReportRequest report;
  report.owner = owner;
  report.then = op.report.then;
  return report;
}

void Judge::begun(const core::Owner& owner, const std::vector<std::string>& calls,
                  const std::string& worktree) {
  core::Activity& doing = model_.activities[key_of(owner)];
  for (const std::string& call : calls) {
    const bool known = std::ranges::count(doing.calls, call, &core::RunningCall::id) != 0;
    if (!known) doing.calls.push_back({call, worktree, model_.now});
  }
  doing.idle = false;
}

// Before anything ends: what an owner does decides which of its edits give way.
void Judge::note_activity(const core::ReportRequest& report) {
  core::Activity& doing = model_.activities[key_of(report.owner)];
  std::erase_if(doing.calls, [&](const core::RunningCall& call) {
    return none_left(report) || among(report.done, call.id) || among(report.failed, call.id);
  });
  begun(report.owner, report.begun, report.worktree);
  doing.idle = report.then != Then::kGoesOn;
  if (is_over(report) && !report.parts_go_on) {
    for (auto& [owner, theirs] : model_.activities) {
      if (!is_below({owner.first, owner.second}, report.owner)) continue;
      theirs.calls.clear();
      theirs.idle = true;
    }
  }
}

void Judge::reported(const Done& done) {
  const auto& reply = std::get<core::ReportReply>(done.answer);
  const core::ReportRequest& report = done.op.report;
  settle_edits(report, reply.again);
  if (report.then == Then::kIdle) probe("reported idle");
  if (reply.again) probe("a report in several commits");
}

void Judge::settle_edits(const core::ReportRequest& report, bool again) {
  for (auto& [id, lease] : model_.leases) {
    if (lease.owner != report.owner || !lease.edit || lease.confirm_by != 0) continue;
    if (lease.rebooted) continue;
    const core::Edit next = after(*lease.edit, report, model_.now);
    if (again) {
      lease.edit_or = next;
      continue;
    }
    require(!is_over(report), "rule 16: the turn is over, and its edit is still there");
    require(!undone(next), "rule 16: nothing was done, and the edit is still there");
    lease.edit = next;
  }
}

void Judge::released_by_report(const Done& done, const Event& event) {
  const Entry& lease = lease_at(event.lease);
  require(lease.edit && lease.confirm_by == 0, "rule 16: a report ended what is no edit");
  const core::ReportRequest report = report_of(done.op, lease.owner);
  const core::Edit next = after(*lease.edit, report, model_.now);
  if (event.cause == "undone") {
    require(undone(next), "rule 16: ended as undone, and something was done");
    probe("an edit undone");
  } else if (event.cause == "turn_over") {
    require(is_over(report) && !undone(next), "rule 16: ended with a turn that is not over");
    probe("an edit ended with its turn");
  } else {
    require(event.cause == "passed_on" && report.then == Then::kPassedOn && !undone(next),
            "rule 16: passed on without being asked");
    const core::Owner whole = whole_of(lease.owner);
    // Its session has a lease for it: a new one of this commit, or the same from before.
    const auto heir = std::ranges::find_if(model_.leases, [&](const auto& row) {
      const Entry& other = row.second;
      return other.owner == whole && other.edit && other.wants == lease.wants &&
             other.worktree == lease.worktree && other.confirm_by == 0;
    });
    if (heir == model_.leases.end()) fail("rule 16: passed on to nobody");
    core::Edit& kept = *heir->second.edit;
    kept.touched_mono_ms = std::max(kept.touched_mono_ms, next.touched_mono_ms);
    kept.confirmed = true;
  }
  remove_lease(event.lease, false);
}

void Judge::passed_on(const Done& done, const Event& event) {
  // Right after this its own end is recorded.
  const auto here = std::ranges::find(done.events, event.lease, &Event::lease);
  const auto from = std::find_if(here, done.events.end(), [](const Event& one) {
    return one.what == "released" && one.cause == "passed_on";
  });
  if (from == done.events.end()) fail("rule 16: passed on by nobody");
  const Entry& source = lease_at(from->lease);
  require(source.edit.has_value() && whole_of(source.owner) == event.owner,
          "rule 16: passed on to a stranger");
  Entry heir = source;
  heir.id = event.lease;
  heir.owner = event.owner;
  heir.request_id.clear();
  heir.created = done.version;
  heir.fence = event.fence;
  heir.edit = after(*source.edit, report_of(done.op, source.owner), model_.now);
  for (const auto& [id, other] : model_.leases) {
    if (id == source.id || !model_.conflict(other, heir) || model_.may_both_hold(heir, other)) {
      continue;
    }
    fail("I1: passed on " + describe(heir, model_.world()) + " against lease " +
         describe(other, model_.world()));
  }
  check_fence(done, event);
  if (model_.leases.contains(heir.id)) fail("a lease was granted twice");
  model_.leases.emplace(heir.id, std::move(heir));
  probe("an edit passed on");
}

void Judge::yielded(const Event& event, const Entry& lease) {
  require(lease.edit && model_.yields(lease), "rule 16: gave way too early");
  require(!event.by.agent.empty(), "I11: gave way, and nobody knows to whom");
  yielded_.emplace_back(lease, event.by);
  probe(lease.edit->confirmed ? "an edit gave way" : "an unreported edit gave way");
}

// Nobody is thrown out for somebody who then does not get it.
void Judge::check_yielded(const Done& done) const {
  const bool full = budgeted_ || limits_.grants_per_commit < 32 || limits_.ends_per_commit < 1000;
  for (const auto& [lease, by] : yielded_) {
    const bool served = std::ranges::any_of(model_.leases, [&](const auto& row) {
      const Entry& other = row.second;
      return other.created == done.version && other.owner == by && model_.conflict(other, lease);
    });
    if (served || full) continue;
    fail("rule 16: gave way for nothing: " + describe(lease, model_.world()) + " for " + by.agent +
         "(" + by.session + ")");
  }
}

}  // namespace lockkeeper::sim
