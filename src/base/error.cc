#include "base/error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/assert.h"

namespace lockkeeper {
namespace {

struct CodeRow {
  Code code;
  std::string_view name;
  int exit_status;
};

constexpr CodeRow kCodes[] = {
    {Code::kFailed, "failed", 1},
    {Code::kUsage, "usage", 64},
    {Code::kInvalidResource, "invalid_resource", 65},
    {Code::kInvalidInput, "invalid_input", 65},
    {Code::kNotFound, "not_found", 66},
    {Code::kStoreBusy, "store_busy", 69},
    {Code::kStoreUnavailable, "store_unavailable", 69},
    {Code::kStoreCorrupt, "store_corrupt", 69},
    {Code::kNoSpace, "no_space", 69},
    {Code::kUnknown, "unknown", 70},
    {Code::kLimitExceeded, "limit_exceeded", 73},
    {Code::kHeld, "held", 75},
    {Code::kDeadlock, "deadlock", 76},
    {Code::kOperationNotPermitted, "operation_not_permitted", 77},
    {Code::kNotOwner, "not_owner", 77},
    {Code::kInvalidConfig, "invalid_config", 78},
    {Code::kLost, "lost", 79},
    {Code::kTimeout, "timeout", 124},
};

const CodeRow& row(Code code) {
  const auto index = static_cast<std::size_t>(code);
  LOCKKEEPER_ASSERT(index < std::size(kCodes));
  LOCKKEEPER_ASSERT(kCodes[index].code == code);
  return kCodes[index];
}

}  // namespace

std::string_view code_name(Code code) {
  return row(code).name;
}

std::optional<Code> code_from_name(std::string_view name) {
  const auto* const found = std::ranges::find(kCodes, name, &CodeRow::name);
  return found == std::end(kCodes) ? std::nullopt : std::optional(found->code);
}

int exit_status(Code code) {
  return row(code).exit_status;
}

Error errno_error(int errno_value, std::string_view what, Code fallback) {
  const bool full = errno_value == ENOSPC || errno_value == EDQUOT;
  std::string message(what);
  message += ": ";
  message += std::strerror(errno_value);
  return Error{full ? Code::kNoSpace : fallback, std::move(message),
               full ? "free some disk space and try again; nothing was granted" : ""};
}

}  // namespace lockkeeper
