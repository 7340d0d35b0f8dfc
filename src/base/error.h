// The closed set of outcomes that are not success, shared by every door: the same code in the exit
// status, in JSON, over MCP and HTTP. Expected refusals (held, deadlock, …) are values of their own
// in core; they become an Error only at a door.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace lockkeeper {

enum class Code {
  kFailed,
  kUsage,
  kInvalidResource,
  kInvalidInput,
  kNotFound,
  kStoreBusy,
  kStoreUnavailable,
  kStoreCorrupt,
  kNoSpace,
  kUnknown,
  kLimitExceeded,
  kHeld,
  kDeadlock,
  kOperationNotPermitted,
  kNotOwner,
  kInvalidConfig,
  kLost,
  kTimeout,
};

// The word used in JSON, e.g. "store_busy".
std::string_view code_name(Code code);

// The process's exit status for this code (sysexits where one fits; never 2, which coding agents
// read as "block").
int exit_status(Code code);

struct Error {
  Code code = Code::kFailed;
  std::string message;  // names the thing and the value
  std::string hint;     // one thing to do next; may be empty
};

template <class T>
using Result = std::expected<T, Error>;

// `return fail(Code::kNotFound, "no lease …", "…");` in any function that returns a Result.
inline std::unexpected<Error> fail(Code code, std::string message, std::string hint = {}) {
  return std::unexpected<Error>(Error{code, std::move(message), std::move(hint)});
}

// `return fail(std::move(r.error()))`: passes an error up unchanged.
inline std::unexpected<Error> fail(Error error) {
  return std::unexpected<Error>(std::move(error));
}

// "what: strerror(errno_value)"; ENOSPC and EDQUOT become kNoSpace, the rest `fallback`.
Error errno_error(int errno_value, std::string_view what, Code fallback = Code::kStoreUnavailable);

}  // namespace lockkeeper

// `LK_ASSIGN(auto row, txn.get(key));` and `LK_CHECK(txn.put(key, value));` pass an error up. The
// one control-flow macro pair of the house: std::expected has no operator for it.
// NOLINTBEGIN(bugprone-macro-parentheses): a declaration cannot stand in parentheses.
#define LK_CONCAT_IMPL(a, b) a##b
#define LK_CONCAT(a, b) LK_CONCAT_IMPL(a, b)
#define LK_ASSIGN_IMPL(result, declaration, expression)              \
  auto result = (expression);                                        \
  if (!result) return ::lockkeeper::fail(std::move(result.error())); \
  declaration = std::move(*result)
#define LK_ASSIGN(declaration, expression) \
  LK_ASSIGN_IMPL(LK_CONCAT(lk_result_, __COUNTER__), declaration, expression)
#define LK_CHECK_IMPL(result, expression) \
  if (auto result = (expression); !result) return ::lockkeeper::fail(std::move(result.error()))
#define LK_CHECK(expression) LK_CHECK_IMPL(LK_CONCAT(lk_check_, __COUNTER__), expression)
// NOLINTEND(bugprone-macro-parentheses)
