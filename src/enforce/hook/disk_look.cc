#include "enforce/hook/disk_look.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "core/traces.h"
#include "enforce/hook/clean_files.h"
#include "enforce/hook/files.h"
#include "enforce/hook/keeping.h"
#include "enforce/hook/renames.h"
#include "enforce/hook/words.h"
#include "service/messages.h"

namespace lockkeeper::enforce::hook {
namespace {

constexpr std::size_t kOverwritesTold = 5;

struct Seen {
  const service::LookReply& reply;
  std::set<std::string> edited;     // paths that others are editing
  std::set<std::string> in_flight;  // of those, with a call running on them
};

Seen sorted_edits(const service::LookReply& reply) {
  Seen seen{reply, {}, {}};
  for (const core::Lease& edit : reply.edits) {
    for (const core::Claim& claim : edit.claims) {
      const Target target{.typed = {}, .resources = {claim.resource}};
      seen.edited.insert(target.path());
      if (edit.edit && !edit.edit->calls.empty()) seen.in_flight.insert(target.path());
    }
  }
  return seen;
}

bool is_busy(const Seen& seen, const core::Owner& owner) {
  return std::ranges::find(seen.reply.busy, owner) != seen.reply.busy.end();
}

void tell_writer(Session& session, Place& place, const core::Trace& trace, bool blamed) {
  if (trace.owner.agent.empty()) return;
  service::SendCommand send;
  send.to = trace.owner;
  send.type = "alert";
  send.text = trace.change.path + (blamed ? " was changed by a command of mine after you had "
                                            "written it. Read it again before you go on. To see "
                                            "what you had written: lockkeeper recover"
                                          : " was changed after you had written it, while I was "
                                            "working; nobody knows by whom. Read it again");
  static_cast<void>(service::Messages(place.site(), session.owner()).send(send));
}

// Is its file gone, and was something in it that could be found again?
bool has_gone(const core::Trace& trace, const core::Change& now) {
  return now.mark == core::FileMark{} && !trace.change.clean && trace.change.mark.size > 0 &&
         !trace.change.content.empty();
}

// Traces of files that are not as they were left, and how they are now.
struct Changed {
  const core::Trace* trace;
  core::Change now;
};
std::vector<Changed> changed_since(Place& place, const Seen& seen) {
  const Files files(place.worktree());
  std::vector<Changed> changed;
  std::vector<std::string> paths;
  for (const core::Trace& trace : seen.reply.traces) {
    const std::string& path = trace.change.path;
    if (files.mark(path) == trace.change.mark) continue;
    // Its writer is at work, and will say so itself.
    if (seen.in_flight.contains(path)) continue;
    core::Change now = files.change(path);
    if (!now.content.empty() && now.content == trace.change.content) continue;
    paths.push_back(path);
    changed.push_back({&trace, std::move(now)});
  }
  const std::set<std::string> clean = clean_among(place, paths);
  for (Changed& one : changed) one.now.clean = clean.contains(one.now.path);
  return changed;
}

}  // namespace

Result<std::string> look_at_disk(Session& session, Place& place, bool ran,
                                 core::ReportRequest& report) {
  LK_ASSIGN(const service::LookReply reply, place.locks().look(place.worktree()));
  const Seen seen = sorted_edits(reply);
  const core::Owner& me = session.owner();
  const std::int64_t begun_ms = begun_wall_ms(session, reply.own);
  if (ran) keep_unfinished(session, place, true);
  std::vector<std::string> told;
  std::vector<const core::Trace*> gone;  // by this owner's own command
  for (auto& [found, now] : changed_since(place, seen)) {
    const core::Trace& trace = *found;
    const std::string& path = trace.change.path;
    if (is_busy(seen, trace.owner)) {
      keep_change(session, place, path, false);
      continue;
    }
    const bool contested = is_contested(session, place, path, begun_ms);
    const bool own = trace.owner == me && !seen.edited.contains(path);
    if (own || trace.change.clean) {
      const bool back = trace.change.clean && !core::writers_in(trace, now.content).empty();
      const bool mine = ran && !contested && !back && (own || reply.busy.empty());
      keep_change(session, place, path, mine);
      if (mine && own && has_gone(trace, now)) gone.push_back(found);
      (mine ? report.changed : report.found).push_back(std::move(now));
      continue;
    }
    const bool blamed = ran && reply.busy.empty() && !contested;
    keep_change(session, place, path, blamed);
    report.notes.push_back(
        {blamed ? "overwrote" : "changed", {path}, trace.owner, blamed ? "edit" : "unattributed"});
    if (trace.owner != me) tell_writer(session, place, trace, blamed);
    told.push_back(path);
    (blamed ? report.changed : report.found).push_back(std::move(now));
  }
  follow_renames(session, place, gone, reply, seen.edited, report);
  if (ran) keep_stashes(session, place, reply);
  if (told.empty()) return std::string();
  return "lockkeeper: " + shown_list(told, kOverwritesTold) + (told.size() == 1 ? " is" : " are") +
         " not as another agent had left " + (told.size() == 1 ? "it" : "them") +
         ": the last command changed that, or something that ran beside it. The other agent is "
         "told. Check that its work is not lost";
}

void adopt_locks(Session& session, Place& place) {
  if (session.world().client_gone) return;
  const auto own = place.locks().own_calls();
  const auto seen = place.locks().look(place.worktree());
  if (!own || !seen || own->empty() || !seen->busy.empty()) return;
  const std::int64_t begun_ms = begun_wall_ms(session, *own);
  const auto listed = place.locks().list({});
  if (!listed) return;
  for (const service::ListedLease& each : listed->leases) {
    if (!each.lease.foreign || each.lease.acquired_wall_ms < begun_ms) continue;
    if (each.lease.claims.empty()) continue;
    service::Wanted wanted;
    wanted.texts = {each.lease.claims.front().resource.text()};
    wanted.syntax = key::Syntax::kLiteral;
    service::AcquireCommand how;
    how.attach_pid = session.world().client_pid;
    static_cast<void>(place.locks().adopt(wanted, how));
  }
}

}  // namespace lockkeeper::enforce::hook
