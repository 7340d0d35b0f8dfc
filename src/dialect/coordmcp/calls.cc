// The tools that lock and unlock. Those that list are in calls_look.cc, those for messages in
// calls_messages.cc.
#include "dialect/coordmcp/calls.h"

#include <algorithm>

#include "base/fd.h"
#include "base/text.h"
#include "dialect/coordmcp/calls_json.h"
#include "layout/registration.h"
#include "layout/registry.h"
#include "realm/disk_path.h"
#include "realm/identity.h"

namespace lockkeeper::dialect::coordmcp {
namespace {

constexpr int kMinutesMax = 100 * 366 * 24 * 60;

Json conflict_json(const std::string& file, const core::Conflict& conflict,
                   const Expected& expected) {
  const core::Lease& holder = conflict.holder;
  Json json;
  put_both(json, "file", "file_path", file);
  json["locked_by"] = holder.foreign ? holder.owner.agent : holder_name(holder.owner);
  json["locked_at"] = local_or_null(holder.acquired_wall_ms);
  json["reason"] = holder.terms.reason;
  put_both(json, "expected_unlock", "expected_unlock_time", expected_unlock(holder, expected));
  if (conflict.waiting) json["waiting"] = true;
  return json;
}

// The number of different files that the owner holds.
std::size_t count_files(const std::vector<core::Lease>& leases) {
  std::vector<std::string> files;
  for (const core::Lease& lease : leases) {
    for (const core::Claim& claim : lease.claims) {
      if (claim.resource.kind() == key::Kind::kFile) files.push_back(claim.resource.text());
    }
  }
  std::ranges::sort(files);
  return static_cast<std::size_t>(std::ranges::unique(files).begin() - files.begin());
}

bool holds(const core::Lease& lease, const key::Resource& resource) {
  return std::ranges::any_of(lease.claims,
                             [&](const core::Claim& claim) { return claim.resource == resource; });
}

// File and resource are Calls' own types.
bool is_asked(const core::Claim& claim, const auto& asked) {
  return std::ranges::any_of(asked,
                             [&](const auto& one) { return one.resource == claim.resource; });
}

Reply too_many(const Config& config, std::size_t count) {
  Reply reply =
      failure(Code::kLimitExceeded, "LockLimitExceeded",
              std::to_string(count) + " files would be locked by one agent; the limit is " +
                  std::to_string(config.max_locks));
  reply.json["hint"] = "unlock files that are done, or raise COORDMCP_MAX_FILE_LOCKS_PER_AGENT";
  return reply;
}

}  // namespace

Reply from_error(const Error& error) {
  const bool input = error.code == Code::kInvalidInput || error.code == Code::kInvalidResource ||
                     error.code == Code::kUsage;
  const char* const type = input                                ? "ValidationError"
                           : error.code == Code::kLimitExceeded ? "LockLimitExceeded"
                                                                : "InternalError";
  Reply reply = failure(error.code, type, error.message);
  if (!error.hint.empty()) reply.json["hint"] = error.hint;
  return reply;
}

Reply reply_of(Result<Reply> reply) {
  return reply ? std::move(*reply) : from_error(reply.error());
}

std::string project_of(const std::string& project_id, const std::string& project_name) {
  return project_id.empty() && is_project_id(project_name) ? project_name : project_id;
}

Reply failure(Code code, const std::string& type, const std::string& text) {
  return {{{"success", false}, {"error", text}, {"error_type", type}}, code};
}

namespace {

// No project: whatever it names.
bool names_project(const layout::LayoutEntry& entry, const std::string& project_id) {
  const auto named = entry.options.find("project");
  const std::string list = named == entry.options.end() ? "" : named->second;
  return project_id.empty() || ("," + list + ",").find("," + project_id + ",") != std::string::npos;
}

}  // namespace

// Adds what the layout must know; existing options stay.
Result<layout::LayoutEntry> Calls::entry_for(const std::string& project_id) const {
  LK_ASSIGN(const realm::DiskPath place,
            realm::walk_disk("/", config_.data_dir, realm::Patterns::kNone));
  LK_ASSIGN(const std::vector<layout::LayoutEntry> all,
            layout::load_layouts(site_.realm(), site_.settings()));
  const auto there = std::ranges::find_if(all, [&](const layout::LayoutEntry& one) {
    return one.kind == kKind && one.root == place.path;
  });
  layout::LayoutEntry entry;
  if (there != all.end()) {
    entry = *there;
  } else {
    entry.kind = kKind;
    entry.root = place.path;
  }
  const bool known = names_project(entry, project_id);
  std::string& projects = entry.options["project"];
  if (!known && !entry.origin.file.empty()) {
    return fail(Code::kInvalidConfig,
                "the coordmcp layout in " + entry.origin.text() + " does not name the project " +
                    quote(project_id),
                "add it there: project = \"" + projects + (projects.empty() ? "" : ",") +
                    project_id + "\"");
  }
  if (!entry.origin.file.empty()) return entry;
  if (!known) projects += (projects.empty() ? "" : ",") + project_id;
  entry.options["timeout_hours"] = config_.timeout_hours;
  entry.options["keep_expired"] = config_.auto_cleanup ? "false" : "true";
  if (!entry.options.contains("agent_keys")) {
    LK_ASSIGN(const std::unique_ptr<layout::Layout> draft, make_layout(entry, context()));
    LK_ASSIGN(const bool shared, static_cast<CoordLayout&>(*draft).shares_folder());
    entry.options["agent_keys"] = shared ? "absolute" : "relative";
  }
  return entry;
}

layout::LayoutContext Calls::context() const {
  return {site_.realm(), site_.settings(), site_.runtime().env, *site_.runtime().clock};
}

Result<Calls::Store> Calls::open(const std::string& project_id) {
  LK_CHECK(make_folders(config_.data_dir, 0777));
  LK_ASSIGN(Store store, look(project_id));
  LK_CHECK(layout::use_layout(site_.table(), {store.layout->entry(), ""}));
  store.joined = true;
  // Without success nobody is worse off: what is expired blocks nobody.
  if (config_.auto_cleanup) store.removed = store.coord().clean().value_or(0);
  return store;
}

Result<Calls::Store> Calls::look(const std::string& project_id) {
  if (!project_id.empty() && !is_project_id(project_id)) {
    return fail(Code::kInvalidInput, quote(project_id) + " is not a project id",
                "an id has letters, digits, -, _ and . (not first)");
  }
  LK_ASSIGN(const layout::LayoutEntry entry, entry_for(project_id));
  Store store;
  LK_ASSIGN(store.layout, make_layout(entry, context()));
  LK_ASSIGN(const std::vector<layout::LayoutEntry> all,
            layout::load_layouts(site_.realm(), site_.settings()));
  store.joined = std::ranges::any_of(all, [&](const layout::LayoutEntry& one) {
    return one.id() == entry.id() && !one.pending && names_project(one, project_id);
  });
  if (store.joined && config_.auto_cleanup) store.removed = store.coord().clean().value_or(0);
  return store;
}

service::Wanted Calls::wanted(const Store& store, const std::vector<RequestedFile>& asked) const {
  service::Wanted wanted;
  for (const RequestedFile& one : asked) wanted.texts.push_back(one.text);
  wanted.base = {realm::Base::kCwd, store.coord().workspace(), false};
  wanted.syntax = key::Syntax::kLiteral;
  wanted.convert_backslash = true;
  wanted.no_patterns = true;
  return wanted;
}

Result<std::vector<Calls::RequestedFile>> Calls::resolve(const Store& store,
                                                         const std::vector<std::string>& files) {
  realm::Resolver resolver(site_.realm(), site_.settings().key_rules(site_.realm()),
                           {realm::Base::kCwd, store.coord().workspace(), false},
                           site_.runtime().env, {true});
  std::vector<RequestedFile> asked;
  for (const std::string& file : files) {
    LK_ASSIGN(const key::Parsed parsed, resolver.resolve(file, key::Syntax::kLiteral));
    asked.push_back({file, parsed.resource});
  }
  return asked;
}

Result<service::Locks> Calls::locks(const core::Owner& owner) const {
  LK_ASSIGN(service::ParentLease under,
            service::parent_lease_from(site_.runtime().env, site_.realm()));
  return service::Locks(site_, owner, std::move(under));
}

Result<std::vector<core::Lease>> Calls::own_leases(const core::Owner& owner) {
  service::ListCommand command;
  command.agent = owner.agent;
  LK_ASSIGN(service::Locks locks, this->locks(owner));
  LK_ASSIGN(service::ListReply list, locks.list(command));
  std::vector<core::Lease> own;
  for (service::ListedLease& listed : list.leases) {
    if (listed.lease.held_by(owner)) own.push_back(std::move(listed.lease));
  }
  return own;
}

// Other tools' locks on exactly these files.
Result<std::vector<core::Lease>> Calls::foreign_leases(const std::vector<RequestedFile>& asked) {
  LK_ASSIGN(service::Locks locks, this->locks({"coordmcp", ""}));
  LK_ASSIGN(service::ListReply list, locks.list({}));
  std::vector<core::Lease> found;
  for (service::ListedLease& listed : list.leases) {
    const auto is_held = [&](const RequestedFile& one) {
      return holds(listed.lease, one.resource);
    };
    if (!listed.lease.foreign) continue;
    if (std::ranges::any_of(asked, is_held)) found.push_back(std::move(listed.lease));
  }
  return found;
}

Result<void> Calls::adopt_own(const Store& store, const core::Owner& owner,
                              const std::vector<RequestedFile>& asked) {
  LK_ASSIGN(const std::vector<core::Lease> foreign, foreign_leases(asked));
  for (const core::Lease& lease : foreign) {
    const bool own =
        lease.terms.layout == store.layout->id() && lease.owner.agent == holder_name(owner);
    if (!own) continue;
    service::AcquireCommand how;
    how.ttl_ms = ttl_ms();
    service::Wanted entry;
    entry.texts = {core::foreign_path(lease)};
    LK_ASSIGN(service::Locks locks, this->locks(owner));
    const auto adopted = locks.adopt(entry, how);
    // Gone since, or with the one before: the file may have two entries of the agent.
    const bool gone = !adopted && adopted.error().code == Code::kNotFound;
    if (!adopted && !gone) return fail(adopted.error());
  }
  return {};
}

// What the original's own entries say, as they are now.
Result<Expected> Calls::expected(const Store& store) const {
  Expected found;
  LK_ASSIGN(const std::vector<CoordLayout::Listed> entries, store.coord().entries());
  for (const CoordLayout::Listed& listed : entries) {
    const Entry& entry = listed.entry;
    std::optional<LocalTime> time = entry.expected;
    if (!time && entry.locked_at && entry.expected_minutes) {
      time = LocalTime{entry.locked_at->wall_s + *entry.expected_minutes * 60LL, 0};
    }
    if (time) found.emplace(listed.source + "#" + entry.key, *time);
  }
  return found;
}

Result<Reply> Calls::refused(const Store& store, const std::vector<RequestedFile>& asked,
                             const std::vector<core::Conflict>& conflicts) const {
  Expected expected;
  if (std::ranges::any_of(conflicts, [](const auto& one) { return one.holder.foreign; })) {
    LK_ASSIGN(expected, this->expected(store));
  }
  Reply reply = failure(Code::kHeld, "FileLockConflict", "Files locked by other agents");
  reply.json["conflicts"] = Json::array();
  reply.json["free_files"] = Json::array();
  for (const RequestedFile& one : asked) {
    std::vector<core::LeaseId> holders;
    for (const core::Conflict& conflict : conflicts) {
      if (!(conflict.requested.resource == one.resource)) continue;
      if (std::ranges::find(holders, conflict.holder.id) != holders.end()) continue;
      holders.push_back(conflict.holder.id);
      reply.json["conflicts"].push_back(conflict_json(one.text, conflict, expected));
    }
    if (holders.empty()) reply.json["free_files"].push_back(one.text);
  }
  return reply;
}

// A lease of lock_files of which only a part is requested again becomes two, so that each part has
// its own reason and time.
Result<void> Calls::split(const core::Lease& lease, const std::vector<RequestedFile>& asked) {
  service::AcquireCommand again, rest;
  for (const core::Claim& claim : lease.claims) {
    service::AcquireCommand& part = is_asked(claim, asked) ? again : rest;
    part.wanted.resources.push_back(claim.resource);
  }
  for (service::AcquireCommand* const part : {&again, &rest}) {
    part->anew = true;
    part->ttl_ms = ttl_ms();
    part->terms.reason = lease.terms.reason;
    part->terms.task = lease.terms.task;
  }
  rest.replaces = {lease.id};
  LK_ASSIGN(service::Locks locks, this->locks(lease.owner));
  LK_CHECK(locks.acquire_together({{lease.owner, again}, {lease.owner, rest}}));
  return {};
}

// What the owner holds of it already. Leases of which everything is requested again are replaced;
// others are renewed, unless they can be split.
Result<Calls::Held> Calls::held_of(const core::Owner& owner,
                                   const std::vector<RequestedFile>& asked) {
  LK_ASSIGN(std::vector<core::Lease> own, own_leases(owner));
  const auto overlaps = [&](const core::Lease& lease) {
    return std::ranges::any_of(lease.claims, [&](const auto& one) { return is_asked(one, asked); });
  };
  const auto whole = [&](const core::Lease& lease) {
    return std::ranges::all_of(lease.claims, [&](const auto& one) { return is_asked(one, asked); });
  };
  bool any_split = false;
  for (const core::Lease& lease : own) {
    const bool ours = !lease.attached() && lock_note_in(lease.terms.task);
    if (!ours || !overlaps(lease) || whole(lease)) continue;
    LK_CHECK(split(lease, asked));
    any_split = true;
  }
  if (any_split) {
    LK_ASSIGN(own, own_leases(owner));
  }
  Held held;
  for (const core::Lease& lease : own) {
    if (lease.attached() || !overlaps(lease)) continue;
    (whole(lease) ? held.replaced : held.renewed).push_back(lease);
  }
  return held;
}

// CoordMCP's timeout, or less if the realm has no leases that long.
std::int64_t Calls::ttl_ms() const {
  const std::int64_t longest = site_.settings().lease_longest_ms.value;
  return longest == kNoEnd ? config_.timeout_ms : std::min(config_.timeout_ms, longest);
}

// What the caller would not expect of its locks.
void Calls::tell_terms(const service::AcquireResult& result, const std::string& layout,
                       Json& json) const {
  Json warnings = result.warnings;
  if (ttl_ms() < config_.timeout_ms) {
    warnings.push_back("the locks end after " + format_duration(ttl_ms()) +
                       ", the longest lease allowed here (lease.longest), not after " +
                       config_.timeout_hours + " hours");
  }
  for (const layout::Unmirrored& hidden : result.unmirrored) {
    if (hidden.layout != layout) continue;
    json["unmirrored"] = hidden.resources;
    warnings.push_back(
        "only plain files can be written into CoordMCP's files: agents of the original do not see "
        "the lock on " +
        join(hidden.resources, ", "));
  }
  if (!warnings.empty()) json["warnings"] = std::move(warnings);
}

// Files that the owner holds already get the new reason and time.
Result<Reply> Calls::lock_files(const LockFiles& call) {
  LK_CHECK(realm::check_agent_name(call.agent_id, "agent_id"));
  if (call.project_id.empty()) return no_project();
  if (call.expected_duration_minutes < 0 || call.expected_duration_minutes > kMinutesMax) {
    return fail(Code::kInvalidInput,
                "expected_duration_minutes " + std::to_string(call.expected_duration_minutes) +
                    " is out of range",
                "give the minutes that the work will take, 0 or more");
  }
  LK_ASSIGN(const Store store, open(call.project_id));
  LK_ASSIGN(std::vector<RequestedFile> asked, resolve(store, call.files));
  const core::Owner who = owner(call.agent_id);
  LK_ASSIGN(std::vector<core::Lease> own, own_leases(who));
  core::Lease drafted;
  for (const RequestedFile& one : asked) drafted.claims.push_back({one.resource, {}, 0});
  own.push_back(drafted);
  if (count_files(own) > config_.max_locks) return too_many(config_, count_files(own));

  LK_CHECK(adopt_own(store, who, asked));
  LK_ASSIGN(const Held held, held_of(who, asked));
  service::AcquireCommand command;
  service::RenewCommand renew;
  std::vector<RequestedFile> wanted = asked;
  for (const core::Lease& lease : held.replaced) command.replaces.push_back(lease.id);
  for (const core::Lease& lease : held.renewed) {
    renew.lease_ids.push_back(lease.id.text());
    std::erase_if(wanted, [&](const RequestedFile& one) { return holds(lease, one.resource); });
  }
  Reply reply{{{"success", true}, {"locked_files", call.files}}, std::nullopt};
  reply.json["message"] = "Locked " + std::to_string(call.files.size()) + " file(s)";
  LK_ASSIGN(service::Locks locks, this->locks(who));
  if (!wanted.empty()) {
    command.wanted = this->wanted(store, wanted);
    command.anew = true;  // with its own reason and time
    command.ttl_ms = ttl_ms();
    command.wait_ms = call.wait_ms;
    command.on_wait = call.on_wait;
    command.terms.reason = call.reason;
    command.terms.task = task_text(call.project_id, call.expected_duration_minutes);
    LK_ASSIGN(const service::AcquireResult result, locks.acquire(command));
    if (service::outcome_status(result.outcome) != 0) {
      LK_ASSIGN(reply, not_granted(store, asked, result));
      add_messages(who, reply.json);
      return reply;
    }
    LK_ASSIGN(own, own_leases(who));
    if (count_files(own) > config_.max_locks && held.replaced.empty()) {
      service::ReleaseCommand release;  // another call of this agent came first
      release.lease_ids = {result.lease.id.text()};
      LK_CHECK(locks.release(release));
      return too_many(config_, count_files(own));
    }
    reply.json["lease_id"] = result.lease.id.text();
    reply.json["fence"] = result.lease.fence();
    tell_terms(result, store.layout->id(), reply.json);
  }
  renew.ttl_ms = ttl_ms();
  if (!renew.lease_ids.empty()) LK_CHECK(locks.renew(renew));
  add_messages(who, reply.json);
  return reply;
}

Result<Reply> Calls::not_granted(const Store& store, const std::vector<RequestedFile>& asked,
                                 const service::AcquireResult& result) {
  LK_ASSIGN(Reply reply, refused(store, asked, result.conflicts));
  if (result.outcome == core::Outcome::kTimeout) {
    reply.json["waited_ms"] = result.waited_ms;
    reply.failure = Code::kTimeout;
  }
  if (result.outcome == core::Outcome::kDeadlock) {
    reply.json["error"] =
        "Files locked by other agents who wait for yours: waiting would never end";
    reply.json["hint"] = "unlock_files what you hold, then lock_files all of it at once";
    reply.failure = Code::kDeadlock;
    return reply;
  }
  if (!result.conflicts.empty()) {
    const core::Conflict& first = result.conflicts.front();
    reply.json["hint"] =
        "wait (lock_files with wait), write to " +
        shown(first.holder.foreign ? first.holder.owner.agent : holder_name(first.holder.owner)) +
        " (send_message), or work on other files (get_locked_files)";
  }
  return reply;
}

Result<Reply> Calls::unlock_files(const Files& call) {
  LK_CHECK(realm::check_agent_name(call.agent_id, "agent_id"));
  if (call.project_id.empty()) return no_project();
  LK_ASSIGN(const Store store, open(call.project_id));
  LK_ASSIGN(const std::vector<RequestedFile> asked, resolve(store, call.files));
  Reply reply{{{"success", true},
               {"unlocked_files", Json::array()},
               {"not_found", Json::array()},
               {"warnings", Json::array()}},
              std::nullopt};
  const core::Owner who = owner(call.agent_id);
  if (!asked.empty()) {
    LK_CHECK(adopt_own(store, who, asked));
    service::ReleaseCommand command;
    command.wanted = wanted(store, asked);
    LK_ASSIGN(service::Locks locks, this->locks(who));
    LK_ASSIGN(const core::ReleaseReply released, locks.release(command));
    const auto among = [](const std::vector<std::string>& keys, const std::string& key) {
      return std::ranges::find(keys, key) != keys.end() ||
             std::ranges::find(keys, key + "/") != keys.end();
    };
    for (const RequestedFile& one : asked) {
      const std::string& key = one.resource.text();
      if (among(released.released, key)) {
        reply.json["unlocked_files"].push_back(one.text);
        continue;
      }
      const auto other =
          std::ranges::find(released.not_owner, key, &std::pair<std::string, core::Owner>::first);
      if (other == released.not_owner.end()) {
        reply.json["not_found"].push_back(one.text);
        continue;
      }
      LK_ASSIGN(const std::vector<core::Lease> foreign, foreign_leases({one}));
      Json warning;
      put_both(warning, "file", "file_path", one.text);
      warning["warning"] =
          "File locked by " +
          (foreign.empty() ? holder_name(other->second) : foreign.front().owner.agent) + ", not " +
          holder_name(who);
      reply.json["warnings"].push_back(std::move(warning));
    }
  }
  add_messages(who, reply.json);
  return reply;
}

}  // namespace lockkeeper::dialect::coordmcp
