// Guard: what to do about an existing lock, by the dirlock protocol's three rules.
#include <algorithm>
#include <ctime>

#include "base/text.h"
#include "core/foreign.h"
#include "dialect/dirlock/guard.h"
#include "layout/artefact_rows.h"
#include "service/questions.h"
#include "service/report.h"

namespace lockkeeper::dialect::dirlock {
namespace {

constexpr const char* kCause = "stale_timeout";
constexpr std::int64_t kSettleMs = 1'000;  // for a file that is being written
constexpr long kClearStepNs = 20'000'000;

std::string broken_reason(const GuardRequest& request) {
  if (request.stale_timeout_ms == 0) return "guard --stale-timeout 0";
  return "older than " + request.stale_timeout + " minutes";
}

}  // namespace

Result<Guard::Step> Guard::refuse(const LockRecord& holder) {
  for (const Line& line : holder_lines(holder, path_)) say_(line);
  refused_ = {};
  refused_.holder = holder;
  refused_.path = path_;
  refused_.error = {Code::kHeld,
                    quote(request_.folder) + " is held by PID " + std::to_string(holder.pid) +
                        (holder.hostname.empty() ? "" : " on " + holder.hostname),
                    "wait for it to end; to clear it anyway: --stale-timeout 0"};
  return Step::kRefused;
}

Guard::Step Guard::refuse(std::vector<core::Conflict> conflicts) {
  for (const core::Conflict& conflict : conflicts) {
    for (const Line& line : conflict_lines(conflict, wall_ms())) say_(line);
  }
  refused_ = {};
  refused_.path = path_;
  service::HintContext asked;
  asked.resources = {request_.folder};
  asked.now_wall_ms = wall_ms();
  refused_.error = service::held_error(conflicts, asked);
  refused_.error.hint = "wait, or see: lockkeeper list --under " + shell_quote(request_.folder);
  refused_.conflicts = std::move(conflicts);
  return Step::kRefused;
}

Result<Guard::Step> Guard::clear_the_way() {
  LK_ASSIGN(const Folder folder, Folder::open(entry_.root, ""));
  std::optional<FoundLock> found;
  for (const std::int64_t until = mono_ms() + kSettleMs;;) {
    LK_ASSIGN(found, read_lock(folder, name_));
    if (!found) return Step::kDone;
    const bool settled = found->record || !found->young(wall_ms()) || mono_ms() >= until;
    if (settled) break;
    const timespec step{0, kClearStepNs};
    ::nanosleep(&step, nullptr);
  }
  if (!found->record) return clear_unclear(*found);
  const Judged judged = judge(*found->record, found->stamp.mtime_ms, here(*runtime_.clock),
                              request_.stale_timeout_ms);
  if (judged.verdict != Verdict::kHeld) return clear_stale(*found, judged);
  say_(held_line(found->record->pid, judged.start_ms, wall_ms()));
  return refuse(*found->record);
}

Result<Guard::Step> Guard::clear_unclear(const FoundLock& found) {
  if (request_.stale_timeout_ms == 0) {
    say_(forced_line());
    return clear(found);
  }
  if (!found.young(wall_ms())) {
    say_(invalid_line());
    return clear(found);
  }
  // Another instance may be writing it: unknown is not free (I10).
  say_(unfinished_line(path_));
  refused_ = {};
  refused_.path = path_;
  refused_.error = {Code::kHeld, quote(path_) + " cannot be understood yet: " + found.trouble,
                    "try again in a few seconds"};
  return Step::kRefused;
}

Result<Guard::Step> Guard::clear_stale(const FoundLock& found, const Judged& judged) {
  const LockRecord& record = *found.record;
  LK_ASSIGN(const std::vector<core::Lease> ours, shown_by(record));
  if (judged.verdict == Verdict::kGone || judged.verdict == Verdict::kReused) {
    // For our own locks the table knows better than a pid and the clock (I6).
    const auto lives = [&](const core::Lease& lease) {
      return shown_place().site.table().alive(lease) != core::Alive::kDead;
    };
    if (std::ranges::any_of(ours, lives)) {
      say_(held_line(record.pid, judged.start_ms, wall_ms()));
      return refuse(record);
    }
    say_(dead_line(record.pid));
    return clear(found);
  }
  // A native lease's lock file does not belong to a guard: the rules do not apply, the table
  // decides.
  const auto native = [&](const core::Lease& lease) { return lease.terms.layout != entry_.id(); };
  if (std::ranges::any_of(ours, native)) return Step::kDone;
  if (judged.verdict == Verdict::kForced) {
    say_(forced_line());
  } else {
    say_(held_line(record.pid, judged.start_ms, wall_ms()));
    say_(stale_line(request_.stale_timeout));
  }
  if (!ours.empty()) LK_CHECK(break_ours(record, ours));
  LK_ASSIGN(const Step step, clear(found));
  if (ours.empty() && step == Step::kDone) LK_CHECK(record_break(record));
  return step;
}

Result<Guard::Step> Guard::clear(const FoundLock& found) {
  LK_ASSIGN(const Cleared cleared, clear_lock(entry_.root, name_, found.bytes));
  return cleared == Cleared::kChanged ? Step::kAgain : Step::kDone;
}

// Our live leases that this lock file shows.
Result<std::vector<core::Lease>> Guard::shown_by(const LockRecord& record) {
  LK_ASSIGN(const std::vector<layout::MirroredLease> mirrored,
            layout::leases_mirrored_as(shown_place().site.table(), entry_.id(), name_));
  std::vector<core::Lease> leases;
  for (const layout::MirroredLease& each : mirrored) {
    if (each.live && each.identity == record.identity()) leases.push_back(each.lease);
  }
  return leases;
}

// Breaks the lease of one of our guards.
Result<void> Guard::break_ours(const LockRecord& record, const std::vector<core::Lease>& shown) {
  service::BreakCommand command;
  command.cause = kCause;
  command.reason = broken_reason(request_);
  const auto end = [&](Place& place) -> Result<void> {
    if (command.lease_ids.empty()) return {};
    const auto broken = place.locks.break_leases(command);
    // It has ended meanwhile.
    if (!broken && broken.error().code != Code::kNotFound) return fail(broken.error());
    return {};
  };
  for (const core::Lease& lease : shown) command.lease_ids.push_back(lease.id.text());
  LK_CHECK(end(shown_place()));
  if (!repository_) return {};
  command.lease_ids.clear();
  service::Site& machine = machine_->site;
  LK_ASSIGN(const key::Parsed parsed,
            key::parse("dir:" + request_.folder, machine.settings().key_rules(machine.realm())));
  LK_ASSIGN(const std::vector<service::ListedLease> holders,
            service::holders_of(machine, {&parsed.resource, 1}));
  for (const service::ListedLease& each : holders) {
    if (each.lease.process().pid == record.pid) {
      command.lease_ids.push_back(each.lease.id.text());
    }
  }
  return end(*machine_);
}

// Another tool's lock was cleared although its holder may be alive.
Result<void> Guard::record_break(const LockRecord& record) {
  Place& place = shown_place();
  core::Owner holder{std::to_string(record.pid) + "@" + record.hostname, record.start_time};
  return layout::record_removed_foreign(
      place.site.table(), {entry_.id(), name_, std::move(holder), {request_.folder}},
      {"broken", kCause, broken_reason(request_), place.locks.owner()});
}

// Refused by the table. The rules also apply to another guard's lease on this very folder: its lock
// file may be in another folder for temporary files.
Result<Guard::Step> Guard::judge_conflicts(Place& place,
                                           const std::vector<core::Conflict>& conflicts) {
  service::BreakCommand command;
  command.cause = kCause;
  command.reason = broken_reason(request_);
  const std::string key = "dir:" + request_.folder;
  std::vector<Line> lines;
  for (const core::Conflict& conflict : conflicts) {
    const core::Lease& holder = conflict.holder;
    // Another process was faster: the file names it.
    if (holder.foreign && core::layout_kind(holder.terms.layout) == kKind &&
        core::foreign_path(holder) == path_) {
      return Step::kAgain;
    }
    const bool same = !conflict.waiting && holder.process().pid != 0 &&
                      (conflict.held.resource.text() == key ||
                       (holder.terms.layout == entry_.id() && holder.terms.artefact == name_));
    const std::int64_t age_ms = wall_ms() - holder.acquired_wall_ms;
    const bool over = request_.stale_timeout_ms == 0 || age_ms > request_.stale_timeout_ms;
    if (!same) return refuse(conflicts);
    const Line held = held_line(holder.process().pid, holder.acquired_wall_ms, wall_ms());
    if (!over) {
      say_(held);
      LockRecord record;
      record.pid = holder.process().pid;
      record.cwd = request_.folder;
      record.start_time = format_time(holder.acquired_wall_ms);
      record.hostname = here(*runtime_.clock).hostname;
      record.agents = {holder.terms.task.empty() ? holder.owner.agent : holder.terms.task};
      LK_ASSIGN(const Step refused, refuse(record));
      refused_.conflicts = conflicts;
      return refused;
    }
    if (request_.stale_timeout_ms != 0) lines.push_back(held);
    lines.push_back(request_.stale_timeout_ms == 0 ? forced_line()
                                                   : stale_line(request_.stale_timeout));
    command.lease_ids.push_back(holder.id.text());
  }
  if (command.lease_ids.empty()) return refuse(conflicts);
  for (const Line& line : lines) say_(line);
  const auto broken = place.locks.break_leases(command);
  if (!broken && broken.error().code != Code::kNotFound) return fail(broken.error());
  return Step::kAgain;
}

}  // namespace lockkeeper::dialect::dirlock
