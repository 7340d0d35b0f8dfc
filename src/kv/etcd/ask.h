// What every question to an etcd needs, whoever asks it: the names of the calls, the token of a
// user, and what a refusal means in plain words.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "kv/etcd/address.h"
#include "kv/etcd/link.h"

namespace lockkeeper::kv::etcd {

inline constexpr const char* kRange = "/etcdserverpb.KV/Range";
inline constexpr const char* kTxn = "/etcdserverpb.KV/Txn";
inline constexpr const char* kLeaseGrant = "/etcdserverpb.Lease/LeaseGrant";
inline constexpr const char* kLeaseKeepAlive = "/etcdserverpb.Lease/LeaseKeepAlive";
inline constexpr const char* kStatus = "/etcdserverpb.Maintenance/Status";
inline constexpr const char* kAlarm = "/etcdserverpb.Maintenance/Alarm";
inline constexpr const char* kMemberList = "/etcdserverpb.Cluster/MemberList";
inline constexpr const char* kAuthenticate = "/etcdserverpb.Auth/Authenticate";
inline constexpr const char* kWatch = "/etcdserverpb.Watch/Watch";

// Does the server's refusal have these words?
bool says(const Answer& answer, std::string_view words);
bool is_ok(const Answer& answer);

// Of an answer that is not ok. `from` is the endpoint's name.
Error to_error(const Answer& answer, const std::string& from);

// The token of the address's user. store_unavailable: it is refused. invalid_input: the file of the
// password cannot be used. The message never repeats a password.
Result<std::string> authenticate(Link& link, const Address& address, Deadline until);

}  // namespace lockkeeper::kv::etcd
