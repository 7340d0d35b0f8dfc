#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>

#include "base/assert.h"

namespace lockkeeper {
namespace {

TEST(Codes, names_and_exit_statuses_never_change) {
  struct Row {
    Code code;
    const char* name;
    int status;
  };
  constexpr Row kCodes[] = {{Code::kFailed, "failed", 1},
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
                            {Code::kTimeout, "timeout", 124}};
  std::set<std::string> names;
  for (const Row& row : kCodes) {
    EXPECT_EQ(code_name(row.code), row.name);
    EXPECT_EQ(exit_status(row.code), row.status);
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(Code::kTimeout) + 1) << "a code has no row here";
}

TEST(Errors, a_full_disk_is_no_space_whatever_the_fallback) {
  for (const int full : {ENOSPC, EDQUOT}) {
    const Error error = errno_error(full, "data.mdb", Code::kFailed);
    EXPECT_EQ(error.code, Code::kNoSpace);
    EXPECT_FALSE(error.hint.empty());
  }
  const Error other = errno_error(EACCES, "data.mdb", Code::kFailed);
  EXPECT_EQ(other.code, Code::kFailed);
  EXPECT_EQ(other.message, "data.mdb: Permission denied");
}

TEST(Errors, pass_through_a_result_unchanged) {
  const auto inner = []() -> Result<int> { return fail(Code::kHeld, "m", "h"); };
  const auto outer = [&]() -> Result<std::string> { return fail(inner().error()); };
  const auto result = outer();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kHeld);
  EXPECT_EQ(result.error().message, "m");
  EXPECT_EQ(result.error().hint, "h");
}

TEST(AssertDeathTest, prints_the_condition_and_the_place_and_aborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(LOCKKEEPER_ASSERT(1 + 1 == 3), "assertion failed: 1 \\+ 1 == 3 .*error_test.cc:");
  LOCKKEEPER_ASSERT(1 + 1 == 2);
}

}  // namespace
}  // namespace lockkeeper
