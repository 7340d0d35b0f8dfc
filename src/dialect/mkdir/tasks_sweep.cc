// Tasks: list and sweep.
#include <algorithm>

#include "dialect/mkdir/tasks.h"

namespace lockkeeper::dialect::mkdir {
namespace {

TaskLock lock_of(const core::Lease& lease, const std::string& artefact, const MkdirLayout& layout) {
  TaskLock lock;
  lock.name = artefact;
  lock.owner = lease.owner;
  lock.task = lease.terms.task;
  lock.since_wall_ms = lease.acquired_wall_ms;
  lock.native = lease.terms.layout != layout.id();
  lock.lease = lease.id;
  for (const core::Claim& claim : lease.claims) {
    if (layout.artefact_of(claim.resource) == artefact) {
      lock.resources.push_back(claim.resource.text());
    }
  }
  return lock;
}

TaskLock lock_of(const core::ForeignLock& foreign) {
  TaskLock lock;
  lock.name = foreign.artefact;
  lock.owner = foreign.owner;
  lock.task = foreign.task;
  lock.since_wall_ms = foreign.since_wall_ms;
  lock.foreign = true;
  for (const core::Claim& claim : foreign.claims) lock.resources.push_back(claim.resource.text());
  return lock;
}

bool is_among(const std::vector<core::LeaseId>& ids, const core::LeaseId& id) {
  return std::ranges::find(ids, id) != ids.end();
}

std::string artefact_name(const core::Lease& lease) {
  return lease.terms.artefact.substr(0, lease.terms.artefact.find('\0'));
}

}  // namespace

Result<std::vector<TaskLock>> Tasks::list() {
  std::vector<TaskLock> locks;
  std::vector<std::string> ours;  // artefact and identity
  LK_ASSIGN(const service::ListReply leases, locks_.list({}));
  for (const service::ListedLease& listed : leases.leases) {
    if (listed.lease.foreign) continue;
    for (const std::string& artefact : layout_.artefacts(listed.lease).names) {
      TaskLock lock = lock_of(listed.lease, artefact, layout_);
      lock.alive = listed.condition.alive;
      ours.push_back(artefact + '\0' + layout_.identity(listed.lease, artefact));
      locks.push_back(std::move(lock));
    }
  }
  LK_ASSIGN(const layout::ScanResult seen, layout_.scan({}));
  for (const layout::Sighting& sighting : seen.sightings) {
    const std::string who = sighting.lock.artefact + '\0' + sighting.identity;
    if (std::ranges::find(ours, who) == ours.end()) locks.push_back(lock_of(sighting.lock));
  }
  std::ranges::stable_sort(locks, {}, &TaskLock::name);
  for (TaskLock& lock : locks) {
    LK_ASSIGN(lock.path, layout_.path_of(lock.name));
    lock.name = decoded(lock.name);
  }
  return locks;
}

// The leases to free.
bool Tasks::is_swept(const core::Lease& lease, const SweepRequest& request) const {
  const bool here = lease.terms.layout == layout_.id();
  if (request.what != Sweep::kReturned)
    return here && (request.what == Sweep::kAll || !lease.foreign);
  if (lease.terms.task == request.task) return here || !lease.foreign;
  // Its process was killed before it wrote the owner file: the folder's name has the task.
  return here && lease.foreign && artefact_name(lease) == "tasks/" + encoded(request.task);
}

Result<void> Tasks::break_them(const std::vector<core::LeaseId>& ids, const SweepRequest& request,
                               bool foreign, SweepReply& reply) {
  if (ids.empty()) return {};
  service::BreakCommand command;
  for (const core::LeaseId& id : ids) command.lease_ids.push_back(id.text());
  command.foreign = foreign;
  command.only_dead = request.what == Sweep::kDead;
  command.reason = request.what == Sweep::kReturned ? "task " + request.task + " returned"
                   : request.what == Sweep::kDead   ? "its processes are gone"
                                                    : "task sweep --all";
  const auto broken = locks_.break_leases(command);
  if (!broken && broken.error().code == Code::kNotFound) return {};
  if (!broken) return fail(broken.error());
  reply.broken.insert(reply.broken.end(), broken->begin(), broken->end());
  return {};
}

Result<SweepReply> Tasks::sweep(const SweepRequest& request) {
  if (request.what == Sweep::kReturned) LK_CHECK(request_for_task(request.task));
  LK_CHECK(register_layout());
  LK_CHECK(locks_.scan_layouts());
  LK_ASSIGN(const service::ListReply all, locks_.list({}));
  std::vector<core::LeaseId> own, others, foreign;
  std::size_t here = 0;
  for (const service::ListedLease& listed : all.leases) {
    const core::Lease& lease = listed.lease;
    if (lease.terms.layout == layout_.id()) ++here;
    if (!is_swept(lease, request)) continue;
    const bool mine = request.what == Sweep::kReturned && lease.held_by(locks_.owner());
    (lease.foreign ? foreign : mine ? own : others).push_back(lease.id);
  }
  SweepReply reply;
  if (!own.empty()) {
    service::ReleaseCommand command;
    for (const core::LeaseId& id : own) command.lease_ids.push_back(id.text());
    LK_ASSIGN(const core::ReleaseReply released, locks_.release(command));
    reply.released = released.released;
  }
  LK_CHECK(break_them(others, request, false, reply));
  LK_CHECK(break_them(foreign, request, true, reply));
  LK_CHECK(layout_.tidy());
  for (const service::ListedLease& listed : all.leases) {
    const auto freed = [&](const core::Lease& lease) { return lease.id == listed.lease.id; };
    const bool gone = is_among(own, listed.lease.id) || std::ranges::any_of(reply.broken, freed);
    if (gone && listed.lease.terms.layout == layout_.id()) --here;
  }
  reply.kept = here;
  return reply;
}

}  // namespace lockkeeper::dialect::mkdir
