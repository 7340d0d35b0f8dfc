// Workflow: update, unlock, status and clean.
#include <algorithm>

#include "base/text.h"
#include "core/foreign.h"
#include "dialect/workflow/workflow.h"
#include "layout/artefact_rows.h"
#include "layout/registration.h"
#include "layout/registry.h"
#include "service/questions.h"

namespace lockkeeper::dialect::workflow {
namespace {

std::unexpected<Error> no_live_lock(const std::string& agent, const std::string& output) {
  return fail(Code::kNotFound, "there is no live lock of " + shown(agent) + " in " + quote(output),
              "see: lockkeeper workflow status --output " + shell_quote(output));
}

std::unexpected<Error> only_shown_here(const Standing& standing) {
  return fail(Code::kNotOwner,
              shown(standing.name) + " shows a lease that was not taken through this workflow",
              "to end another's lease on record: lockkeeper break --lease " +
                  standing.lease->text() + " --reason TEXT");
}

}  // namespace

Result<Locked> Workflow::update(const Update& update) {
  LK_CHECK(check_lock_name(update.agent));
  const std::string name = lock_name(update.agent);
  LK_ASSIGN(const std::vector<Standing> expired, expired_locks());
  LK_CHECK(locks_of(update.agent).scan_layouts());
  LK_ASSIGN(const Standing now, standing(name));
  if (now.error) return fail(*now.error);
  if (!now.lease && now.file && !now.expired) {
    return fail(
        Code::kNotOwner, quote(now.path) + " was written by another tool",
        "let that tool change it, or make it yours: lockkeeper adopt " + shell_quote(now.path));
  }
  LK_ASSIGN(const std::optional<core::Lease> lease, live_lease(name));
  if (!lease) return no_live_lock(update.agent, entry_.root);
  LK_ASSIGN(const std::vector<key::Resource> added, resolve(update.add));
  LK_ASSIGN(const std::vector<key::Resource> removed, resolve(update.remove));
  std::vector<std::string> texts;
  for (const core::Claim& claim : lease->claims) {
    if (std::ranges::find(removed, claim.resource) == removed.end()) {
      texts.push_back(claim.resource.text());
    }
  }
  for (const key::Resource& gone : removed) {
    const auto is = [&](const core::Claim& claim) { return claim.resource == gone; };
    if (std::ranges::none_of(lease->claims, is)) {
      return fail(Code::kNotFound,
                  shown(gone.text()) + " is not in the scope of " + shown(update.agent),
                  "--remove takes an entry exactly as locked; see: lockkeeper workflow status "
                  "--output " +
                      shell_quote(entry_.root));
    }
  }
  for (const key::Resource& more : added) {
    if (std::ranges::find(texts, more.text()) == texts.end()) texts.push_back(more.text());
  }
  if (texts.empty()) {
    return fail(Code::kInvalidInput, "nothing would be left of the scope of " + update.agent,
                "unlock it instead: lockkeeper workflow unlock --output " +
                    shell_quote(entry_.root) + " --agent " + shell_quote(update.agent));
  }
  LK_CHECK(use());
  Request request{update.agent,       texts, {}, lease->terms.reason, lease->terms.task,
                  lease->terms.ttl_ms};
  if (update.ttl_ms) request.ttl_ms = update.ttl_ms;
  service::AcquireCommand asked = command(request);
  asked.replaces = {lease->id};
  service::Locks locks = locks_of(update.agent);
  Locked reply{update.agent, now.path, {}, false, {}, {}, {}, {}, {}};
  LK_ASSIGN(reply.result, locks.acquire(asked));
  LK_ASSIGN(const std::vector<std::string> lines, overwriting(update.agent, texts, expired));
  reply.result.warnings.insert(reply.result.warnings.begin(), lines.begin(), lines.end());
  return explained(std::move(reply), texts, request.task_description);
}

// --- unlock --------------------------------------------------------------------------------------

Result<Unlocked> Workflow::end_lease(const Standing& standing) {
  LK_ASSIGN(const std::optional<service::ListedLease> found,
            service::find_lease(site_, *standing.lease));
  if (!found) return Unlocked{"", standing.path, HowEnded::kOver};
  const std::string agent = found->lease.owner.agent;
  service::ReleaseCommand command;
  command.lease_ids = {standing.lease->text()};
  service::Locks locks = locks_of(agent);
  LK_CHECK(locks.release(command));
  return Unlocked{agent, standing.path, HowEnded::kReleased};
}

// Another tool's lock, an expired one, or an unreadable file: the caller may write the folder, so
// the file is removed, and the table records the caller.
Result<Unlocked> Workflow::end_foreign(const Standing& standing) {
  const std::string identity =
      standing.file ? layout_.identity_of(*standing.file, standing.name) : std::string();
  LK_ASSIGN(const layout::Removed removed, layout_.remove(artefact_of(standing.name), identity));
  if (removed == layout::Removed::kForeign) {
    return fail(Code::kHeld, quote(standing.path) + " was replaced while it was being unlocked",
                "look again: lockkeeper workflow status --output " + shell_quote(entry_.root));
  }
  const std::string agent =
      standing.file ? standing.file->agent
                    : standing.name.substr(0, standing.name.size() - kLockSuffix.size());
  layout::RemovedForeign ended{
      layout_.id(), artefact_of(standing.name), {agent, session_of(entry_)}, {}};
  for (const key::Resource& each : standing.resources) ended.resources.push_back(each.text());
  LK_CHECK(layout::record_removed_foreign(
      site_.table(), ended, {"broken", kKind, "workflow unlock of " + standing.path, by_}));
  return Unlocked{agent, standing.path, standing.expired ? HowEnded::kOver : HowEnded::kBroken};
}

Result<Unlocked> Workflow::unlock(const std::string& agent) {
  if (!is_mirror_name(lock_name(agent))) LK_CHECK(check_lock_name(agent));
  // Best effort: an unreadable file must not prevent its removal.
  static_cast<void>(locks_of(agent).scan_layouts());
  LK_ASSIGN(const Standing now, standing(lock_name(agent)));
  if (now.lease && !now.through) return only_shown_here(now);
  if (now.lease) return end_lease(now);
  if (!now.file && !now.error) return no_live_lock(agent, entry_.root);
  return end_foreign(now);
}

// --- status and clean ----------------------------------------------------------------------------

Result<Status> Workflow::status() {
  Status status;
  LK_ASSIGN(WorkflowLayout::Names names, layout_.names());
  status.others = std::move(names.others);
  for (const std::string& name : names.locks) {
    LK_ASSIGN(Standing now, standing(name));
    if (now.file || now.error) status.locks.push_back(std::move(now));
  }
  for (std::size_t i = 0; i < status.locks.size(); ++i) {
    for (std::size_t j = i + 1; j < status.locks.size(); ++j) {
      const Standing& a = status.locks[i];
      const Standing& b = status.locks[j];
      if (a.expired || b.expired) continue;
      LK_ASSIGN(const std::vector<plan::Clash> overlaps,
                plan::clashes_of({{}, a.resources, {}}, {{}, b.resources, {}}));
      for (const plan::Clash& overlap : overlaps) {
        status.overlaps.push_back({a.name, b.name, overlap});
      }
    }
  }
  return status;
}

Result<Cleaned> Workflow::clean() {
  Cleaned cleaned;
  LK_ASSIGN(const WorkflowLayout::Names names, layout_.names());
  cleaned.folder_found = names.folder;
  LK_ASSIGN(const Status before, status());
  for (const Standing& each : before.locks) {
    if (each.lease && !each.through) continue;
    LK_ASSIGN(Unlocked unlocked, each.lease ? end_lease(each) : end_foreign(each));
    cleaned.unlocked.push_back(std::move(unlocked));
  }
  for (const std::string& name : before.others) cleaned.left.push_back(path_of(name));
  // The workflow is over: others' leases need no longer be shown here.
  LK_ASSIGN(const std::vector<layout::LayoutEntry> known,
            layout::load_layouts(site_.realm(), site_.settings()));
  const auto own = std::ranges::find(known, layout_.id(), &layout::LayoutEntry::id);
  if (own != known.end() && own->origin.file.empty()) {
    LK_CHECK(layout::remove_layout(site_.table(), layout_.id()));
  }
  LK_ASSIGN(const bool gone, layout_.remove_folder());
  cleaned.folder_removed = cleaned.folder_found && gone;
  return cleaned;
}

}  // namespace lockkeeper::dialect::workflow
