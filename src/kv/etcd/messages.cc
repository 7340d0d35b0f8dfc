#include "kv/etcd/messages.h"

#include "kv/etcd/fields.h"
#include "kv/etcd/wire.h"

namespace lockkeeper::kv::etcd {
namespace {

constexpr std::size_t kUsualPartBytes = 128;  // of a transaction

bool is(const MessageReader& reader, const Field& field) {
  return reader.field() == field.number;
}

// Each of these reads one message, and answers whether it was well formed.

bool read_header(std::string_view bytes, Header& header) {
  MessageReader reader(bytes);
  while (reader.next()) {
    if (is(reader, kResponseHeaderClusterId)) header.cluster_id = reader.number();
    if (is(reader, kResponseHeaderMemberId)) header.member_id = reader.number();
    if (is(reader, kResponseHeaderRevision)) header.revision = reader.number();
  }
  return !reader.failed();
}

bool read_kv(std::string_view bytes, KeyValue& kv) {
  MessageReader reader(bytes);
  while (reader.next()) {
    if (is(reader, kKeyValueKey)) kv.key = reader.bytes();
    if (is(reader, kKeyValueValue)) kv.value = reader.bytes();
    if (is(reader, kKeyValueCreateRevision)) kv.create_revision = reader.number();
    if (is(reader, kKeyValueModRevision)) kv.mod_revision = reader.number();
    if (is(reader, kKeyValueLease)) kv.lease = reader.number();
  }
  return !reader.failed();
}

bool read_range(std::string_view bytes, RangeResponse& range, std::size_t& rows) {
  MessageReader reader(bytes);
  while (reader.next()) {
    if (is(reader, kRangeResponseHeader) && !read_header(reader.bytes(), range.header))
      return false;
    if (is(reader, kRangeResponseMore)) range.more = reader.flag();
    if (!is(reader, kRangeResponseKvs)) continue;
    if (++rows > kRowsMax || !read_kv(reader.bytes(), range.kvs.emplace_back())) return false;
  }
  return !reader.failed();
}

bool read_deleted(std::string_view bytes, std::uint64_t& deleted) {
  MessageReader reader(bytes);
  while (reader.next()) {
    if (is(reader, kDeleteRangeResponseDeleted)) deleted = reader.number();
  }
  return !reader.failed();
}

bool read_op(std::string_view bytes, OpResponse& op, std::size_t& rows) {
  MessageReader reader(bytes);
  while (reader.next()) {
    if (is(reader, kResponseOpResponseRange) && !read_range(reader.bytes(), op.range, rows)) {
      return false;
    }
    if (is(reader, kResponseOpResponseDeleteRange) && !read_deleted(reader.bytes(), op.deleted)) {
      return false;
    }
  }
  return !reader.failed();
}

bool read_event(std::string_view bytes, WatchResponse::Event& event) {
  MessageReader reader(bytes);
  while (reader.next()) {
    if (is(reader, kEventType)) event.erased = reader.number() == kEventTypeDelete.number;
    if (is(reader, kEventKv) && !read_kv(reader.bytes(), event.kv)) return false;
  }
  return !reader.failed();
}

bool read_member(std::string_view bytes, Member& member) {
  MessageReader reader(bytes);
  while (reader.next()) {
    if (is(reader, kMemberId)) member.id = reader.number();
    if (is(reader, kMemberName)) member.name = reader.bytes();
    if (is(reader, kMemberIsLearner)) member.is_learner = reader.flag();
    if (!is(reader, kMemberClientUrls)) continue;
    if (member.client_urls.size() >= kRowsMax) return false;
    member.client_urls.emplace_back(reader.bytes());
  }
  return !reader.failed();
}

bool read_alarm(std::string_view bytes, Alarm& alarm) {
  MessageReader reader(bytes);
  while (reader.next()) {
    if (is(reader, kAlarmMemberId)) alarm.member = reader.number();
    if (!is(reader, kAlarmMemberAlarm)) continue;
    const std::uint64_t kind = reader.number();
    alarm.kind = kind == kAlarmTypeNoSpace.number   ? Alarm::Kind::kNoSpace
                 : kind == kAlarmTypeCorrupt.number ? Alarm::Kind::kCorrupt
                                                    : Alarm::Kind::kOther;
  }
  return !reader.failed();
}

// The one field that matters of a message, which may be there many times.
template <class Part>
std::optional<std::vector<Part>> parts_of(std::string_view bytes, const Field& field,
                                          bool (*read)(std::string_view, Part&)) {
  std::vector<Part> parts;
  MessageReader reader(bytes);
  while (reader.next()) {
    if (!is(reader, field)) continue;
    if (parts.size() >= kRowsMax || !read(reader.bytes(), parts.emplace_back())) {
      return std::nullopt;
    }
  }
  return reader.failed() ? std::nullopt : std::optional(std::move(parts));
}

// The one number that matters of a message.
std::optional<std::uint64_t> number_of(std::string_view bytes, const Field& field) {
  std::uint64_t value = 0;
  MessageReader reader(bytes);
  while (reader.next()) {
    if (is(reader, field)) value = reader.number();
  }
  return reader.failed() ? std::nullopt : std::optional(value);
}

void write_compare(MessageWriter& out, const Compare& compare) {
  const bool create = compare.target == Compare::Target::kCreate;
  const bool equal = compare.result == Compare::Result::kEqual;
  out.number(kCompareResult.number, equal ? kCompareResultEqual.number : kCompareResultLess.number);
  out.number(kCompareTarget.number,
             create ? kCompareTargetCreate.number : kCompareTargetMod.number);
  out.bytes(kCompareKey.number, compare.key);
  out.kept_number(create ? kCompareCreateRevision.number : kCompareModRevision.number,
                  compare.revision);
  out.bytes(kCompareRangeEnd.number, compare.range_end);
}

void write_op(MessageWriter& out, const Op& op) {
  if (const Put* const put = std::get_if<Put>(&op)) {
    out.message(kRequestOpRequestPut.number, [&] {
      out.bytes(kPutRequestKey.number, put->key);
      out.bytes(kPutRequestValue.number, put->value);
      out.number(kPutRequestLease.number, put->lease);
    });
  } else if (const Delete* const erase = std::get_if<Delete>(&op)) {
    out.message(kRequestOpRequestDeleteRange.number,
                [&] { out.bytes(kDeleteRangeRequestKey.number, erase->key); });
  } else {
    out.message(kRequestOpRequestRange.number,
                [&] { out.bytes(kRangeRequestKey.number, std::get<Get>(op).key); });
  }
}

}  // namespace

std::string encode(const RangeRequest& request) {
  using Order = RangeRequest::Order;
  MessageWriter out;
  out.bytes(kRangeRequestKey.number, request.key);
  out.bytes(kRangeRequestRangeEnd.number, request.range_end);
  out.number(kRangeRequestLimit.number, request.limit);
  out.number(kRangeRequestRevision.number, request.revision);
  if (request.order != Order::kNone) {
    out.number(kRangeRequestSortOrder.number, request.order == Order::kCreateAscending
                                                  ? kSortOrderAscend.number
                                                  : kSortOrderDescend.number);
    out.number(kRangeRequestSortTarget.number, request.order == Order::kKeyDescending
                                                   ? kSortTargetKey.number
                                                   : kSortTargetCreate.number);
  }
  out.number(kRangeRequestSerializable.number, request.serializable ? 1 : 0);
  out.number(kRangeRequestMinCreateRevision.number, request.min_create_revision);
  out.number(kRangeRequestMaxCreateRevision.number, request.max_create_revision);
  return out.take();
}

std::optional<RangeResponse> decode_range(std::string_view bytes) {
  RangeResponse range;
  std::size_t rows = 0;
  if (!read_range(bytes, range, rows)) return std::nullopt;
  return range;
}

std::string encode(const TxnRequest& request) {
  MessageWriter out;
  out.reserve(kUsualPartBytes * (request.compares.size() + request.then.size()));
  for (const Compare& compare : request.compares) {
    out.message(kTxnRequestCompare.number, [&] { write_compare(out, compare); });
  }
  const auto write_ops = [&](const Field& field, const std::vector<Op>& ops) {
    for (const Op& op : ops) out.message(field.number, [&] { write_op(out, op); });
  };
  write_ops(kTxnRequestSuccess, request.then);
  write_ops(kTxnRequestFailure, request.otherwise);
  return out.take();
}

std::optional<TxnResponse> decode_txn(std::string_view bytes) {
  TxnResponse txn;
  std::size_t rows = 0;
  MessageReader reader(bytes);
  while (reader.next()) {
    if (is(reader, kTxnResponseHeader) && !read_header(reader.bytes(), txn.header)) {
      return std::nullopt;
    }
    if (is(reader, kTxnResponseSucceeded)) txn.succeeded = reader.flag();
    if (!is(reader, kTxnResponseResponses)) continue;
    ++rows;
    if (rows > kRowsMax || !read_op(reader.bytes(), txn.responses.emplace_back(), rows)) {
      return std::nullopt;
    }
  }
  return reader.failed() ? std::nullopt : std::optional(std::move(txn));
}

std::string encode_lease_grant(std::uint64_t id, std::int64_t ttl_s) {
  MessageWriter out;
  out.number(kLeaseGrantRequestTtl.number, static_cast<std::uint64_t>(ttl_s));
  out.number(kLeaseGrantRequestId.number, id);
  return out.take();
}

std::string encode_keep_alive(std::uint64_t id) {
  MessageWriter out;
  out.number(kLeaseKeepAliveRequestId.number, id);
  return out.take();
}

std::optional<std::uint64_t> decode_lease_grant(std::string_view bytes) {
  return number_of(bytes, kLeaseGrantResponseTtl);
}

std::optional<std::uint64_t> decode_keep_alive(std::string_view bytes) {
  return number_of(bytes, kLeaseKeepAliveResponseTtl);
}

std::optional<Status> decode_status(std::string_view bytes) {
  Status status;
  MessageReader reader(bytes);
  while (reader.next()) {
    if (is(reader, kStatusResponseHeader) && !read_header(reader.bytes(), status.header)) {
      return std::nullopt;
    }
    if (is(reader, kStatusResponseVersion)) status.version = reader.bytes();
    if (is(reader, kStatusResponseLeader)) status.leader = reader.number();
    if (is(reader, kStatusResponseIsLearner)) status.is_learner = reader.flag();
    if (is(reader, kStatusResponseDbSize)) status.size = reader.number();
    if (is(reader, kStatusResponseDbSizeInUse)) status.size_in_use = reader.number();
    if (!is(reader, kStatusResponseErrors)) continue;
    if (status.errors.size() >= kRowsMax) return std::nullopt;
    status.errors.emplace_back(reader.bytes());
  }
  return reader.failed() ? std::nullopt : std::optional(std::move(status));
}

std::optional<std::vector<Member>> decode_members(std::string_view bytes) {
  return parts_of<Member>(bytes, kMemberListResponseMembers, read_member);
}

std::optional<std::vector<Alarm>> decode_alarms(std::string_view bytes) {
  return parts_of<Alarm>(bytes, kAlarmResponseAlarms, read_alarm);
}

std::string encode_authenticate(std::string_view name, std::string_view password) {
  MessageWriter out;
  out.bytes(kAuthenticateRequestName.number, name);
  out.bytes(kAuthenticateRequestPassword.number, password);
  return out.take();
}

std::optional<std::string> decode_authenticate(std::string_view bytes) {
  std::string token;
  MessageReader reader(bytes);
  while (reader.next()) {
    if (is(reader, kAuthenticateResponseToken)) token = reader.bytes();
  }
  return reader.failed() ? std::nullopt : std::optional(std::move(token));
}

std::string encode_watch(std::string_view key, std::string_view range_end, std::uint64_t start) {
  MessageWriter out;
  out.message(kWatchRequestCreateRequest.number, [&] {
    out.bytes(kWatchCreateRequestKey.number, key);
    out.bytes(kWatchCreateRequestRangeEnd.number, range_end);
    out.number(kWatchCreateRequestStartRevision.number, start);
    out.number(kWatchCreateRequestFragment.number, 1);
  });
  return out.take();
}

std::string encode_watch_progress() {
  MessageWriter out;
  out.kept_bytes(kWatchRequestProgressRequest.number, {});
  return out.take();
}

std::optional<WatchResponse> decode_watch(std::string_view bytes) {
  WatchResponse watch;
  MessageReader reader(bytes);
  while (reader.next()) {
    if (is(reader, kWatchResponseHeader) && !read_header(reader.bytes(), watch.header)) {
      return std::nullopt;
    }
    if (is(reader, kWatchResponseCreated)) watch.created = reader.flag();
    if (is(reader, kWatchResponseCanceled)) watch.canceled = reader.flag();
    if (is(reader, kWatchResponseCompactRevision)) watch.compact_revision = reader.number();
    if (is(reader, kWatchResponseCancelReason)) watch.cancel_reason = reader.bytes();
    if (is(reader, kWatchResponseFragment)) watch.fragment = reader.flag();
    if (!is(reader, kWatchResponseEvents)) continue;
    if (watch.events.size() >= kRowsMax) return std::nullopt;
    if (!read_event(reader.bytes(), watch.events.emplace_back())) return std::nullopt;
  }
  return reader.failed() ? std::nullopt : std::optional(std::move(watch));
}

}  // namespace lockkeeper::kv::etcd
