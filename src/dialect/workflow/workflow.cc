#include "dialect/workflow/workflow.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "core/foreign.h"
#include "layout/artefact_rows.h"
#include "layout/registration.h"
#include "layout/registry.h"
#include "realm/children.h"
#include "service/questions.h"
#include "service/report.h"

namespace lockkeeper::dialect::workflow {
namespace {

using core::Outcome;

// `scope` has files and directories.
std::vector<std::string> texts_of(const auto& scope) {
  std::vector<std::string> texts = scope.files;
  for (const std::string& folder : scope.directories) {
    const bool slash = folder.ends_with('/') || folder.ends_with('\\');
    texts.push_back(slash ? folder : folder + "/");
  }
  return texts;
}

service::Wanted wanted(std::vector<std::string> texts) {
  service::Wanted wanted;
  wanted.texts = std::move(texts);
  wanted.base.kind = realm::Base::kRoot;
  wanted.syntax = key::Syntax::kLiteral;
  wanted.convert_backslash = true;
  wanted.no_patterns = true;
  return wanted;
}

std::vector<key::Resource> resources_of(const core::Lease& lease) {
  std::vector<key::Resource> resources;
  for (const core::Claim& claim : lease.claims) resources.push_back(claim.resource);
  return resources;
}

bool same(std::vector<key::Resource> a, std::vector<key::Resource> b) {
  const auto by_text = [](const key::Resource& x, const key::Resource& y) {
    return x.text() < y.text();
  };
  for (std::vector<key::Resource>* const list : {&a, &b}) {
    std::ranges::sort(*list, by_text);
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  return a == b;
}

std::vector<key::Resource> not_covered(std::vector<key::Resource> asked,
                                       const std::vector<key::Resource>& held) {
  std::erase_if(asked, [&](const key::Resource& each) { return key::covered_by_any(each, held); });
  return asked;
}

// The holders in a refusal's conflicts, each once, with all they hold.
std::vector<plan::Scope> holders_of(const std::vector<core::Conflict>& conflicts,
                                    const std::vector<std::string>& held_in) {
  std::map<core::LeaseId, plan::Scope> holders;
  for (std::size_t i = 0; i < conflicts.size(); ++i) {
    const core::Conflict& conflict = conflicts[i];
    plan::Scope& scope = holders[conflict.holder.id];
    scope.agent = (held_in[i].empty() ? "" : held_in[i] + "/") + conflict.holder.owner.agent;
    scope.task_description = conflict.holder.terms.reason;
    for (const key::Resource& resource : resources_of(conflict.holder)) {
      scope.resources.push_back(resource);
    }
    const auto& known = scope.resources;
    if (std::ranges::find(known, conflict.held.resource) == known.end()) {
      scope.resources.push_back(conflict.held.resource);
    }
  }
  std::vector<plan::Scope> list;
  for (auto& [id, scope] : holders) list.push_back(std::move(scope));
  return list;
}

}  // namespace

Result<std::unique_ptr<Workflow>> Workflow::open(service::Site& table, std::string output,
                                                 core::Owner by, service::ParentLease under) {
  layout::LayoutEntry entry;
  entry.kind = kKind;
  entry.root = std::move(output);
  LK_ASSIGN(const std::vector<layout::LayoutEntry> known,
            layout::load_layouts(table.realm(), table.settings()));
  for (const layout::LayoutEntry& each : known) {
    if (each.id() == entry.id()) entry = each;  // including its ignored files
  }
  return std::unique_ptr<Workflow>(
      new Workflow(table, std::move(entry), std::move(by), std::move(under)));
}

Workflow::Workflow(service::Site& table, layout::LayoutEntry entry, core::Owner by,
                   service::ParentLease under)
    : site_(table),
      entry_(std::move(entry)),
      by_(std::move(by)),
      under_(std::move(under)),
      layout_(entry_,
              {table.realm(), table.settings(), table.runtime().env, *table.runtime().clock}) {}

std::string Workflow::path_of(const std::string& name) const {
  return entry_.root + "/" + kLocksFolder + "/" + name;
}

Result<void> Workflow::use() {
  LK_CHECK(layout::use_layout(site_.table(), {entry_, std::string(kLocksFolder) + "/"}));
  return {};
}

service::Locks Workflow::locks_of(const std::string& agent) const {
  return service::Locks(site_, {agent, session_of(entry_)}, under_);
}

Result<std::vector<key::Resource>> Workflow::resolve(const std::vector<std::string>& texts,
                                                     Spellings spellings) {
  realm::Resolver resolver(site_.realm(), site_.settings().key_rules(site_.realm()), realm::Base{},
                           site_.runtime().env, {.convert_backslash = true});
  std::vector<key::Resource> resources;
  for (const std::string& text : texts) {
    LK_ASSIGN(const auto all, resolver.resolve_all(text, key::Syntax::kLiteral));
    const std::size_t wanted = spellings == Spellings::kAll ? all.size() : 1;
    for (std::size_t i = 0; i < wanted; ++i) resources.push_back(all[i].resource);
  }
  return resources;
}

// --- existing locks ------------------------------------------------------------------------------

// Our live lease that this file shows, if any.
Result<void> Workflow::stand_in_table(Standing& standing) {
  if (!standing.file) return {};
  LK_ASSIGN(const std::vector<layout::MirroredLease> mirrored,
            layout::leases_mirrored_as(site_.table(), layout_.id(), artefact_of(standing.name)));
  for (const layout::MirroredLease& each : mirrored) {
    if (WorkflowLayout::identity_of(*standing.file, standing.name) != each.identity) continue;
    standing.ours = true;
    if (each.over) continue;
    standing.lease = each.lease.id;
    standing.through = each.lease.terms.layout == layout_.id();
    standing.resources = resources_of(each.lease);
    standing.expired = false;
  }
  return {};
}

Result<Standing> Workflow::standing(const std::string& name) {
  Standing standing;
  standing.name = name;
  standing.path = path_of(name);
  auto file = layout_.read(name);
  if (!file) {
    standing.error = file.error();
  } else if (*file) {
    standing.file = std::move(**file);
    standing.expired = standing.file->expired(site_.runtime().clock->now().wall_ms);
    LK_ASSIGN(const layout::ScanResult seen, layout_.scan_source(artefact_of(name)));
    for (const layout::Sighting& sighting : seen.sightings) {
      for (const core::Claim& claim : sighting.lock.claims) {
        standing.resources.push_back(claim.resource);
      }
    }
  }
  LK_CHECK(stand_in_table(standing));
  return standing;
}

Result<std::optional<core::Lease>> Workflow::live_lease(const std::string& name) {
  LK_ASSIGN(const Standing now, standing(name));
  if (!now.lease || !now.through) return std::nullopt;
  LK_ASSIGN(std::optional<service::ListedLease> found, service::find_lease(site_, *now.lease));
  return found ? std::optional(std::move(found->lease)) : std::nullopt;
}

// --- lock ----------------------------------------------------------------------------------------

service::AcquireCommand Workflow::command(const Request& request) const {
  service::AcquireCommand command;
  command.wanted = wanted(texts_of(request));
  command.ttl_ms = request.ttl_ms.value_or(realm::bounded_ttl_ms(site_.settings(), kDefaultTtlMs));
  command.terms.reason = request.task_description;
  command.terms.task = request.task;
  command.terms.layout = layout_.id();
  command.terms.artefact = artefact_of(lock_name(request.agent));
  return command;
}

Result<Locked> Workflow::name_taken(const Request& request, const Standing& standing) {
  Locked locked{request.agent, standing.path, {}, true, {}, {}, {}, {}, {}};
  LK_ASSIGN(const std::vector<key::Resource> ours, resolve(texts_of(request)));
  core::Conflict conflict;
  conflict.alive = core::Alive::kUnknown;
  if (standing.lease) {
    LK_ASSIGN(std::optional<service::ListedLease> found,
              service::find_lease(site_, *standing.lease));
    if (found) conflict.holder = std::move(found->lease);
  } else {
    conflict.holder.foreign = true;
    conflict.holder.terms.layout = layout_.id();
    conflict.holder.terms.artefact = artefact_of(standing.name) + '\0' + standing.path;
    conflict.holder.owner = {standing.file->agent, session_of(entry_)};
    conflict.holder.terms.reason = standing.file->task_description;
    conflict.holder.acquired_wall_ms = standing.file->locked_at_ms;
    conflict.holder.expires_wall_ms = standing.file->expires_at_ms;
    for (const key::Resource& resource : standing.resources) {
      conflict.holder.claims.push_back({resource, core::Mode::kExclusive, 0});
    }
  }
  if (!ours.empty()) conflict.requested.resource = ours.front();
  if (!standing.resources.empty()) conflict.held.resource = standing.resources.front();
  locked.not_in_it = not_covered(ours, standing.resources);
  locked.result.outcome = Outcome::kHeld;
  locked.result.conflicts = {std::move(conflict)};
  return locked;
}

Result<Locked> Workflow::renew(const Request& request, const core::Lease& lease) {
  if (!texts_of(request).empty()) {
    LK_ASSIGN(const auto asked, resolve(texts_of(request), Spellings::kAll));
    if (!same(asked, resources_of(lease))) {
      return fail(Code::kInvalidInput,
                  "--renew: the live lock of " + request.agent + " has a different scope",
                  "renew it without --file and --dir, or change it: lockkeeper workflow update "
                  "--output " +
                      shell_quote(entry_.root) + " --agent " + shell_quote(request.agent) +
                      " --add FILE --remove FILE");
    }
  }
  service::RenewCommand command;
  command.lease_ids = {lease.id.text()};
  command.ttl_ms = request.ttl_ms;
  service::Locks locks = locks_of(request.agent);
  LK_ASSIGN(const std::vector<core::Lease> renewed, locks.renew(command));
  Locked locked{request.agent, path_of(lock_name(request.agent)), {}, false, {}, {}, {}, {}, {}};
  locked.result.outcome = Outcome::kRenewed;
  locked.result.lease = renewed.empty() ? lease : renewed.front();
  return locked;
}

// What the existing lock of that name means: a refusal, a renewal, or nothing.
Result<std::optional<Locked>> Workflow::before_lock(const Request& request, bool may_renew) {
  LK_ASSIGN(const Standing now, standing(lock_name(request.agent)));
  if (now.error) return fail(*now.error);
  if (now.lease) {
    LK_ASSIGN(const std::optional<core::Lease> lease, live_lease(now.name));
    if (!lease || !may_renew) {
      LK_ASSIGN(Locked taken, name_taken(request, now));
      return taken;
    }
    LK_ASSIGN(Locked renewed, renew(request, *lease));
    return renewed;
  }
  if (now.file && !now.expired) {
    LK_ASSIGN(Locked taken, name_taken(request, now));
    return taken;
  }
  return std::nullopt;
}

Result<std::vector<Standing>> Workflow::expired_locks() {
  std::vector<Standing> expired;
  LK_ASSIGN(const WorkflowLayout::Names names, layout_.names());
  for (const std::string& name : names.locks) {
    const auto now = standing(name);
    if (!now || !now->file || !now->expired) continue;
    Standing& each = expired.emplace_back(*now);
    for (const std::string& text : texts_of(*each.file)) {
      const auto resource = resolve({text});  // what is not in this repository cannot overlap
      if (resource) each.resources.push_back(resource->front());
    }
  }
  return expired;
}

// The protocol's line for each expired lock that a new one with this scope overwrites: the one of
// its own name, and those that overlap it.
Result<std::vector<std::string>> Workflow::overwriting(const std::string& agent,
                                                       const std::vector<std::string>& texts,
                                                       const std::vector<Standing>& expired) {
  std::vector<std::string> lines;
  LK_ASSIGN(const std::vector<key::Resource> wanted, resolve(texts));
  for (const Standing& each : expired) {
    LK_ASSIGN(const std::vector<plan::Clash> overlaps,
              plan::clashes_of({{}, wanted, {}}, {{}, each.resources, {}}));
    if (overlaps.empty() && each.name != lock_name(agent)) continue;
    lines.push_back("Overwriting expired lock for " + shown(each.file->agent));
  }
  return lines;
}

Result<std::vector<Locked>> Workflow::lock(const std::vector<Request>& requests, bool may_renew) {
  std::set<std::string> names;
  for (const Request& request : requests) {
    LK_CHECK(check_lock_name(request.agent));
    if (!names.insert(request.agent).second) {
      return fail(Code::kInvalidInput, "the agent " + quote(request.agent) + " is named twice",
                  "give each agent one scope");
    }
  }
  for (const Request& request : requests) LK_CHECK(resolve(texts_of(request)));
  // Checked now, because the scan below removes our expired ones.
  LK_ASSIGN(const std::vector<Standing> expired, expired_locks());
  LK_CHECK(use());
  // A lock whose file was removed is released: its name is free again.
  LK_CHECK(locks_of(requests.front().agent).scan_layouts());
  std::vector<Locked> replies;
  std::vector<service::Member> members;
  std::vector<std::size_t> places;  // of the members in `replies`
  bool refused = false;
  for (const Request& request : requests) {
    Locked reply{request.agent, path_of(lock_name(request.agent)), {}, false, {}, {}, {}, {}, {}};
    LK_ASSIGN(std::optional<Locked> before, before_lock(request, may_renew));
    if (before) reply = std::move(*before);
    refused = refused || reply.name_taken;
    if (!before && texts_of(request).empty()) {
      return fail(Code::kInvalidInput, "the agent " + quote(request.agent) + " has no scope",
                  "name at least one --file or --dir");
    }
    if (!before) {
      LK_ASSIGN(reply.result.warnings, overwriting(request.agent, texts_of(request), expired));
      places.push_back(replies.size());
      members.push_back({{request.agent, session_of(entry_)}, command(request)});
    }
    replies.push_back(std::move(reply));
  }
  if (refused || members.empty()) return replies;
  service::Locks locks = locks_of(requests.front().agent);
  std::vector<service::AcquireResult> results;
  if (members.size() == 1) {
    service::Locks own = locks_of(members.front().owner.agent);
    LK_ASSIGN(service::AcquireResult result, own.acquire(members.front().command));
    results.push_back(std::move(result));
  } else {
    LK_ASSIGN(results, locks.acquire_together(members));
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    Locked& reply = replies[places[i]];
    results[i].warnings.insert(results[i].warnings.begin(), reply.result.warnings.begin(),
                               reply.result.warnings.end());
    reply.result = std::move(results[i]);
  }
  LK_ASSIGN(const bool gave_way, give_way(replies, places, may_renew));
  if (gave_way) return replies;
  for (std::size_t i = 0; i < members.size(); ++i) {
    Locked& reply = replies[places[i]];
    const service::AcquireCommand& asked = members[i].command;
    LK_ASSIGN(reply, explained(std::move(reply), asked.wanted.texts, asked.terms.reason));
  }
  return replies;
}

// Two concurrent locks of one name have the same owner, so the table does not exclude them: the
// older lease stays.
Result<std::optional<core::Lease>> Workflow::older_namesake(const Locked& locked) {
  std::optional<core::Lease> older;
  const core::Lease& own = locked.result.lease;
  LK_ASSIGN(const std::vector<layout::MirroredLease> mirrored,
            layout::leases_mirrored_as(site_.table(), own.terms.layout, own.terms.artefact));
  for (const layout::MirroredLease& each : mirrored) {
    const core::Lease& lease = each.lease;
    if (each.over || lease.id == own.id || lease.terms.layout != own.terms.layout) continue;
    if (std::pair(lease.created, lease.id) < std::pair(own.created, own.id)) older = lease;
  }
  return older;
}

// Whoever looked in between may have ended it already: its file was never there, or is another's.
Result<void> Workflow::give_back(const Locked& locked) {
  service::ReleaseCommand command;
  command.lease_ids = {locked.result.lease.id.text()};
  const auto released = locks_of(locked.agent).release(command);
  const bool over =
      released || released.error().code == Code::kLost || released.error().code == Code::kNotFound;
  return over ? Result<void>() : fail(released.error());
}

// After the grant. True: another lock of one of the names was first, and everything was released.
Result<bool> Workflow::give_way(std::vector<Locked>& replies,
                                const std::vector<std::size_t>& places, bool may_renew) {
  bool late = false;
  for (const std::size_t place : places) {
    Locked& reply = replies[place];
    if (service::outcome_status(reply.result.outcome) != 0) return false;
    LK_ASSIGN(std::optional<core::Lease> first, older_namesake(reply));
    // The other requested exactly the same: this is its lease, renewed.
    const bool renewed = reply.result.outcome == Outcome::kRenewed && !may_renew;
    if (renewed) first = reply.result.lease;
    if (!first) continue;
    late = true;
    if (!renewed) LK_CHECK(give_back(reply));
    core::Conflict conflict;
    conflict.requested = reply.result.lease.claims.front();
    conflict.held = first->claims.front();
    reply.not_in_it = not_covered(resources_of(reply.result.lease), resources_of(*first));
    conflict.holder = std::move(*first);
    reply.name_taken = true;
    reply.result = {};
    reply.result.outcome = Outcome::kHeld;
    reply.result.conflicts = {std::move(conflict)};
  }
  if (!late) return false;
  for (const std::size_t place : places) {
    Locked& reply = replies[place];
    if (reply.name_taken) continue;
    LK_CHECK(give_back(reply));
    reply.result = {};
    reply.result.outcome = Outcome::kHeld;
  }
  return true;
}

// Two workflows may have agents of one name: the folder, or the session, tells them apart.
std::string Workflow::workflow_of(const core::Owner& owner, const std::string& asker) const {
  const std::string& root = site_.realm().root;
  if (owner.agent != asker || owner.session == session_of(entry_)) return {};
  if (owner.session.starts_with(root + "/")) return owner.session.substr(root.size() + 1);
  return owner.session.empty() ? "no workflow" : owner.session;
}

// A refusal with its overlaps and their resolutions.
Result<Locked> Workflow::explained(Locked locked, const std::vector<std::string>& texts,
                                   const std::string& task_description) {
  if (locked.result.outcome != Outcome::kHeld) return locked;
  std::erase_if(locked.result.warnings, [](const std::string& warning) {
    return warning.starts_with("Overwriting expired lock");  // nothing was overwritten
  });
  for (core::Conflict& conflict : locked.result.conflicts) {
    // A request of the same batch, which was not granted either.
    if (conflict.holder.created == 0 && !conflict.holder.foreign) conflict.waiting = true;
    locked.overlaps.push_back(
        {conflict.requested.resource, conflict.held.resource, conflict.witness});
    locked.held_by.push_back(conflict.holder.owner.agent);
    locked.held_in.push_back(workflow_of(conflict.holder.owner, locked.agent));
  }
  const std::vector<plan::Scope> holders = holders_of(locked.result.conflicts, locked.held_in);
  if (holders.empty()) return locked;  // the conflict is with another request of the batch
  LK_ASSIGN(std::vector<key::Resource> resources, resolve(texts));
  const plan::Scope asker{locked.agent, std::move(resources), task_description};
  const key::Rules rules = site_.settings().key_rules(site_.realm());
  LK_ASSIGN(locked.resolutions,
            resolutions_for(asker, holders, rules, realm::children_on_disk(site_.realm().root)));
  return locked;
}

}  // namespace lockkeeper::dialect::workflow
