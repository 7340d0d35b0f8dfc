#include "service/wire/codec.h"

#include "base/text.h"
#include "service/report.h"
#include "service/wire/fields.h"

namespace lockkeeper::service::wire {

template <class Archive>
void fields(Archive& archive, OpenCall& call) {
  archive("rules", call.rules);
}

template <class Archive>
void fields(Archive& archive, OpenReply& reply) {
  archive("rules", reply.rules);
}

template <class Archive>
void fields(Archive& archive, AcquireCall& call) {
  archive("caller", call.caller);
  archive("resources", call.claims);
  archive("terms", call.terms);
  archive("ttl_ms", call.ttl_ms);
  archive("wait", call.wait);
  archive("attachment", call.attachment);
  archive("wake", call.wake);
  archive("replaces", call.replaces);
  archive("anew", call.anew);
  archive("call", call.call);
  archive("worktree", call.worktree);
  archive("traced", call.traced);
}

template <class Archive>
void fields(Archive& archive, ReportCall& call) {
  archive("caller", call.caller);
  archive("turn_begins", call.report.turn_begins);
  archive("worktree", call.report.worktree);
  archive("begun", call.report.begun);
  archive("done", call.report.done);
  archive("failed", call.report.failed);
  archive("no_call_left", call.report.no_call_left);
  archive("parts_go_on", call.report.parts_go_on);
  archive("session_over", call.report.session_over);
  archive("changed", call.report.changed);
  archive("found", call.report.found);
  archive("then", call.report.then);
  archive("refused", call.report.refused);
  archive("settled", call.report.settled);
  archive("once", call.report.once);
  archive("also_in", call.report.also_in);
  archive("notes", call.report.notes);
}

template <class Archive>
void fields(Archive& archive, UnseenCall& call) {
  archive("caller", call.caller);
  archive("worktree", call.worktree);
  archive("paths", call.paths);
}

template <class Archive>
void fields(Archive& archive, LookCall& call) {
  archive("caller", call.caller);
  archive("worktree", call.worktree);
  archive("paths", call.paths);
  archive("own_only", call.own_only);
  archive("whose", call.whose);
}

template <class Archive>
void fields(Archive& archive, ForgetCall& call) {
  archive("caller", call.caller);
  archive("worktree", call.worktree);
  archive("paths", call.paths);
  archive("clean", call.clean);
}

template <class Archive>
void fields(Archive& archive, AwaitCall& call) {
  archive("caller", call.caller);
  archive("id", call.id);
  archive("at_most_ms", call.at_most_ms);
  archive("looks", call.looks);
}

template <class Archive>
void fields(Archive& archive, LeaveCall& call) {
  archive("caller", call.caller);
  archive("id", call.id);
  archive("why", call.why);
  archive("gone", call.gone);
}

template <class Archive>
void fields(Archive& archive, ReleaseCall& call) {
  archive("caller", call.caller);
  archive("resources", call.resources);
  archive("leases", call.leases);
  archive("task", call.task);
  archive("all", call.all);
  archive("by", call.by);
  archive("only_own_hold", call.only_own_hold);
}

template <class Archive>
void fields(Archive& archive, RenewCall& call) {
  archive("caller", call.caller);
  archive("resources", call.resources);
  archive("leases", call.leases);
  archive("all", call.all);
  archive("ttl_ms", call.ttl_ms);
  archive("orphans", call.orphans);
  archive("attachment", call.attachment);
}

template <class Archive>
void fields(Archive& archive, CheckCall& call) {
  archive("caller", call.caller);
  archive("resources", call.claims);
  archive("fence", call.fence);
  archive("lease", call.lease);
  archive("worktree", call.worktree);
}

template <class Archive>
void fields(Archive& archive, BreakCall& call) {
  archive("caller", call.caller);
  archive("resources", call.resources);
  archive("leases", call.leases);
  archive("agent", call.agent);
  archive("reason", call.reason);
  archive("cause", call.cause);
  archive("only_expired", call.only_expired);
  archive("only_dead", call.only_dead);
  archive("foreign", call.foreign);
}

template <class Archive>
void fields(Archive& archive, AdoptCall& call) {
  archive("caller", call.caller);
  archive("paths", call.paths);
  archive("resource", call.resource);
  archive("terms", call.terms);
  archive("ttl_ms", call.ttl_ms);
  archive("attachment", call.attachment);
}

template <class Archive>
void fields(Archive& archive, ListCall& call) {
  archive("caller", call.caller);
  archive("leases", call.leases);
  archive("owner", call.owner);
  archive("agent", call.agent);
  archive("task", call.task);
  archive("exact", call.exact);
  archive("overlapping", call.overlapping);
  archive("with_waiters", call.with_waiters);
  archive("scan_layouts", call.scan_layouts);
}

template <class Archive>
void fields(Archive& archive, EventsCall& call) {
  archive("caller", call.caller);
  archive("since_seq", call.since_seq);
  archive("since_wall_ms", call.since_wall_ms);
  archive("agent", call.agent);
  archive("overlapping", call.overlapping);
  archive("most", call.most);
  archive("newest", call.newest);
}

template <class Archive>
void fields(Archive& archive, SendCall& call) {
  archive("caller", call.caller);
  archive("to", call.to);
  archive("text", call.text);
  archive("type", call.type);
  archive("task", call.task);
  archive("project", call.project);
}

template <class Archive>
void fields(Archive& archive, MessagesCall& call) {
  archive("caller", call.caller);
  archive("sent", call.sent);
  archive("unread_only", call.unread_only);
  archive("peek", call.peek);
  archive("mark_read", call.mark_read);
  archive("ids", call.ids);
}

template <class Archive>
void fields(Archive& archive, PurgeCall& call) {
  archive("caller", call.caller);
  archive("history", call.history);
}

template <class Archive>
void fields(Archive& archive, Notices& notices) {
  archive("lost", notices.lost);
  archive("messages", notices.messages);
  archive("more_messages", notices.more_messages);
  archive("waiting", notices.waiting);
}

template <class Archive>
void fields(Archive& /*archive*/, Done& /*done*/) {}

template <class Archive>
void fields(Archive& archive, AcquireResult& result) {
  archive("outcome", result.outcome);
  archive("lease", result.lease);
  archive("existed_before", result.existed_before);
  archive("conflicts", result.conflicts);
  archive("cycle", result.cycle);
  archive("elsewhere", result.elsewhere);
  archive("position", result.position);
  archive("traces", result.traces);
  archive("reason_before", result.reason_before);
  archive("unmirrored", result.unmirrored);
}

template <class Archive>
void fields(Archive& archive, core::ReleaseReply& reply) {
  archive("released", reply.released);
  archive("ended_before", reply.ended_before);
  archive("not_held", reply.not_held);
  archive("not_owner", reply.not_owner);
  archive("covered", reply.covered);
}

template <class Archive>
void fields(Archive& archive, core::ReportReply& reply) {
  archive("ended", reply.ended);
  archive("refused", reply.refused);
  archive("news", reply.news);
  archive("also_in", reply.also_in);
}

template <class Archive>
void fields(Archive& archive, LookReply& reply) {
  archive("traces", reply.traces);
  archive("edits", reply.edits);
  archive("busy", reply.busy);
  archive("own", reply.own);
  archive("gone", reply.gone);
}

template <class Archive>
void fields(Archive& archive, core::CheckReply& reply) {
  archive("free", reply.free);
  archive("mine", reply.mine);
  archive("fence_current", reply.fence_current);
  archive("conflicts", reply.conflicts);
}

template <class Archive>
void fields(Archive& archive, ListedLease& listed) {
  archive("lease", listed.lease);
  archive("condition", listed.condition);
}

template <class Archive>
void fields(Archive& archive, ListReply& reply) {
  archive("leases", reply.leases);
  archive("waiters", reply.waiters);
  archive("lost", reply.lost);
  archive("moved", reply.moved);
}

// A reply is its value with the notices beside it.
template <class Archive, typename T>
void fields(Archive& archive, Reply<T>& reply) {
  archive("value", reply.value);
  archive("notices", reply.notices);
}

template <typename T>
Json to_json(const T& value, const Clock& clock) {
  T copy = value;
  return Writer(clock.now()).write(copy);
}

template <typename T>
Result<T> from_json(const Json& json, const Clock& clock) {
  T value{};
  std::string fault;
  Reader reader(json, clock.now(), fault);
  const bool whole = reader.read(json, value);
  if (whole && fault.empty()) return value;
  return fail(Code::kInvalidInput,
              fault.empty() ? "the JSON has another shape"
                            : "the field " + quote(fault) + " cannot be read",
              "use the same version of lockkeeper on both sides");
}

std::string line_of(const Json& json) {
  return dump(json);
}

Result<Json> json_of(std::string_view line) {
  Json json = Json::parse(line, nullptr, false);
  if (json.is_discarded()) {
    return fail(Code::kInvalidInput, "a message is not JSON",
                "use the same version of lockkeeper on both sides");
  }
  return json;
}

#define LK_WIRE_TYPE(...)                                  \
  template Json to_json(const __VA_ARGS__&, const Clock&); \
  template Result<__VA_ARGS__> from_json(const Json&, const Clock&)
LK_WIRE_TYPE(OpenCall);
LK_WIRE_TYPE(OpenReply);
LK_WIRE_TYPE(AcquireCall);
LK_WIRE_TYPE(std::vector<AcquireCall>);
LK_WIRE_TYPE(AwaitCall);
LK_WIRE_TYPE(LeaveCall);
LK_WIRE_TYPE(ReleaseCall);
LK_WIRE_TYPE(RenewCall);
LK_WIRE_TYPE(CheckCall);
LK_WIRE_TYPE(BreakCall);
LK_WIRE_TYPE(AdoptCall);
LK_WIRE_TYPE(ListCall);
LK_WIRE_TYPE(EventsCall);
LK_WIRE_TYPE(SendCall);
LK_WIRE_TYPE(MessagesCall);
LK_WIRE_TYPE(PurgeCall);
LK_WIRE_TYPE(ReportCall);
LK_WIRE_TYPE(UnseenCall);
LK_WIRE_TYPE(LookCall);
LK_WIRE_TYPE(ForgetCall);
LK_WIRE_TYPE(Caller);
LK_WIRE_TYPE(Notices);
LK_WIRE_TYPE(Error);
LK_WIRE_TYPE(AcquireResult);
LK_WIRE_TYPE(core::ReleaseReply);
LK_WIRE_TYPE(std::vector<core::Lease>);
LK_WIRE_TYPE(std::vector<core::Message>);
LK_WIRE_TYPE(Reply<AcquireResult>);
LK_WIRE_TYPE(Reply<std::vector<AcquireResult>>);
LK_WIRE_TYPE(Reply<core::ReleaseReply>);
LK_WIRE_TYPE(Reply<std::vector<core::Lease>>);
LK_WIRE_TYPE(Reply<core::CheckReply>);
LK_WIRE_TYPE(Reply<ListReply>);
LK_WIRE_TYPE(Reply<std::vector<core::Message>>);
LK_WIRE_TYPE(Reply<std::vector<core::Event>>);
LK_WIRE_TYPE(std::vector<core::Trace>);
LK_WIRE_TYPE(Reply<core::ReportReply>);
LK_WIRE_TYPE(Reply<std::vector<core::Trace>>);
LK_WIRE_TYPE(Reply<LookReply>);
LK_WIRE_TYPE(Reply<Done>);
#undef LK_WIRE_TYPE

}  // namespace lockkeeper::service::wire
