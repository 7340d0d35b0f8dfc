// The tools for files; those for messages are in calls_messages.cc.
#include "dialect/coordmcp/calls.h"

#include <algorithm>

#include "base/fd.h"
#include "base/parse.h"
#include "base/text.h"
#include "layout/registration.h"
#include "layout/registry.h"
#include "realm/disk_path.h"
#include "realm/identity.h"

namespace lockkeeper::dialect::coordmcp {
namespace {

constexpr int kMinutesMax = 100 * 366 * 24 * 60;

Json local_or_null(std::int64_t wall_ms) {
  if (wall_ms == kNoEnd) return {};
  return format_local({LocalTime::from_wall_ms(wall_ms).wall_s, 0}, 'T');
}

// When the holder expects to be done; if unknown, the lease's end.
Json expected_unlock(const core::Lease& lease) {
  if (const std::optional<LockNote> note = lock_note_in(lease.terms.task)) {
    return local_or_null(lease.acquired_wall_ms + note->minutes * kMinuteMs);
  }
  return local_or_null(lease.expires_wall_ms);
}

void put_both(Json& json, const char* one, const char* other, const Json& value) {
  json[one] = value;
  json[other] = value;
}

Json conflict_json(const std::string& file, const core::Conflict& conflict) {
  const core::Lease& holder = conflict.holder;
  Json json;
  put_both(json, "file", "file_path", file);
  json["locked_by"] = holder.foreign ? holder.owner.agent : holder_name(holder.owner);
  json["locked_at"] = local_or_null(holder.acquired_wall_ms);
  json["reason"] = holder.terms.reason;
  put_both(json, "expected_unlock", "expected_unlock_time", expected_unlock(holder));
  if (conflict.waiting) json["waiting"] = true;
  return json;
}

// One lock of get_locked_files.
Json listed_json(const std::string& file, const Json& locked_at, const std::string& reason,
                 const Json& expected, const std::string& scope) {
  Json json;
  put_both(json, "file", "file_path", file);
  json["locked_at"] = locked_at;
  json["reason"] = reason;
  put_both(json, "expected_unlock", "expected_unlock_time", expected);
  json["priority"] = 0;
  json["lock_scope"] = scope;
  return json;
}

const char* scope_of(const key::Resource& resource) {
  const key::Kind kind = resource.kind();
  return kind == key::Kind::kFile     ? "file"
         : kind == key::Kind::kFolder ? "directory"
         : kind == key::Kind::kGlob   ? "pattern"
                                      : "key";
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

Reply failure(Code code, const std::string& type, const std::string& text) {
  return {{{"success", false}, {"error", text}, {"error_type", type}}, code};
}

Result<Config> read_config(const realm::Environment& env) {
  Config config;
  if (const auto dir = realm::variable(env, "COORDMCP_DATA_DIR")) {
    config.data_dir = *dir;
  } else if (const auto home = realm::variable(env, "HOME")) {
    config.data_dir = *home + "/.coordmcp/data";
  }
  if (!config.data_dir.starts_with('/')) {
    return fail(Code::kInvalidInput,
                "CoordMCP's data folder " + quote(config.data_dir) + " is not an absolute path",
                "set COORDMCP_DATA_DIR or HOME to an absolute path");
  }
  if (const auto hours = realm::variable(env, "COORDMCP_LOCK_TIMEOUT_HOURS")) {
    LK_ASSIGN(config.timeout_ms, parse_hours(*hours, "COORDMCP_LOCK_TIMEOUT_HOURS"));
    config.timeout_hours = *hours;
  }
  if (const auto most = realm::variable(env, "COORDMCP_MAX_FILE_LOCKS_PER_AGENT")) {
    config.max_locks = number_in<std::size_t>(*most).value_or(0);
    if (config.max_locks == 0) {
      return fail(Code::kInvalidInput,
                  "COORDMCP_MAX_FILE_LOCKS_PER_AGENT " + quote(*most) + " is not a number above 0",
                  "set it to a number such as 100");
    }
  }
  if (const auto clean = realm::variable(env, "COORDMCP_AUTO_CLEANUP_STALE_LOCKS")) {
    const bool no = *clean == "false" || *clean == "False" || *clean == "0" || *clean == "no";
    const bool yes = *clean == "true" || *clean == "True" || *clean == "1" || *clean == "yes";
    if (!no && !yes) {
      return fail(
          Code::kInvalidInput,
          "COORDMCP_AUTO_CLEANUP_STALE_LOCKS " + quote(*clean) + " is neither true nor false",
          "write true or false");
    }
    config.auto_cleanup = yes;
  }
  return config;
}

// Adds what the layout must know; existing options stay.
Result<layout::LayoutEntry> Calls::entry_for(const std::string& project_id) const {
  LK_CHECK(make_folders(config_.data_dir, 0777));
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
  std::string& projects = entry.options["project"];
  const bool known = ("," + projects + ",").find("," + project_id + ",") != std::string::npos;
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
  if (!is_project_id(project_id)) {
    return fail(Code::kInvalidInput, quote(project_id) + " is not a project id",
                "an id has letters, digits, -, _ and . (not first)");
  }
  LK_ASSIGN(const layout::LayoutEntry entry, entry_for(project_id));
  LK_CHECK(layout::use_layout(site_.table(), {entry, ""}));
  Store store;
  LK_ASSIGN(store.layout, make_layout(entry, context()));
  return store;
}

service::Wanted Calls::wanted(const Store& store, const std::vector<RequestedFile>& asked) const {
  service::Wanted wanted;
  for (const RequestedFile& one : asked) wanted.texts.push_back(one.text);
  wanted.base = {realm::Base::kCwd, store.coord().workspace(), false};
  wanted.syntax = key::Syntax::kLiteral;
  wanted.convert_backslash = true;
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
  LK_ASSIGN(service::ParentLease under, service::parent_lease_from(site_.runtime().env));
  return service::Locks(site_, owner, std::move(under));
}

Result<std::vector<core::Lease>> Calls::own_leases(const core::Owner& owner) {
  service::ListCommand command;
  command.agent = owner.agent;
  LK_ASSIGN(service::Locks locks, this->locks(owner));
  LK_ASSIGN(service::ListReply list, locks.list(command));
  std::vector<core::Lease> own;
  for (service::ListedLease& listed : list.leases) {
    if (listed.lease.held_by(owner) && !listed.condition.over) {
      own.push_back(std::move(listed.lease));
    }
  }
  return own;
}

Reply Calls::refused(const std::vector<RequestedFile>& asked,
                     const std::vector<core::Conflict>& conflicts) const {
  Reply reply = failure(Code::kHeld, "FileLockConflict", "Files locked by other agents");
  reply.json["conflicts"] = Json::array();
  reply.json["free_files"] = Json::array();
  for (const RequestedFile& one : asked) {
    std::vector<core::LeaseId> holders;
    for (const core::Conflict& conflict : conflicts) {
      if (!(conflict.requested.resource == one.resource)) continue;
      if (std::ranges::find(holders, conflict.holder.id) != holders.end()) continue;
      holders.push_back(conflict.holder.id);
      reply.json["conflicts"].push_back(conflict_json(one.text, conflict));
    }
    if (holders.empty()) reply.json["free_files"].push_back(one.text);
  }
  return reply;
}

// Files that the owner holds already are renewed. A lease whose files are all requested again is
// replaced in the same commit, with the new reason; otherwise it stays.
Result<Reply> Calls::lock_files(const LockFiles& call) {
  LK_CHECK(realm::check_agent_name(call.agent_id, "agent_id"));
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
  LK_ASSIGN(service::Locks locks, this->locks(who));
  core::Lease drafted;
  for (const RequestedFile& one : asked) drafted.claims.push_back({one.resource, {}, 0});
  own.push_back(drafted);
  if (count_files(own) > config_.max_locks) return too_many(config_, count_files(own));
  own.pop_back();

  service::AcquireCommand command;
  service::RenewCommand renew;
  std::vector<RequestedFile> wanted = asked;
  for (const core::Lease& lease : own) {
    const auto is_asked = [&](const core::Claim& claim) {
      return std::ranges::any_of(
          asked, [&](const RequestedFile& one) { return one.resource == claim.resource; });
    };
    const bool any = std::ranges::any_of(lease.claims, is_asked);
    if (!any || lease.attachment.attached()) continue;
    if (std::ranges::all_of(lease.claims, is_asked)) {
      command.replaces.push_back(lease.id);
      continue;
    }
    renew.lease_ids.push_back(lease.id.text());
    std::erase_if(wanted, [&](const RequestedFile& one) { return holds(lease, one.resource); });
  }
  Reply reply{{{"success", true}, {"locked_files", call.files}}, std::nullopt};
  reply.json["message"] = "Locked " + std::to_string(call.files.size()) + " file(s)";
  if (!wanted.empty()) {
    command.wanted = this->wanted(store, wanted);
    command.ttl_ms = config_.timeout_ms;
    command.wait_ms = call.wait_ms;
    command.on_wait = call.on_wait;
    command.terms.reason = call.reason;
    command.terms.task = task_text(call.project_id, call.expected_duration_minutes);
    LK_ASSIGN(const service::AcquireResult result, locks.acquire(command));
    if (service::outcome_status(result.outcome) != 0) {
      reply = not_granted(asked, result);
      add_messages(who, reply.json);
      return reply;
    }
    LK_ASSIGN(own, own_leases(who));
    if (count_files(own) > config_.max_locks && result.outcome == core::Outcome::kGranted) {
      service::ReleaseCommand release;  // another call of this agent came first
      release.lease_ids = {result.lease.id.text()};
      LK_CHECK(locks.release(release));
      return too_many(config_, count_files(own));
    }
    reply.json["lease_id"] = result.lease.id.text();
    reply.json["fence"] = result.lease.fence();
    if (!result.warnings.empty()) reply.json["warnings"] = result.warnings;
  }
  renew.ttl_ms = config_.timeout_ms;
  if (!renew.lease_ids.empty()) LK_CHECK(locks.renew(renew));
  add_messages(who, reply.json);
  return reply;
}

Reply Calls::not_granted(const std::vector<RequestedFile>& asked,
                         const service::AcquireResult& result) {
  Reply reply = refused(asked, result.conflicts);
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
        (first.holder.foreign ? first.holder.owner.agent : holder_name(first.holder.owner)) +
        " (send_message), or work on other files (get_locked_files)";
  }
  return reply;
}

Result<Reply> Calls::unlock_files(const Files& call) {
  LK_CHECK(realm::check_agent_name(call.agent_id, "agent_id"));
  LK_ASSIGN(const Store store, open(call.project_id));
  LK_ASSIGN(const std::vector<RequestedFile> asked, resolve(store, call.files));
  Reply reply{{{"success", true},
               {"unlocked_files", Json::array()},
               {"not_found", Json::array()},
               {"warnings", Json::array()}},
              std::nullopt};
  const core::Owner who = owner(call.agent_id);
  if (!asked.empty()) {
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
      Json warning;
      put_both(warning, "file", "file_path", one.text);
      warning["warning"] =
          "File locked by " + holder_name(other->second) + ", not " + holder_name(who);
      reply.json["warnings"].push_back(std::move(warning));
    }
  }
  add_messages(who, reply.json);
  return reply;
}

Result<Reply> Calls::get_locked_files(const std::string& project_id) {
  LK_ASSIGN(const Store store, open(project_id));
  int removed = 0;
  if (config_.auto_cleanup) {
    LK_ASSIGN(removed, store.coord().clean());
  }
  LK_ASSIGN(service::Locks locks, this->locks({"coordmcp", ""}));
  LK_CHECK(locks.scan_layouts());
  LK_ASSIGN(const service::ListReply list, locks.list({}));
  Json by_agent = Json::object();
  std::size_t total = 0;
  for (const service::ListedLease& listed : list.leases) {
    const core::Lease& lease = listed.lease;
    if (listed.condition.over) continue;
    const std::string agent = lease.foreign ? lease.owner.agent : holder_name(lease.owner);
    for (const core::Claim& claim : lease.claims) {
      by_agent[agent].push_back(
          listed_json(claim.resource.text(), local_or_null(lease.acquired_wall_ms),
                      lease.terms.reason, expected_unlock(lease), scope_of(claim.resource)));
      ++total;
    }
  }
  if (!config_.auto_cleanup) {
    LK_ASSIGN(const std::vector<CoordLayout::Listed> entries, store.coord().entries());
    for (const CoordLayout::Listed& listed : entries) {
      if (!listed.expired || listed.path.empty()) continue;
      const Entry& entry = listed.entry;
      Json item = listed_json(
          listed.path, format_local({entry.locked_at->wall_s, 0}, 'T'), entry.reason,
          entry.expected ? Json(format_local(*entry.expected, 'T')) : Json(), entry.scope);
      item["expired"] = true;
      Json& items = by_agent[entry.locked_by];
      const bool known = std::ranges::any_of(items, [&](const Json& one) {
        return one["file"] == item["file"];  // it is in both files, or its lease is live
      });
      if (known) continue;
      items.push_back(std::move(item));
      ++total;
    }
  }
  return Reply{{{"success", true},
                {"total_locked", total},
                {"by_agent", std::move(by_agent)},
                {"stale_locks_removed", removed}},
               std::nullopt};
}

Result<Reply> Calls::cleanup_stale_locks(const std::string& project_id) {
  LK_ASSIGN(const Store store, open(project_id));
  LK_ASSIGN(const int cleaned, store.coord().clean());
  LK_ASSIGN(service::Locks locks, this->locks({"coordmcp", ""}));
  LK_CHECK(locks.purge(false));
  return Reply{{{"success", true},
                {"cleaned", cleaned},
                {"stale_locks_removed", cleaned},
                {"message", "Removed " + std::to_string(cleaned) + " stale lock(s)"}},
               std::nullopt};
}

Result<Reply> Calls::get_free_files(const Files& call) {
  LK_CHECK(realm::check_agent_name(call.agent_id, "agent_id"));
  LK_ASSIGN(const Store store, open(call.project_id));
  LK_ASSIGN(const std::vector<RequestedFile> asked, resolve(store, call.files));
  std::vector<core::Conflict> conflicts;
  if (!asked.empty()) {
    service::CheckCommand command;
    command.wanted = wanted(store, asked);
    LK_ASSIGN(service::Locks locks, this->locks(owner(call.agent_id)));
    LK_ASSIGN(core::CheckReply checked, locks.check(command));
    conflicts = std::move(checked.conflicts);
  }
  Json found = refused(asked, conflicts).json;
  return Reply{{{"success", true},
                {"free_files", std::move(found["free_files"])},
                {"conflicts", std::move(found["conflicts"])}},
               std::nullopt};
}

}  // namespace lockkeeper::dialect::coordmcp
