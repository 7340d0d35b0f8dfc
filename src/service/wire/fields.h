// The fields of every struct that crosses the wire. Internal to the room.
#pragma once

#include "service/calls.h"
#include "service/edit_calls.h"
#include "service/replies.h"
#include "service/wire/archive.h"

namespace lockkeeper::service::wire {

// Small values with a form of their own. put() writes, take() reads; false: it cannot be read.
Json put(Writer& writer, const core::LeaseId& id);
bool take(Reader& reader, core::LeaseId& id);
Json put(Writer& writer, const core::Mode& mode);
bool take(Reader& reader, core::Mode& mode);
Json put(Writer& writer, const core::Alive& alive);
bool take(Reader& reader, core::Alive& alive);
Json put(Writer& writer, const core::Outcome& outcome);
bool take(Reader& reader, core::Outcome& outcome);
Json put(Writer& writer, const key::Resource& resource);
bool take(Reader& reader, key::Resource& resource);
Json put(Writer& writer, const core::Claim& claim);
bool take(Reader& reader, core::Claim& claim);
Json put(Writer& writer, const Tell& tell);
bool take(Reader& reader, Tell& tell);
// These are the command line's objects, with more in them.
Json put(Writer& writer, core::Lease& lease);
bool take(Reader& reader, core::Lease& lease);
Json put(Writer& writer, core::Conflict& conflict);
bool take(Reader& reader, core::Conflict& conflict);
Json put(Writer& writer, core::LostLease& lost);
bool take(Reader& reader, core::LostLease& lost);
Json put(Writer& writer, core::Event& event);
bool take(Reader& reader, core::Event& event);
Json put(Writer& writer, core::Message& message);
bool take(Reader& reader, core::Message& message);
Json put(Writer& writer, core::Trace& trace);
bool take(Reader& reader, core::Trace& trace);
Json put(Writer& writer, core::Edit& edit);
bool take(Reader& reader, core::Edit& edit);
Json put(Writer& writer, core::RunningCall& call);
bool take(Reader& reader, core::RunningCall& call);
Json put(Writer& writer, const core::ReportRequest::Then& then);
bool take(Reader& reader, core::ReportRequest::Then& then);
Json put(Writer& writer, core::Waiter& waiter);
bool take(Reader& reader, core::Waiter& waiter);
Json put(Writer& writer, std::pair<std::string, core::Owner>& owned);
bool take(Reader& reader, std::pair<std::string, core::Owner>& owned);
Json put(Writer& writer, std::pair<std::string, std::string>& covered);
bool take(Reader& reader, std::pair<std::string, std::string>& covered);
Json put(Writer& writer, Error& error);
bool take(Reader& reader, Error& error);

template <class Archive>
void fields(Archive& archive, core::Owner& owner) {
  archive("agent", owner.agent);
  archive("session", owner.session);
}

template <class Archive>
void fields(Archive& archive, core::Attachment& attachment) {
  archive("slot", attachment.slot);
  archive("pid_namespace", attachment.pid_namespace);
  archive("pid", attachment.pid);
  archive("start_ticks", attachment.start_ticks);
}

template <class Archive>
void fields(Archive& archive, core::Terms& terms) {
  archive("reason", terms.reason);
  archive("task", terms.task);
  archive("agent_type", terms.agent_type);
  archive("ttl_ms", terms.ttl_ms);
  archive("orphan_grace_ms", terms.orphan_grace_ms);
  archive("request_id", terms.request_id);
  archive("layout", terms.layout);
  archive("artefact", terms.artefact);
  archive("worktree", terms.worktree);
}

template <class Archive>
void fields(Archive& archive, core::FileMark& mark) {
  archive("size", mark.size);
  archive("modified_ns", mark.modified_ns);
  archive("changed_ns", mark.changed_ns);
  archive("inode", mark.inode);
}

template <class Archive>
void fields(Archive& archive, core::Change& change) {
  archive("path", change.path);
  archive("mark", change.mark);
  archive("content", change.content);
  archive("clean", change.clean);
}

template <class Archive>
void fields(Archive& archive, core::EditNote& note) {
  archive("what", note.what);
  archive("resources", note.resources);
  archive("by", note.by);
  archive("cause", note.cause);
}

template <class Archive>
void fields(Archive& archive, core::Condition& condition) {
  archive("over", condition.over);
  archive("cause", condition.cause);
  archive("newly_orphaned", condition.newly_orphaned);
  archive("alive", condition.alive);
  archive("yields", condition.yields);
}

template <class Archive>
void fields(Archive& archive, core::CycleStep& step) {
  archive("agent", step.owner.agent);
  archive("session", step.owner.session);
  archive("waits_for", step.waits_for);
}

template <class Archive>
void fields(Archive& archive, layout::Unmirrored& one) {
  archive("layout", one.layout);
  archive("resources", one.resources);
}

template <class Archive>
void fields(Archive& archive, key::Rules& rules) {
  archive("fold_case", rules.fold_case);
  archive("extra_prefixes", rules.extra_prefixes);
  archive("feature_purposes", rules.feature_purposes);
  archive("strict", rules.strict);
}

template <class Archive>
void fields(Archive& archive, ParentLease& parent) {
  archive("lease", parent.lease);
  archive("fence", parent.fence);
}

template <class Archive>
void fields(Archive& archive, Caller& caller) {
  archive("agent", caller.owner.agent);
  archive("session", caller.owner.session);
  archive("parent", caller.parent);
  archive("tell", caller.tell);
  archive("request_id", caller.request_id);
}

}  // namespace lockkeeper::service::wire
