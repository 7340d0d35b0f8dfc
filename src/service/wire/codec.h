// Calls and replies of the lock service as JSON, both ways. Leases, conflicts, events and messages
// are the objects that the command line prints, with what it omits: the kind of each resource, the
// time that remains (clocks of two machines may differ), and what a lease was asked for.
//
// Thread safety: free functions; safe to call from any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/json.h"
#include "service/calls.h"
#include "service/edit_calls.h"
#include "service/replies.h"

namespace lockkeeper::service::wire {

// T: every call, every reply, Caller, Notices and Error. Times that remain count from now.
template <typename T>
Json to_json(const T& value, const Clock& clock);
// invalid_input names the first field that cannot be read. Fields that are absent or null have
// their default; unknown fields are ignored.
template <typename T>
Result<T> from_json(const Json& json, const Clock& clock);

// One line.
std::string line_of(const Json& json);
Result<Json> json_of(std::string_view line);

template <typename T>
std::string text_of(const T& value, const Clock& clock) {
  return line_of(to_json(value, clock));
}
template <typename T>
Result<T> from_text(std::string_view text, const Clock& clock) {
  LK_ASSIGN(const Json json, json_of(text));
  return from_json<T>(json, clock);
}

// Tells calls with one request id apart; 0 without a request id. What is to be told does not count.
template <typename Call>
std::uint64_t digest(Call call, const Clock& clock) {
  if (call.caller.request_id.empty()) return 0;
  call.caller.tell = {};
  return hash64(text_of(call, clock));
}

}  // namespace lockkeeper::service::wire
