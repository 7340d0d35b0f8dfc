#include "cli/verbs/keep_first.h"

#include "enforce/hook/files.h"
#include "key/path.h"
#include "snapshot/site/realm_keeper.h"

namespace lockkeeper::cli {
namespace {

std::vector<std::string> held_files(OpenLocks& open, const std::string& agent) {
  std::vector<std::string> files;
  service::ListCommand command;
  command.agent = agent;
  command.scan_layouts = false;
  const auto listed = open.locks.list(command);
  if (!listed) return files;  // the verb meets the same error
  for (const service::ListedLease& each : listed->leases) {
    if (each.lease.held_by(open.locks.owner())) continue;
    for (const core::Claim& claim : each.lease.claims) {
      if (claim.resource.kind() != key::Kind::kFile) continue;
      files.emplace_back(key::path_body(claim.resource.text()));
    }
  }
  return files;
}

}  // namespace

void keep_first(VerbContext& context, OpenLocks& open, snapshot::Why why,
                const std::string& agent) {
  const realm::Realm& realm = open.site.realm();
  const auto keeper = snapshot::keeper_of(realm, open.site.settings());
  if (keeper == nullptr) return;
  std::vector<std::string> files = held_files(open, agent);
  const auto look = open.locks.look(realm.root);
  for (const core::Trace& trace : look ? look->traces : std::vector<core::Trace>()) {
    const snapshot::Mark mark = keeper->tree().look(trace.change.path).mark;
    if (enforce::hook::trace_mark(mark) == trace.change.mark) continue;
    files.push_back(trace.change.path);
  }
  const core::Owner& me = open.locks.owner();
  const snapshot::Keeping how{.why = why, .by = {me.agent, me.session}};
  const auto kept = keeper->keep_all(files, how, context.now_wall_ms());
  if (kept) return;
  context.out().warning("what is on disk now could not be kept for lockkeeper recover: " +
                        kept.error().message);
}

}  // namespace lockkeeper::cli
