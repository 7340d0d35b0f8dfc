// Operations and leases in words, for the report of a violation.
#include "judge.h"

namespace lockkeeper::sim {

using core::LeaseId;
using Kind = Op::Kind;

namespace {

std::string name_of(const core::Owner& owner) {
  return owner.agent + "(" + owner.session + ")";
}

std::string name_of(const core::Attachment& attachment) {
  if (!attachment.attached()) return "-";
  if (attachment.slot != 0) return "slot " + std::to_string(attachment.slot);
  return "pid " + std::to_string(attachment.pid) + "@" + std::to_string(attachment.pid_namespace);
}

std::string name_of(const std::vector<core::Attachment>& holds) {
  std::string text;
  for (const core::Attachment& hold : holds) text += (text.empty() ? "" : ", ") + name_of(hold);
  return text;
}

}  // namespace

std::string Judge::describe(const Op& op) {
  static const char* const kNames[] = {"acquire",        "poll",    "cancel",    "release",
                                       "release_leases", "renew",   "check",     "break",
                                       "maintain",       "notices", "give_back", "report"};
  std::string text = kNames[static_cast<std::size_t>(op.kind)];
  text += " by " + name_of(op.owner);
  for (const core::Claim& claim : op.request.claims) {
    text += std::string(claim.mode == core::Mode::kShared ? " s:" : " x:") + claim.resource.text();
  }
  for (const int resource : op.resources) text += " #" + std::to_string(resource);
  for (const LeaseId& id : op.ids) text += " " + id.text();
  if (op.request.wait) text += " wait[" + name_of(op.request.waiting_process) + "]";
  if (!op.request.terms.request_id.empty()) text += " id=" + op.request.terms.request_id;
  if (!op.request.under.empty()) text += " under=" + op.request.under.text();
  if (op.kind == Kind::kGiveBack) text += " at[" + name_of(op.attachment) + "]";
  if (!op.request.call.empty()) text += " call=" + op.request.call;
  if (!op.request.terms.worktree.empty()) text += " in " + op.request.terms.worktree;
  if (op.kind == Kind::kReport) {
    for (const std::string& call : op.report.begun) text += " begun " + call;
    for (const std::string& call : op.report.done) text += " done " + call;
    for (const std::string& call : op.report.failed) text += " failed " + call;
    if (op.report.no_call_left) text += " none left";
    if (op.report.turn_begins) text += " turn begins";
    if (op.report.parts_go_on) text += " parts go on";
    text += " then " + std::to_string(static_cast<int>(op.report.then));
  }
  if (op.kind == Kind::kAcquire) {
    text += " ttl=" + std::to_string(op.request.terms.ttl_ms) + " at[" +
            name_of(op.request.attachment) +
            "] grace=" + std::to_string(op.request.terms.orphan_grace_ms);
  }
  return text;
}

std::string Judge::describe(const Entry& entry, const World& world) {
  std::string text = entry.id.text() + " of " + name_of(entry.owner) + " [";
  for (const Want& want : entry.wants) {
    text += std::string(want.mode == core::Mode::kShared ? " s:" : " x:") +
            world.resource(want.resource).text();
  }
  text += " ] at[" + name_of(entry.holds) + "] created " + std::to_string(entry.created);
  if (!entry.parent.empty()) text += " under " + entry.parent.text();
  if (!entry.worktree.empty()) text += " in " + entry.worktree;
  if (entry.edit) text += entry.edit->confirmed ? " edit" : " unreported edit";
  return text;
}

}  // namespace lockkeeper::sim
