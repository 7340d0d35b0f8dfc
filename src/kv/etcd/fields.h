// The fields of etcd's messages that we use, by their names and numbers in etcd's rpc.proto,
// kv.proto (a test compares them), and the words of its enumerations.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace lockkeeper::kv::etcd {

struct Field {
  std::string_view message;
  std::string_view name;
  std::uint32_t number;
};

inline constexpr Field kResponseHeaderClusterId{"ResponseHeader", "cluster_id", 1};
inline constexpr Field kResponseHeaderMemberId{"ResponseHeader", "member_id", 2};
inline constexpr Field kResponseHeaderRevision{"ResponseHeader", "revision", 3};

inline constexpr Field kKeyValueKey{"KeyValue", "key", 1};
inline constexpr Field kKeyValueCreateRevision{"KeyValue", "create_revision", 2};
inline constexpr Field kKeyValueModRevision{"KeyValue", "mod_revision", 3};
inline constexpr Field kKeyValueValue{"KeyValue", "value", 5};
inline constexpr Field kKeyValueLease{"KeyValue", "lease", 6};

inline constexpr Field kRangeRequestKey{"RangeRequest", "key", 1};
inline constexpr Field kRangeRequestRangeEnd{"RangeRequest", "range_end", 2};
inline constexpr Field kRangeRequestLimit{"RangeRequest", "limit", 3};
inline constexpr Field kRangeRequestRevision{"RangeRequest", "revision", 4};
inline constexpr Field kRangeRequestSortOrder{"RangeRequest", "sort_order", 5};
inline constexpr Field kRangeRequestSortTarget{"RangeRequest", "sort_target", 6};
inline constexpr Field kRangeRequestSerializable{"RangeRequest", "serializable", 7};
inline constexpr Field kRangeRequestMinCreateRevision{"RangeRequest", "min_create_revision", 12};
inline constexpr Field kRangeRequestMaxCreateRevision{"RangeRequest", "max_create_revision", 13};

inline constexpr Field kRangeResponseHeader{"RangeResponse", "header", 1};
inline constexpr Field kRangeResponseKvs{"RangeResponse", "kvs", 2};
inline constexpr Field kRangeResponseMore{"RangeResponse", "more", 3};

inline constexpr Field kPutRequestKey{"PutRequest", "key", 1};
inline constexpr Field kPutRequestValue{"PutRequest", "value", 2};
inline constexpr Field kPutRequestLease{"PutRequest", "lease", 3};

inline constexpr Field kDeleteRangeRequestKey{"DeleteRangeRequest", "key", 1};

inline constexpr Field kDeleteRangeResponseDeleted{"DeleteRangeResponse", "deleted", 2};

inline constexpr Field kRequestOpRequestRange{"RequestOp", "request_range", 1};
inline constexpr Field kRequestOpRequestPut{"RequestOp", "request_put", 2};
inline constexpr Field kRequestOpRequestDeleteRange{"RequestOp", "request_delete_range", 3};

inline constexpr Field kResponseOpResponseRange{"ResponseOp", "response_range", 1};
inline constexpr Field kResponseOpResponseDeleteRange{"ResponseOp", "response_delete_range", 3};

inline constexpr Field kCompareResult{"Compare", "result", 1};
inline constexpr Field kCompareTarget{"Compare", "target", 2};
inline constexpr Field kCompareKey{"Compare", "key", 3};
inline constexpr Field kCompareCreateRevision{"Compare", "create_revision", 5};
inline constexpr Field kCompareModRevision{"Compare", "mod_revision", 6};
inline constexpr Field kCompareRangeEnd{"Compare", "range_end", 64};

inline constexpr Field kTxnRequestCompare{"TxnRequest", "compare", 1};
inline constexpr Field kTxnRequestSuccess{"TxnRequest", "success", 2};
inline constexpr Field kTxnRequestFailure{"TxnRequest", "failure", 3};

inline constexpr Field kTxnResponseHeader{"TxnResponse", "header", 1};
inline constexpr Field kTxnResponseSucceeded{"TxnResponse", "succeeded", 2};
inline constexpr Field kTxnResponseResponses{"TxnResponse", "responses", 3};

inline constexpr Field kLeaseGrantRequestTtl{"LeaseGrantRequest", "TTL", 1};
inline constexpr Field kLeaseGrantRequestId{"LeaseGrantRequest", "ID", 2};

inline constexpr Field kLeaseGrantResponseTtl{"LeaseGrantResponse", "TTL", 3};

