#include "capi/border.h"

#include <algorithm>

#include "capi/handles.h"
#include "service/report.h"

namespace lockkeeper::capi {
namespace {

constexpr std::size_t kTextsMost = 1'000'000;  // far above the limit of a request
constexpr std::size_t kStructMost = 4'096;     // a larger one is not one of ours

// The numbers are the API's, so they never change; the codes are in the same order.
constexpr lockkeeper_status number_of(Code code) {
  return static_cast<lockkeeper_status>(static_cast<int>(code) + 1);
}
static_assert(number_of(Code::kFailed) == LOCKKEEPER_FAILED);
static_assert(number_of(Code::kUsage) == LOCKKEEPER_USAGE);
static_assert(number_of(Code::kInvalidResource) == LOCKKEEPER_INVALID_RESOURCE);
static_assert(number_of(Code::kInvalidInput) == LOCKKEEPER_INVALID_INPUT);
static_assert(number_of(Code::kNotFound) == LOCKKEEPER_NOT_FOUND);
static_assert(number_of(Code::kStoreBusy) == LOCKKEEPER_STORE_BUSY);
static_assert(number_of(Code::kStoreUnavailable) == LOCKKEEPER_STORE_UNAVAILABLE);
static_assert(number_of(Code::kStoreCorrupt) == LOCKKEEPER_STORE_CORRUPT);
static_assert(number_of(Code::kNoSpace) == LOCKKEEPER_NO_SPACE);
static_assert(number_of(Code::kUnknown) == LOCKKEEPER_UNKNOWN);
static_assert(number_of(Code::kLimitExceeded) == LOCKKEEPER_LIMIT_EXCEEDED);
static_assert(number_of(Code::kHeld) == LOCKKEEPER_HELD);
static_assert(number_of(Code::kDeadlock) == LOCKKEEPER_DEADLOCK);
static_assert(number_of(Code::kOperationNotPermitted) == LOCKKEEPER_OPERATION_NOT_PERMITTED);
static_assert(number_of(Code::kNotOwner) == LOCKKEEPER_NOT_OWNER);
static_assert(number_of(Code::kInvalidConfig) == LOCKKEEPER_INVALID_CONFIG);
static_assert(number_of(Code::kLost) == LOCKKEEPER_LOST);
static_assert(number_of(Code::kTimeout) == LOCKKEEPER_TIMEOUT);

// As the JSON has it: what is no UTF-8 in a name that the message tells of becomes U+FFFD.
std::string utf8(const std::string& text) {
  return Json::parse(service::dump(Json(text))).get<std::string>();
}

}  // namespace

lockkeeper_status status_of(Code code) {
  return number_of(code);
}

lockkeeper_status give(Result<Reply> reply, lockkeeper_answer** answer) noexcept {
  const Error* const error = !reply ? &reply.error() : reply->error ? &*reply->error : nullptr;
  const lockkeeper_status status = error == nullptr ? LOCKKEEPER_OK : status_of(error->code);
  if (answer == nullptr) return status;
  try {
    auto state = std::make_shared<AnswerState>();
    state->status = status;
    Json json = reply ? std::move(reply->json) : Json::object();
    if (error != nullptr) {
      json["error"] = service::error_json(*error);
      state->message = utf8(error->message);
      state->hint = utf8(error->hint);
    }
    state->json = service::dump(json);
    *answer = put<lockkeeper_answer>(state);
  } catch (...) {  // NOLINT(bugprone-empty-catch): no memory; the status is told all the same
  }
  return status;
}

Result<std::vector<std::string>> texts_of(const char* const* texts, std::size_t count,
                                          const char* name) {
  std::vector<std::string> list;
  if (count == 0) return list;
  if (texts == nullptr) {
    return fail(Code::kUsage,
                std::string(name) + " is NULL, and there should be " + std::to_string(count),
                "pass an array of that many texts");
  }
  if (count > kTextsMost) {
    return fail(Code::kLimitExceeded, std::to_string(count) + " " + name + " in one call",
                "at most " + std::to_string(kTextsMost) + " can be passed");
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (texts[i] == nullptr) {
      return fail(Code::kUsage, std::string(name) + "[" + std::to_string(i) + "] is NULL",
                  "pass as many texts as the count says");
    }
    list.emplace_back(texts[i]);
  }
  return list;
}

Result<std::optional<std::chrono::milliseconds>> duration_of(std::int64_t ms, const char* what) {
  using Duration = std::optional<std::chrono::milliseconds>;
  if (ms == 0) return Duration();
  if (ms == LOCKKEEPER_FOREVER) return Duration(kForever);
  if (ms < 0) {
    return fail(Code::kInvalidInput, std::string(what) + " is " + std::to_string(ms),
                "give milliseconds, 0 for the default, or LOCKKEEPER_FOREVER");
  }
  return Duration(ms);
}

Result<void> check_flags(std::uint64_t flags, std::uint64_t allowed) {
  if ((flags & ~allowed) == 0) return {};
  return fail(Code::kUsage,
              "flags has " + std::to_string(flags & ~allowed) + ", which means nothing here",
              "set flags to 0, or to what the options are documented with");
}

Result<void> read_sized(const void* given, std::size_t size, std::size_t least, void* to,
                        std::size_t known, const char* name) {
  if (size < least || size > kStructMost) {
    return fail(Code::kUsage, std::string(name) + ".struct_size is " + std::to_string(size),
                std::string("set it to sizeof(") + name + ")");
  }
  const auto* const bytes = static_cast<const unsigned char*>(given);
  if (size > known &&
      std::any_of(bytes + known, bytes + size, [](unsigned char c) { return c != 0; })) {
    return fail(Code::kUsage, std::string(name) + " has a field that this library does not know",
                "use the library of the version that the program was built for, or a newer one");
  }
  std::memcpy(to, given, std::min(size, known));
  return {};
}

}  // namespace lockkeeper::capi
