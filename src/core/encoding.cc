#include "core/encoding.h"

#include <algorithm>
#include <iterator>

#include "base/bytes.h"
#include "core/record_parts.h"

namespace lockkeeper::core {
namespace {

constexpr std::uint64_t kSharedFormat = 3;  // of a lost lease

// What a lease or a waiter has besides the plain fields. Its format is kFormat plus these.
struct Extras {
  bool layout = false;  // it concerns a dialect or a layout
  bool shared = false;  // a lease with several holds, a waiter of a part
  bool edit = false;    // it is an edit, or of one worktree
  bool clock = false;   // it was written where there are several clocks
  std::uint64_t format() const {
    return kFormat + (layout ? 1U : 0U) + (shared ? 2U : 0U) + (edit ? 4U : 0U) + (clock ? 8U : 0U);
  }
};

std::optional<Extras> extras_in(std::uint64_t format) {
  if (format < kFormat || format > kFormat + 15) return std::nullopt;
  const std::uint64_t bits = format - kFormat;
  return Extras{(bits & 1U) != 0, (bits & 2U) != 0, (bits & 4U) != 0, (bits & 8U) != 0};
}

// Empty: none. With any other length we did not write it.
Result<LeaseId> read_id(RecordReader& in) {
  const std::string_view bytes = in.text();
  if (!bytes.empty() && bytes.size() != IdBytes::kMax) return damaged("lease id");
  return LeaseId{bytes};
}

void write_attachment(RecordWriter& out, const Attachment& attachment) {
  out.number(attachment.slot);
  out.number(attachment.pid_namespace);
  out.signed_number(attachment.pid);
  out.number(attachment.start_ticks);
}

Attachment read_attachment(RecordReader& in) {
  Attachment attachment;
  attachment.slot = in.number();
  attachment.pid_namespace = in.number();
  attachment.pid = in.signed_number();
  attachment.start_ticks = in.number();
  return attachment;
}

void write_resource(RecordWriter& out, const key::Resource& resource) {
  out.number(static_cast<std::uint64_t>(resource.kind()));
  out.text(resource.text());
}

Result<key::Resource> read_resource(RecordReader& in) {
  const std::uint64_t kind = in.number();
  const std::string_view text = in.text();
  if (in.failed() || kind > static_cast<std::uint64_t>(key::Kind::kLogicalGlob)) {
    return damaged("resource");
  }
  return key::restore(text, static_cast<key::Kind>(kind));
}

void write_lease(RecordWriter& out, const Lease& lease) {
  write_owner(out, lease.owner);
  out.number(lease.claims.size());
  for (const Claim& claim : lease.claims) {
    out.number(static_cast<std::uint64_t>(claim.mode));
    out.number(claim.slot);
    write_resource(out, claim.resource);
  }
  out.text(lease.terms.reason);
  out.text(lease.terms.task);
  out.signed_number(lease.terms.ttl_ms);
  out.signed_number(lease.deadline_mono_ms);
  out.signed_number(lease.acquired_wall_ms);
  out.signed_number(lease.expires_wall_ms);
  write_attachment(out, lease.holds.front());
  write_attachment(out, lease.then);
  out.signed_number(lease.terms.orphan_grace_ms);
  out.signed_number(lease.orphaned_mono_ms);
  out.signed_number(lease.confirm_by_mono_ms);
  out.signed_number(lease.due_mono_ms);
  out.number(lease.epoch);
  out.signed_number(lease.fence_offset);
  out.text(lease.parent.bytes);
  out.text(lease.terms.request_id);
  out.number(lease.overtook ? 1 : 0);
}

Result<Lease> read_lease(RecordReader& in) {
  Lease lease;
  lease.owner = read_owner(in);
  const std::uint64_t claims = in.number();
  for (std::uint64_t i = 0; i < claims && !in.failed(); ++i) {
    const std::uint64_t mode = in.number();
    const std::uint64_t slot = in.number();
    LK_ASSIGN(const key::Resource resource, read_resource(in));
    if (mode > 1 || slot > 0xffff) return damaged("lease");
    lease.claims.push_back({resource, static_cast<Mode>(mode), static_cast<std::uint16_t>(slot)});
  }
  lease.terms.reason = in.text();
  lease.terms.task = in.text();
  lease.terms.ttl_ms = in.signed_number();
  lease.deadline_mono_ms = in.signed_number();
  lease.acquired_wall_ms = in.signed_number();
  lease.expires_wall_ms = in.signed_number();
  lease.holds = {read_attachment(in)};
  lease.then = read_attachment(in);
  lease.terms.orphan_grace_ms = in.signed_number();
  lease.orphaned_mono_ms = in.signed_number();
  lease.confirm_by_mono_ms = in.signed_number();
  lease.due_mono_ms = in.signed_number();
  lease.epoch = in.number();
  lease.fence_offset = in.signed_number();
  LK_ASSIGN(lease.parent, read_id(in));
  lease.terms.request_id = in.text();
  lease.overtook = in.number() != 0;
  return lease;
}

void write_stamp(RecordWriter& out, const Stamp& written) {
  out.number(written.clock);
  out.signed_number(written.mono_ms);
}

Stamp read_stamp(RecordReader& in) {
  Stamp written;
  written.clock = in.number();
  written.mono_ms = in.signed_number();
  return written;
}

void write_further_holds(RecordWriter& out, const Lease& lease) {
  out.number(lease.holds.size() - 1);
  for (std::size_t i = 1; i < lease.holds.size(); ++i) write_attachment(out, lease.holds[i]);
}

Result<void> read_further_holds(RecordReader& in, Lease& lease) {
  const std::uint64_t further = in.number();
  if (further == 0 || further >= kHoldsMax) return damaged("lease");
  for (std::uint64_t i = 0; i < further; ++i) lease.holds.push_back(read_attachment(in));
  return {};
}

bool has_edit(const Lease& lease) {
  return lease.edit.has_value() || !lease.terms.worktree.empty();
}

void write_edit(RecordWriter& out, const Lease& lease) {
  out.text(lease.terms.worktree);
  out.number(lease.edit ? 1 : 0);
  if (!lease.edit) return;
  write_texts(out, lease.edit->calls);
  out.number(lease.edit->confirmed ? 1 : 0);
  out.signed_number(lease.edit->touched_mono_ms);
}

void read_edit(RecordReader& in, Lease& lease) {
  lease.terms.worktree = in.text();
  if (in.number() == 0) return;
  Edit& edit = lease.edit.emplace();
  edit.calls = read_texts(in);
  edit.confirmed = in.number() != 0;
  edit.touched_mono_ms = in.signed_number();
}

}  // namespace

std::string encode_lease(const Lease& lease) {
  const bool layout = lease.foreign || !lease.terms.layout.empty() || !lease.mirrored_at.empty() ||
                      !lease.terms.agent_type.empty();
  const Extras extras{layout, lease.holds.size() > 1, has_edit(lease), lease.written.clock != 0};
  RecordWriter out;
  out.number(extras.format());
  write_lease(out, lease);
  if (extras.shared) write_further_holds(out, lease);
  if (extras.edit) write_edit(out, lease);
  if (extras.clock) write_stamp(out, lease.written);
  if (!layout) return out.take();
  out.number(lease.foreign ? 1 : 0);
  out.text(lease.terms.layout);
  out.text(lease.terms.artefact);
  write_texts(out, lease.mirrored_at);
  out.text(lease.terms.agent_type);
  return out.take();
}

Result<Lease> decode_lease(const LeaseId& id, std::string_view value, kv::Version created) {
  RecordReader in(value);
  const std::optional<Extras> extras = extras_in(in.number());
  if (!extras) return damaged("lease");
  LK_ASSIGN(Lease lease, read_lease(in));
  if (extras->shared) LK_CHECK(read_further_holds(in, lease));
  if (extras->edit) read_edit(in, lease);
  if (extras->clock) lease.written = read_stamp(in);
  if (extras->layout) {
    lease.foreign = in.number() != 0;
    lease.terms.layout = in.text();
    lease.terms.artefact = in.text();
    lease.mirrored_at = read_texts(in);
    lease.terms.agent_type = in.text();
  }
  if (!in.at_end()) return damaged("lease");
  lease.id = id;
  lease.created = created;
  return lease;
}

std::string encode_waiter(const Waiter& waiter) {
  const Terms& terms = waiter.request.terms;
  const Extras extras{!terms.layout.empty() || !terms.agent_type.empty(), !waiter.wholes.empty(),
                      has_edit(waiter.request), false};
  RecordWriter out;
  out.number(extras.format());
  write_lease(out, waiter.request);
  if (extras.shared) write_texts(out, waiter.wholes);
  if (extras.edit) write_edit(out, waiter.request);
  if (extras.layout) {
    out.text(waiter.request.terms.layout);
    out.text(waiter.request.terms.artefact);
    out.text(waiter.request.terms.agent_type);
  }
  out.text(waiter.blocker.bytes);
  out.number(waiter.alone ? 1 : 0);
  out.number(waiter.wake);
  return out.take();
}

Result<Waiter> decode_waiter(const LeaseId& id, std::string_view value, kv::Version created) {
  RecordReader in(value);
  const std::optional<Extras> extras = extras_in(in.number());
  if (!extras || extras->clock) return damaged("waiter");  // none of its times counts
  Waiter waiter;
  LK_ASSIGN(waiter.request, read_lease(in));
  if (extras->shared) waiter.wholes = read_texts(in);
  if (extras->edit) read_edit(in, waiter.request);
  if (extras->layout) {
    waiter.request.terms.layout = in.text();
    waiter.request.terms.artefact = in.text();
    waiter.request.terms.agent_type = in.text();
  }
  LK_ASSIGN(waiter.blocker, read_id(in));
  waiter.alone = in.number() != 0;
  waiter.wake = in.number();
  if (!in.at_end()) return damaged("waiter");
  waiter.request.id = id;
  waiter.request.created = created;
  return waiter;
}

std::string encode_places(const std::vector<std::string>& places) {
  RecordWriter out;
  write_texts(out, places);
  return out.take();
}

Result<std::vector<std::string>> decode_places(std::string_view value) {
  RecordReader in(value);
  std::vector<std::string> places = read_texts(in);
  if (!in.at_end()) return damaged("list of artefacts");
  return places;
}

std::string encode_claim(const key::Resource& resource) {
  RecordWriter out;
  write_resource(out, resource);
  return out.take();
}

Result<key::Resource> decode_claim(std::string_view value) {
  RecordReader in(value);
  LK_ASSIGN(key::Resource resource, read_resource(in));
  if (!in.at_end()) return damaged("claim");
  return resource;
}

std::string encode_request(const RememberedRequest& request) {
  RecordWriter out;
  out.number(kFormat);
  out.text(request.request_id);
  out.number(request.arguments);
  out.text(request.lease.bytes);
  return out.take();
}

Result<RememberedRequest> decode_request(std::string_view value) {
  RecordReader in(value);
  if (in.number() != kFormat) return damaged("request id");
  RememberedRequest request;
  request.request_id = in.text();
  request.arguments = in.number();
  LK_ASSIGN(request.lease, read_id(in));
  if (!in.at_end()) return damaged("request id");
  return request;
}

std::string encode_lost(const LostLease& lost) {
  const bool own = lost.filed == lost.id;
  RecordWriter out;
  out.number(own ? kFormat : kSharedFormat);
  if (!own) out.text(lost.id.bytes);
  write_owner(out, lost.owner);
  write_texts(out, lost.resources);
  out.text(lost.cause);
  out.text(lost.reason);
  write_owner(out, lost.by);
  out.number(lost.fence);
  out.signed_number(lost.at_wall_ms);
  out.number(lost.told ? 1 : 0);
  return out.take();
}

Result<LostLease> decode_lost(const LeaseId& id, std::string_view value) {
  RecordReader in(value);
  const std::uint64_t format = in.number();
  if (format != kFormat && format != kSharedFormat) return damaged("lost lease");
  LostLease lost;
  lost.id = lost.filed = id;
  if (format == kSharedFormat) {
    LK_ASSIGN(lost.id, read_id(in));
  }
  lost.owner = read_owner(in);
  lost.resources = read_texts(in);
  lost.cause = in.text();
  lost.reason = in.text();
  lost.by = read_owner(in);
  lost.fence = in.number();
  lost.at_wall_ms = in.signed_number();
  lost.told = in.number() != 0;
  if (!in.at_end()) return damaged("lost lease");
  return lost;
}

std::vector<Claim> readable_claims(const Lease& lease) {
  std::vector<Claim> claims;
  std::ranges::unique_copy(
      lease.claims, std::back_inserter(claims),  // sorted by text
      {}, [](const Claim& claim) -> const std::string& { return claim.resource.text(); });
  return claims;
}

std::vector<std::string> resource_texts(const Lease& lease) {
  std::vector<std::string> texts;
  for (const Claim& claim : readable_claims(lease)) texts.push_back(claim.resource.text());
  return texts;
}

Event Event::of_request(const Lease& request, std::string what, std::string cause) {
  Event event;
  event.what = std::move(what);
  event.cause = std::move(cause);
  event.owner = request.owner;
  event.resources = resource_texts(request);
  event.lease = request.id;
  event.reason = request.terms.reason;
  event.task = request.terms.task;
  return event;
}

Event Event::of(const Lease& lease, std::string what) {
  Event event = of_request(lease, std::move(what));
  event.fence = lease.created == 0 ? 0 : lease.fence();
  return event;
}

Event Event::of(const Lease& lease, const EndedBy& how) {
  Event event = of(lease, how.event);
  event.cause = how.cause;
  if (!how.reason.empty()) event.reason = how.reason;
  event.by = how.by;
  return event;
}

Event Event::granted(const Lease& lease) {
  Event event = of_request(lease, "granted");
  event.fence_is_version = true;
  event.fence_offset = lease.fence_offset;
  return event;
}

Event Event::refused(const Lease& request, std::string cause) {
  Event event = of_request(request, "refused", std::move(cause));
  event.lease = {};
  event.task.clear();
  return event;
}

Event Event::unseen(Owner owner, std::vector<std::string> resources, const EndedBy& how) {
  Event event;
  event.what = how.event;
  event.owner = std::move(owner);
  event.resources = std::move(resources);
  event.cause = how.cause;
  event.reason = how.reason;
  event.by = how.by;
  return event;
}

Event Event::of_program(std::string what, std::string cause) {
  Event event;
  event.what = std::move(what);
  event.cause = std::move(cause);
  event.owner.agent = "lockkeeper";
  return event;
}

std::string encode_event(const Event& event) {
  RecordWriter out;
  out.number(kFormat);
  out.text(event.what);
  out.signed_number(event.at_wall_ms);
  write_owner(out, event.owner);
  write_texts(out, event.resources);
  out.text(event.lease.bytes);
  out.number(event.fence);
  out.number(event.fence_is_version ? 1 : 0);
  out.signed_number(event.fence_offset);
  out.text(event.cause);
  out.text(event.reason);
  write_owner(out, event.by);
  out.text(event.task);
  return out.take();
}

Result<Event> decode_event(const kv::Appended& row) {
  RecordReader in(row.value);
  if (row.number == 0 || in.number() != kFormat) return damaged("event");
  Event event;
  event.seq = row.number;
  event.what = in.text();
  event.at_wall_ms = in.signed_number();
  event.owner = read_owner(in);
  event.resources = read_texts(in);
  LK_ASSIGN(event.lease, read_id(in));
  event.fence = in.number();
  event.fence_is_version = in.number() != 0;
  event.fence_offset = in.signed_number();
  event.cause = in.text();
  event.reason = in.text();
  event.by = read_owner(in);
  event.task = in.text();
  if (!in.at_end()) return damaged("event");
  if (event.fence_is_version) event.fence = fence_of(row.created, event.fence_offset);
  return event;
}

std::string encode_counter(std::size_t claims) {
  RecordWriter out;
  out.number(claims);
  return out.take();
}

Result<std::size_t> decode_counter(std::string_view value) {
  RecordReader in(value);
  const std::uint64_t claims = in.number();
  if (!in.at_end()) return damaged("counter");
  return static_cast<std::size_t>(claims);
}

std::string encode_history_count(const HistoryCount& count) {
  RecordWriter out;
  out.number(kFormat);
  out.number(count.counted_to);
  out.number(count.events);
  return out.take();
}

Result<HistoryCount> decode_history_count(std::string_view value) {
  RecordReader in(value);
  if (in.number() != kFormat) return damaged("count of events");
  HistoryCount count;
  count.counted_to = in.number();
  count.events = in.number();
  if (!in.at_end()) return damaged("count of events");
  return count;
}

}  // namespace lockkeeper::core
