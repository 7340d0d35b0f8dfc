// Errors inside the product. lockkeeper/error.h has the codes, which are public. Expected refusals
// (held, deadlock, …) are values in core; they become an Error only at the outside.
#pragma once

#include <lockkeeper/error.h>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace lockkeeper {

// The process's exit status for this code (sysexits where one fits; never 2, which coding agents
// read as "block").
int exit_status(Code code);

// The code with this name; nullopt: there is none.
std::optional<Code> code_from_name(std::string_view name);

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

// `LK_ASSIGN(auto row, txn.get(key));` and `LK_CHECK(txn.put(key, value));` pass an error up. These
// are our only control-flow macros: std::expected has no operator for it.
// NOLINTBEGIN(bugprone-macro-parentheses): a declaration cannot be in parentheses.
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
