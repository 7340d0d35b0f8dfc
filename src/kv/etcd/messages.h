// The messages of etcd's gRPC interface that we use. What is read from a message points into its
// bytes, which must outlive it.
//
// decode_…: nullopt if it is malformed or has more rows than kRowsMax; it never reads outside of
// `bytes`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lockkeeper::kv::etcd {

inline constexpr std::size_t kRowsMax = 1 << 20;  // in one message

struct Header {
  std::uint64_t cluster_id = 0;
  std::uint64_t member_id = 0;
  std::uint64_t revision = 0;
};

struct KeyValue {
  std::string_view key;
  std::string_view value;
  std::uint64_t create_revision = 0;
  std::uint64_t mod_revision = 0;
  std::uint64_t lease = 0;
};

struct RangeRequest {
  enum class Order { kNone, kKeyDescending, kCreateAscending, kCreateDescending };
  std::string key;
  std::string range_end;  // empty: the key alone
  std::uint64_t limit = 0;
  std::uint64_t revision = 0;  // 0: the newest. Never inside of a transaction: members may differ
  Order order = Order::kNone;
  bool serializable = false;
  std::uint64_t min_create_revision = 0;
  std::uint64_t max_create_revision = 0;
};
std::string encode(const RangeRequest& request);

struct RangeResponse {
  Header header;
  std::vector<KeyValue> kvs;
  bool more = false;
};
std::optional<RangeResponse> decode_range(std::string_view bytes);

// What must hold of a key, or of every key of a range, before the transaction.
struct Compare {
  enum class Target { kCreate, kMod };
  enum class Result { kEqual, kLess };
  Target target = Target::kMod;
  Result result = Result::kEqual;
  std::string key;
  std::string range_end;  // empty: the key alone
  std::uint64_t revision = 0;
};

struct Put {
  std::string key;
  std::string value;
  std::uint64_t lease = 0;
};
struct Delete {
  std::string key;
};
struct Get {
  std::string key;
};
using Op = std::variant<Put, Delete, Get>;

struct TxnRequest {
  std::vector<Compare> compares;
  std::vector<Op> then;
  std::vector<Op> otherwise;
};
std::string encode(const TxnRequest& request);

struct OpResponse {
  RangeResponse range;        // of a Get
  std::uint64_t deleted = 0;  // of a Delete
};
struct TxnResponse {
  Header header;
  bool succeeded = false;
  std::vector<OpResponse> responses;
};
std::optional<TxnResponse> decode_txn(std::string_view bytes);

std::string encode_lease_grant(std::uint64_t id, std::int64_t ttl_s);
std::string encode_keep_alive(std::uint64_t id);
// How long the lease lives from now, in seconds. 0: there is no such lease (the field is left out).
std::optional<std::uint64_t> decode_lease_grant(std::string_view bytes);
std::optional<std::uint64_t> decode_keep_alive(std::string_view bytes);

struct Status {
  Header header;
  std::string version;
  std::uint64_t leader = 0;  // 0: there is none
  std::vector<std::string> errors;
  bool is_learner = false;
  std::uint64_t size = 0;         // of the database, in bytes, on disk
  std::uint64_t size_in_use = 0;  // of that
};
std::optional<Status> decode_status(std::string_view bytes);

// The questions for members and alarms are empty messages.
struct Member {
  std::uint64_t id = 0;
  std::string name;  // empty: it has never run
  std::vector<std::string> client_urls;
  bool is_learner = false;
};
std::optional<std::vector<Member>> decode_members(std::string_view bytes);

struct Alarm {
  enum class Kind { kNoSpace, kCorrupt, kOther };
  std::uint64_t member = 0;
  Kind kind = Kind::kOther;
};
std::optional<std::vector<Alarm>> decode_alarms(std::string_view bytes);

std::string encode_authenticate(std::string_view name, std::string_view password);
std::optional<std::string> decode_authenticate(std::string_view bytes);  // the token

std::string encode_watch(std::string_view key, std::string_view range_end, std::uint64_t start);
std::string encode_watch_progress();

struct WatchResponse {
  struct Event {
    bool erased = false;
    KeyValue kv;
  };
  Header header;
  bool created = false;
  bool canceled = false;
  std::uint64_t compact_revision = 0;
  std::string_view cancel_reason;
  bool fragment = false;  // more of the same revisions follows
  std::vector<Event> events;
};
std::optional<WatchResponse> decode_watch(std::string_view bytes);

}  // namespace lockkeeper::kv::etcd
