#include "service/wire/fields.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "service/messages.h"
#include "service/report.h"

namespace lockkeeper::service::wire {
namespace {

constexpr std::array<std::string_view, 5> kKinds = {"file", "folder", "glob", "logical",
                                                    "logical_glob"};
constexpr std::array<std::string_view, 2> kModes = {"shared", "exclusive"};
constexpr std::array<std::string_view, 4> kThens = {"goes_on", "idle", "turn_over", "passed_on"};
constexpr std::array<std::string_view, 3> kAlive = {"alive", "dead", "unknown"};
constexpr std::array<core::Outcome, 7> kOutcomes = {
    core::Outcome::kGranted,    core::Outcome::kRenewed,  core::Outcome::kHeld,
    core::Outcome::kQueued,     core::Outcome::kDeadlock, core::Outcome::kTimeout,
    core::Outcome::kInterrupted};

// The enum value with this name; the names are in the order of the values.
template <typename Enum, std::size_t n>
bool take_name(const Json& json, const std::array<std::string_view, n>& names, Enum& value) {
  if (!json.is_string()) return false;
  const auto* const found = std::ranges::find(names, json.get_ref<const std::string&>());
  if (found == names.end()) return false;
  value = static_cast<Enum>(found - names.begin());
  return true;
}

template <typename Enum, std::size_t n>
Json put_name(const std::array<std::string_view, n>& names, Enum value) {
  return names.at(static_cast<std::size_t>(value));
}

void take_time(Reader& reader, const char* name, std::int64_t& wall_ms) {
  std::string text;
  reader(name, text);
  if (text.empty()) return;
  const auto time = parse_time(text);
  if (time) wall_ms = *time;
  if (!time) reader.blame(name);
}

}  // namespace

Json put(Writer& /*writer*/, const core::LeaseId& id) {
  return id.empty() ? Json() : Json(id.text());
}

bool take(Reader& reader, core::LeaseId& id) {
  if (!reader.json().is_string()) return false;
  const auto read = core::LeaseId::from_text(reader.json().get_ref<const std::string&>());
  if (read) id = *read;
  return read.has_value();
}

Json put(Writer& /*writer*/, const core::Mode& mode) {
  return put_name(kModes, mode);
}

bool take(Reader& reader, core::Mode& mode) {
  return take_name(reader.json(), kModes, mode);
}

Json put(Writer& /*writer*/, const core::Alive& alive) {
  return put_name(kAlive, alive);
}

bool take(Reader& reader, core::Alive& alive) {
  return take_name(reader.json(), kAlive, alive);
}

Json put(Writer& /*writer*/, const core::Outcome& outcome) {
  return outcome_name(outcome);
}

bool take(Reader& reader, core::Outcome& outcome) {
  if (!reader.json().is_string()) return false;
  const auto* const found = std::ranges::find_if(kOutcomes, [&](core::Outcome one) {
    return reader.json().get_ref<const std::string&>() == outcome_name(one);
  });
  if (found == kOutcomes.end()) return false;
  outcome = *found;
  return true;
}

Json put(Writer& /*writer*/, const key::Resource& resource) {
  return {{"key", resource.text()}, {"kind", put_name(kKinds, resource.kind())}};
}

bool take(Reader& reader, key::Resource& resource) {
  if (!reader.json().is_object()) return false;
  std::string text;
  reader("key", text);
  key::Kind kind = key::Kind::kFile;
  const auto found = reader.json().find("kind");
  if (found == reader.json().end() || !take_name(*found, kKinds, kind)) return false;
  auto restored = key::restore(text, kind);
  if (restored) resource = *restored;
  return restored.has_value();
}

Json put(Writer& writer, const core::Claim& claim) {
  Json json = put(writer, claim.resource);
  json["mode"] = put(writer, claim.mode);
  return json;
}

bool take(Reader& reader, core::Claim& claim) {
  if (!take(reader, claim.resource)) return false;
  reader("mode", claim.mode);
  return true;
}

Json put(Writer& /*writer*/, const Tell& tell) {
  Json json = Json::array();
  if (tell.losses) json.push_back("losses");
  if (tell.messages) json.push_back("messages");
  if (tell.waiting) json.push_back("waiting");
  return json;
}

bool take(Reader& reader, Tell& tell) {
  if (!reader.json().is_array()) return false;
  for (const Json& one : reader.json()) {
    tell.losses |= one == "losses";
    tell.messages |= one == "messages";
    tell.waiting |= one == "waiting";
  }
  return true;
}

Json put(Writer& writer, core::Lease& lease) {
  Json json = lease_json(lease);
  if (lease.id.empty()) json["id"] = nullptr;
  if (lease.created == 0) json["fence"] = nullptr;  // not committed yet
  json["resources"] = writer.write(lease.claims);
  const bool ends = lease.expires_wall_ms != kNoEnd;
  json["remaining_ms"] = ends ? Json(lease.expires_wall_ms - writer.now().wall_ms) : Json();
  json["terms"] = writer.write(lease.terms);
  json["holds"] = writer.write(lease.holds);
  json["parent"] = writer.write(lease.parent);
  json["overtook"] = lease.overtook;
  json["orphaned"] = lease.orphaned_mono_ms != 0;
  json["mirrored_at"] = lease.mirrored_at;
  if (lease.edit) json["edit"] = writer.write(*lease.edit);
  return json;
}

bool take(Reader& reader, core::Lease& lease) {
  if (!reader.json().is_object()) return false;
  reader("id", lease.id);
  reader("fence", lease.created);
  reader("agent", lease.owner.agent);
  reader("session", lease.owner.session);
  reader("resources", lease.claims);
  reader("terms", lease.terms);
  take_time(reader, "acquired_at", lease.acquired_wall_ms);
  std::optional<std::int64_t> remaining_ms;
  reader("remaining_ms", remaining_ms);
  if (remaining_ms) {
    lease.expires_wall_ms = reader.now().wall_ms + *remaining_ms;
    lease.deadline_mono_ms = reader.now().mono_ms + *remaining_ms;
  }
  reader("holds", lease.holds);
  reader("parent", lease.parent);
  reader("overtook", lease.overtook);
  bool orphaned = false;
  reader("orphaned", orphaned);
  lease.orphaned_mono_ms = orphaned ? 1 : 0;
  reader("mirrored_at", lease.mirrored_at);
  reader("edit", lease.edit);
  lease.foreign = reader.json().contains("foreign");
  return true;
}

Json put(Writer& writer, core::Conflict& conflict) {
  Json json = conflict_json(conflict);
  json["requested"] = writer.write(conflict.requested);
  json["held"] = writer.write(conflict.held);
  json["witness"] = conflict.witness;
  json["alive"] = writer.write(conflict.alive);
  json["holder"] = writer.write(conflict.holder);
  if (conflict.yields_mono_ms != kNoEnd) {
    json["yields_in_ms"] = conflict.yields_mono_ms - writer.now().mono_ms;
    json["yields"] = conflict.yields;
  }
  return json;
}

bool take(Reader& reader, core::Conflict& conflict) {
  if (!reader.json().is_object()) return false;
  std::string kind;
  reader("kind", kind);
  conflict.waiting = kind == "waiter";
  reader("requested", conflict.requested);
  reader("held", conflict.held);
  reader("witness", conflict.witness);
  reader("alive", conflict.alive);
  reader("holder", conflict.holder);
  std::optional<std::int64_t> yields_in_ms;
  reader("yields_in_ms", yields_in_ms);
  if (yields_in_ms) {
    conflict.yields_mono_ms = std::max<std::int64_t>(0, reader.now().mono_ms + *yields_in_ms);
  }
  reader("yields", conflict.yields);
  return true;
}

Json put(Writer& /*writer*/, const core::ReportRequest::Then& then) {
  return put_name(kThens, then);
}

bool take(Reader& reader, core::ReportRequest::Then& then) {
  return take_name(reader.json(), kThens, then);
}

// The clocks of two machines differ: what crosses is how long ago it was.
Json put(Writer& writer, core::Edit& edit) {
  return {{"calls", edit.calls},
          {"confirmed", edit.confirmed},
          {"touched_ms_ago", writer.now().mono_ms - edit.touched_mono_ms}};
}

bool take(Reader& reader, core::Edit& edit) {
  if (!reader.json().is_object()) return false;
  reader("calls", edit.calls);
  reader("confirmed", edit.confirmed);
  std::int64_t ago_ms = 0;
  reader("touched_ms_ago", ago_ms);
  edit.touched_mono_ms = reader.now().mono_ms - ago_ms;
  return true;
}

Json put(Writer& writer, core::RunningCall& call) {
  return {{"id", call.id},
          {"worktree", call.worktree},
          {"begun_ms_ago", writer.now().mono_ms - call.begun_mono_ms}};
}

bool take(Reader& reader, core::RunningCall& call) {
  if (!reader.json().is_object()) return false;
  reader("id", call.id);
  reader("worktree", call.worktree);
  std::int64_t ago_ms = 0;
  reader("begun_ms_ago", ago_ms);
  call.begun_mono_ms = reader.now().mono_ms - ago_ms;
  return true;
}

Json put(Writer& writer, core::Trace& trace) {
  Json json{{"worktree", trace.worktree}, {"agent", trace.owner.agent}};
  json["session"] = trace.owner.session;
  json["change"] = writer.write(trace.change);
  json["at"] = format_time(trace.at_wall_ms);
  json["earlier"] = writer.write(trace.earlier);
  json["earlier_content"] = writer.write(trace.earlier_content);
  return json;
}

bool take(Reader& reader, core::Trace& trace) {
  if (!reader.json().is_object()) return false;
  reader("worktree", trace.worktree);
  reader("agent", trace.owner.agent);
  reader("session", trace.owner.session);
  reader("change", trace.change);
  take_time(reader, "at", trace.at_wall_ms);
  reader("earlier", trace.earlier);
  reader("earlier_content", trace.earlier_content);
  return true;
}

Json put(Writer& writer, core::LostLease& lost) {
  Json json = lost_json(lost);
  json["filed"] = writer.write(lost.filed);
  json["owner"] = writer.write(lost.owner);
  json["by"] = writer.write(lost.by);
  return json;
}

bool take(Reader& reader, core::LostLease& lost) {
  if (!reader.json().is_object()) return false;
  reader("id", lost.id);
  reader("filed", lost.filed);
  reader("fence", lost.fence);
  reader("resources", lost.resources);
  reader("cause", lost.cause);
  reader("reason", lost.reason);
  take_time(reader, "at", lost.at_wall_ms);
  reader("owner", lost.owner);
  reader("by", lost.by);
  return true;
}

Json put(Writer& /*writer*/, core::Event& event) {
  return event_json(event);
}

bool take(Reader& reader, core::Event& event) {
  if (!reader.json().is_object()) return false;
  reader("seq", event.seq);
  take_time(reader, "at", event.at_wall_ms);
  reader("event", event.what);
  reader("agent", event.owner.agent);
  reader("session", event.owner.session);
  reader("resources", event.resources);
  reader("fence", event.fence);
  reader("cause", event.cause);
  reader("reason", event.reason);
  reader("lease", event.lease);
  reader("task", event.task);
  reader("by", event.by);
  return true;
}

Json put(Writer& /*writer*/, core::Message& message) {
  return message_json(message);
}

bool take(Reader& reader, core::Message& message) {
  if (!reader.json().is_object()) return false;
  std::string id;
  reader("id", id);
  const auto read = core::Message::id_from_text(id);
  if (!read) reader.blame("id");
  message.id = read.value_or(0);
  reader("from", message.from.agent);
  reader("from_session", message.from.session);
  reader("to", message.to.agent);
  reader("to_session", message.to.session);
  reader("type", message.type);
  reader("text", message.text);
  reader("task", message.task);
  reader("project", message.project);
  take_time(reader, "at", message.at_wall_ms);
  reader("read", message.read);
  return true;
}

Json put(Writer& writer, core::Waiter& waiter) {
  Json json = writer.write(waiter.request);
  json["waits_for"] = writer.write(waiter.blocker);
  return json;
}

bool take(Reader& reader, core::Waiter& waiter) {
  if (!take(reader, waiter.request)) return false;
  reader("waits_for", waiter.blocker);
  return true;
}

Json put(Writer& /*writer*/, std::pair<std::string, core::Owner>& owned) {
  return {{"key", owned.first},
          {"agent", owned.second.agent},
          {"session", text_or_null(owned.second.session)}};
}

bool take(Reader& reader, std::pair<std::string, core::Owner>& owned) {
  if (!reader.json().is_object()) return false;
  reader("key", owned.first);
  reader("agent", owned.second.agent);
  reader("session", owned.second.session);
  return true;
}

Json put(Writer& /*writer*/, std::pair<std::string, std::string>& covered) {
  return {{"key", covered.first}, {"by", covered.second}};
}

bool take(Reader& reader, std::pair<std::string, std::string>& covered) {
  if (!reader.json().is_object()) return false;
  reader("key", covered.first);
  reader("by", covered.second);
  return true;
}

Json put(Writer& /*writer*/, Error& error) {
  return error_json(error);
}

bool take(Reader& reader, Error& error) {
  if (!reader.json().is_object()) return false;
  std::string name;
  reader("code", name);
  const std::optional<Code> code = code_from_name(name);
  if (!code) return false;
  error.code = *code;
  reader("message", error.message);
  reader("hint", error.hint);
  return true;
}

}  // namespace lockkeeper::service::wire
