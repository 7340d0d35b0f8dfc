#include "cli/verbs/keep_first.h"

#include "base/file_time.h"
#include "enforce/hook/files.h"
#include "key/path.h"
#include "snapshot/site/realm_keeper.h"

namespace lockkeeper::cli {
namespace {

struct HeldFile {
  std::string path;
  core::Owner holder;
  std::int64_t since_wall_ms;
};

std::vector<HeldFile> held_files(OpenLocks& open, const std::string& agent) {
  std::vector<HeldFile> files;
  service::ListCommand command;
  command.agent = agent;
  command.scan_layouts = false;
  const auto listed = open.locks.list(command);
  if (!listed) return files;  // the verb meets the same error
  for (const service::ListedLease& each : listed->leases) {
    const core::Lease& lease = each.lease;
    if (lease.held_by(open.locks.owner())) continue;
    for (const core::Claim& claim : lease.claims) {
      if (claim.resource.kind() != key::Kind::kFile) continue;
      const bool alone = claim.mode == core::Mode::kExclusive && !lease.foreign;
      files.push_back({std::string(key::path_body(claim.resource.text())),
                       alone ? lease.owner : core::Owner{}, lease.acquired_wall_ms});
    }
  }
  return files;
}

// What changed while somebody held the file alone is the holder's, also if no hook saw it.
Result<void> keep_held(snapshot::Keeper& keeper, const std::vector<HeldFile>& files,
                       snapshot::Keeping how, std::int64_t now_wall_ms) {
  Result<void> first;
  how.if_changed = true;
  for (const HeldFile& file : files) {
    const std::int64_t modified_ms = keeper.tree().look(file.path).mark.modified_ns / 1'000'000;
    const bool changed = modified_ms + kFileTimeLagMs >= file.since_wall_ms;
    how.writer = changed ? snapshot::Who{file.holder.agent, file.holder.session} : snapshot::Who{};
    const auto seen = keeper.keep(file.path, how, now_wall_ms);
    if (!seen && first) first = fail(seen.error());
  }
  return first;
}

}  // namespace

void keep_first(VerbContext& context, OpenLocks& open, snapshot::Why why,
                const std::string& agent) {
  const realm::Realm& realm = open.site.realm();
  open.site.make_folder();
  const auto keeper = snapshot::keeper_of(realm, open.site.settings());
  if (keeper == nullptr) return;
  const core::Owner& me = open.locks.owner();
  const snapshot::Keeping how{.why = why, .by = {me.agent, me.session}};
  const auto held = keep_held(*keeper, held_files(open, agent), how, context.now_wall_ms());
  std::vector<std::string> files;
  const auto look = open.locks.look(realm.root);
  for (const core::Trace& trace : look ? look->traces : std::vector<core::Trace>()) {
    const snapshot::Mark mark = keeper->tree().look(trace.change.path).mark;
    if (enforce::hook::trace_mark(mark) == trace.change.mark) continue;
    files.push_back(trace.change.path);
  }
  const auto kept = keeper->keep_all(files, how, context.now_wall_ms());
  if (held && kept) return;
  context.out().warning("what is on disk now could not be kept for lockkeeper recover: " +
                        (held ? kept : held).error().message);
}

}  // namespace lockkeeper::cli