inline constexpr Field kLeaseKeepAliveRequestId{"LeaseKeepAliveRequest", "ID", 1};

inline constexpr Field kLeaseKeepAliveResponseTtl{"LeaseKeepAliveResponse", "TTL", 3};

inline constexpr Field kStatusResponseHeader{"StatusResponse", "header", 1};
inline constexpr Field kStatusResponseVersion{"StatusResponse", "version", 2};
inline constexpr Field kStatusResponseDbSize{"StatusResponse", "dbSize", 3};
inline constexpr Field kStatusResponseLeader{"StatusResponse", "leader", 4};
inline constexpr Field kStatusResponseErrors{"StatusResponse", "errors", 8};
inline constexpr Field kStatusResponseDbSizeInUse{"StatusResponse", "dbSizeInUse", 9};
inline constexpr Field kStatusResponseIsLearner{"StatusResponse", "isLearner", 10};

inline constexpr Field kMemberId{"Member", "ID", 1};
inline constexpr Field kMemberName{"Member", "name", 2};
inline constexpr Field kMemberClientUrls{"Member", "clientURLs", 4};
inline constexpr Field kMemberIsLearner{"Member", "isLearner", 5};

inline constexpr Field kMemberListResponseMembers{"MemberListResponse", "members", 2};

inline constexpr Field kAlarmMemberId{"AlarmMember", "memberID", 1};
inline constexpr Field kAlarmMemberAlarm{"AlarmMember", "alarm", 2};

inline constexpr Field kAlarmResponseAlarms{"AlarmResponse", "alarms", 2};

inline constexpr Field kAuthenticateRequestName{"AuthenticateRequest", "name", 1};
inline constexpr Field kAuthenticateRequestPassword{"AuthenticateRequest", "password", 2};

inline constexpr Field kAuthenticateResponseToken{"AuthenticateResponse", "token", 2};

inline constexpr Field kWatchRequestCreateRequest{"WatchRequest", "create_request", 1};
inline constexpr Field kWatchRequestProgressRequest{"WatchRequest", "progress_request", 3};

inline constexpr Field kWatchCreateRequestKey{"WatchCreateRequest", "key", 1};
inline constexpr Field kWatchCreateRequestRangeEnd{"WatchCreateRequest", "range_end", 2};
inline constexpr Field kWatchCreateRequestStartRevision{"WatchCreateRequest", "start_revision", 3};
inline constexpr Field kWatchCreateRequestFragment{"WatchCreateRequest", "fragment", 8};

inline constexpr Field kWatchResponseHeader{"WatchResponse", "header", 1};
inline constexpr Field kWatchResponseCreated{"WatchResponse", "created", 3};
inline constexpr Field kWatchResponseCanceled{"WatchResponse", "canceled", 4};
inline constexpr Field kWatchResponseCompactRevision{"WatchResponse", "compact_revision", 5};
inline constexpr Field kWatchResponseCancelReason{"WatchResponse", "cancel_reason", 6};
inline constexpr Field kWatchResponseFragment{"WatchResponse", "fragment", 7};
inline constexpr Field kWatchResponseEvents{"WatchResponse", "events", 11};

inline constexpr Field kEventType{"Event", "type", 1};
inline constexpr Field kEventKv{"Event", "kv", 2};

inline constexpr Field kSortOrderNone{"SortOrder", "NONE", 0};
inline constexpr Field kSortOrderAscend{"SortOrder", "ASCEND", 1};
inline constexpr Field kSortOrderDescend{"SortOrder", "DESCEND", 2};

inline constexpr Field kSortTargetKey{"SortTarget", "KEY", 0};
inline constexpr Field kSortTargetCreate{"SortTarget", "CREATE", 2};

inline constexpr Field kCompareResultEqual{"CompareResult", "EQUAL", 0};
inline constexpr Field kCompareResultLess{"CompareResult", "LESS", 2};

inline constexpr Field kCompareTargetCreate{"CompareTarget", "CREATE", 1};
inline constexpr Field kCompareTargetMod{"CompareTarget", "MOD", 2};

inline constexpr Field kAlarmTypeNoSpace{"AlarmType", "NOSPACE", 1};
inline constexpr Field kAlarmTypeCorrupt{"AlarmType", "CORRUPT", 2};

inline constexpr Field kEventTypePut{"EventType", "PUT", 0};
inline constexpr Field kEventTypeDelete{"EventType", "DELETE", 1};

// All of them, for the test.
std::vector<Field> all_fields();

}  // namespace lockkeeper::kv::etcd
