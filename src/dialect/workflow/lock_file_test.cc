#include "dialect/workflow/lock_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <ctime>

namespace lockkeeper::dialect::workflow {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kHalfPastThree = 1'768'663'800'000;  // 2026-01-17T15:30:00Z
constexpr std::int64_t kHourMs = 3'600'000;

// The workflow protocol's own example.
constexpr std::string_view kDocumented = R"({
  "agent": "frontend-developer",
  "locked_at": "2026-01-17T15:30:00Z",
  "files": [
    "src/components/Asset/AssetTable.tsx",
    "src/components/Asset/AssetRow.tsx",
    "src/components/Asset/index.ts"
  ],
  "directories": ["src/components/Asset/"],
  "task_description": "Implement asset table with virtualization",
  "expires_at": "2026-01-17T16:30:00Z"
}
)";

core::Lease lease_of(std::vector<std::string> texts) {
  core::Lease lease;
  lease.id.bytes = std::string("agntsess") + std::string("\x01\x02\x03\x04\x1a\x2b\x3c\x4d", 8);
  lease.owner.agent = "frontend-developer";
  for (const std::string& text : texts) {
    lease.claims.push_back({key::parse(text, {})->resource, core::Mode::kExclusive, 0});
  }
  lease.acquired_wall_ms = kHalfPastThree + 1;
  lease.expires_wall_ms = kHalfPastThree + kHourMs + 1;
  return lease;
}

std::string why_not(std::string_view bytes) {
  const auto parsed = parse_lock_file(bytes);
  EXPECT_FALSE(parsed) << bytes;
  if (parsed) return {};
  EXPECT_EQ(parsed.error().code, Code::kInvalidInput);
  return parsed.error().message;
}

TEST(LockFile, ReadsTheDocumentsExample) {
  const auto lock = parse_lock_file(kDocumented);
  ASSERT_TRUE(lock) << lock.error().message;
  EXPECT_EQ(lock->agent, "frontend-developer");
  EXPECT_EQ(lock->locked_at_ms, kHalfPastThree);
  EXPECT_EQ(lock->expires_at_ms, kHalfPastThree + kHourMs);
  EXPECT_EQ(lock->files.size(), 3U);
  EXPECT_THAT(lock->directories, ElementsAre("src/components/Asset/"));
  EXPECT_EQ(lock->task_description, "Implement asset table with virtualization");
}

TEST(LockFile, GoldenWholeFile) {
  core::Lease lease = lease_of({"src/shared/Button.tsx", "src/components/Asset/", "api:GET /v1/x"});
  lease.terms.reason = "Implement \"asset\" table";
  std::vector<std::string> unmirrored;
  EXPECT_EQ(render(lock_file_of(lease, &unmirrored)), R"({
  "agent": "frontend-developer",
  "locked_at": "2026-01-17T15:30:00Z",
  "files": [
    "src/shared/Button.tsx"
  ],
  "directories": [
    "src/components/Asset/"
  ],
  "task_description": "Implement \"asset\" table",
  "expires_at": "2026-01-17T16:30:01Z"
}
)");
  EXPECT_THAT(unmirrored, ElementsAre("api:GET /v1/x"));
}

TEST(LockFile, GoldenShortFileLeavesOutWhatIsOptional) {
  EXPECT_EQ(render(lock_file_of(lease_of({"src/a.ts"}))), R"({
  "agent": "frontend-developer",
  "locked_at": "2026-01-17T15:30:00Z",
  "files": [
    "src/a.ts"
  ],
  "expires_at": "2026-01-17T16:30:01Z"
}
)");
  EXPECT_THAT(render(lock_file_of(lease_of({"src/"}))), HasSubstr("\"files\": [],\n"));
}

TEST(LockFile, I6_TheEndIsRoundedUpAndAnEndlessLeaseEndsFarAway) {
  core::Lease lease = lease_of({"a"});
  lease.expires_wall_ms = kHalfPastThree;
  EXPECT_THAT(render(lock_file_of(lease)), HasSubstr("\"expires_at\": \"2026-01-17T15:30:00Z\""));
  lease.expires_wall_ms = kHalfPastThree + 1;
  EXPECT_THAT(render(lock_file_of(lease)), HasSubstr("\"expires_at\": \"2026-01-17T15:30:01Z\""));
  lease.expires_wall_ms = kNoEnd;
  EXPECT_THAT(render(lock_file_of(lease)), HasSubstr("\"expires_at\": \"9999-12-31T23:59:59Z\""));
}

TEST(LockFile, WhatIsWrittenIsReadAgainWithTheSameIdentity) {
  const LockFile written = lock_file_of(lease_of({"src/a.ts", "lib/", "src/\xc3\xa9.ts"}));
  const auto read = parse_lock_file(render(written));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->identity(), written.identity());
  EXPECT_EQ(read->full_identity(), written.full_identity());
}

TEST(LockFile, IdentitiesTellLocksApart) {
  const LockFile one = lock_file_of(lease_of({"a"}));
  LockFile later = one;
  later.locked_at_ms += 1000;
  EXPECT_NE(later.identity(), one.identity());
  LockFile renewed = one;
  renewed.expires_at_ms += kHourMs;
  EXPECT_EQ(renewed.full_identity(), one.full_identity());
  LockFile other_scope = one;
  other_scope.files = {"b"};
  EXPECT_EQ(other_scope.identity(), one.identity());
  EXPECT_NE(other_scope.full_identity(), one.full_identity());
  LockFile as_folder = one;
  std::swap(as_folder.files, as_folder.directories);
  EXPECT_NE(as_folder.full_identity(), one.full_identity());
}

TEST(LockFile, BadInputIsNamed) {
  const auto with = [](const std::string& agent, const std::string& files,
                       const std::string& more) {
    return R"({"agent":)" + agent + R"(,"locked_at":"2026-01-17T15:30:00Z","files":)" + files +
           R"(,"expires_at":"2026-01-17T16:30:00Z")" + more + "}";
  };
  EXPECT_TRUE(parse_lock_file(with("\"a\"", "[]", "")));
  EXPECT_TRUE(parse_lock_file(with("\"a\"", "[]", R"(,"extra":{"deep":[1,null]},"pid":7)")));
  EXPECT_TRUE(parse_lock_file(with("\"a\"", "[]", R"(,"directories":null)")));
  EXPECT_EQ(why_not(""), "it is empty");
  EXPECT_EQ(why_not(" \n"), "it is empty");
  EXPECT_EQ(why_not("{\"agent\": \"a\""), "it is not JSON");
  EXPECT_EQ(why_not(with("\"\xff\"", "[]", "")), "it is not JSON");
  EXPECT_EQ(why_not(std::string(100'000, '[')), "it is not JSON");
  EXPECT_EQ(why_not("[]"), "it is not a JSON object");
  EXPECT_EQ(why_not("{}"), "the field \"agent\" is missing");
  EXPECT_EQ(why_not(with("7", "[]", "")), "the field \"agent\" is not a string");
  EXPECT_EQ(why_not(with("\"\"", "[]", "")), "the field \"agent\" is empty");
  EXPECT_EQ(why_not(with("\"a\"", "null", "")), "the field \"files\" is missing");
  EXPECT_EQ(why_not(with("\"a\"", "\"a.ts\"", "")), "the field \"files\" is not a list of strings");
  EXPECT_EQ(why_not(with("\"a\"", "[\"a\",7]", "")),
            "the field \"files\" has an entry that is not a string");
  EXPECT_EQ(why_not(with("\"a\"", "[]", R"(,"directories":"src/")")),
            "the field \"directories\" is not a list of strings");
  EXPECT_EQ(why_not(with("\"a\"", "[]", R"(,"task_description":[])")),
            "the field \"task_description\" is not a string");
  EXPECT_EQ(why_not(R"({"agent":"a","locked_at":1768663800,"files":[],"expires_at":"x"})"),
            "the field \"locked_at\" is not a string");
  EXPECT_EQ(
      why_not(R"({"agent":"a","locked_at":"2026-01-17T15:30:00Z","files":[],"expires_at":"soon"})"),
      "the field \"expires_at\": the time \"soon\" is not of the form 2026-01-17T15:30:00Z");
  EXPECT_EQ(why_not(R"({"agent":"a","locked_at":"2026-01-17T15:30:00Z","files":[]})"),
            "the field \"expires_at\" is missing");
  std::string many = "[\"a\"";
  for (std::size_t i = 0; i < kLockFileEntriesMax; ++i) many += ",\"a\"";
  EXPECT_EQ(why_not(with("\"a\"", many + "]", "")),
            "the field \"files\" has more than 10000 entries");
}

TEST(LockFile, TimesOfOtherToolsAreRead) {
  for (const char* const text :
       {"2026-01-17T15:30:00Z", "2026-01-17T15:30:00.000Z", "2026-01-17T16:30:00+01:00",
        "2026-01-17T16:30:00+0100", "2026-01-17T16:30+01", "2026-01-17T10:00:00-05:30",
        "2026-01-17 15:30:00Z", "2026-01-17t15:30z", "20260117T153000Z", "20260117T1530Z",
        "2026-01-17T15:30:00,000Z", "2026-01-18T01:30:00+10:00"}) {
    const auto time = parse_iso_time(text);
    ASSERT_TRUE(time) << text;
    EXPECT_EQ(*time, kHalfPastThree) << text;
  }
  EXPECT_EQ(*parse_iso_time("2026-01-17T15:30:00.123456+00:00"), kHalfPastThree + 123);
  for (const char* const text :
       {"", "now", "1768663800", "2026-01-17", "2026-13-17T15:30:00Z", "2026-01-17T25:30:00Z",
        "2026-01-17T15:30:00Zulu", "2026-01-17T15:30:00+1", "2026-01-17T:Z", "T", "TZ"}) {
    EXPECT_FALSE(parse_iso_time(text)) << text;
  }
}

TEST(LockFile, I6_ATimeWithoutAZoneIsTheLaterOfLocalAndUtc) {
  const auto in_zone = [](const char* zone) {
    ::setenv("TZ", zone, 1);
    ::tzset();
    const std::int64_t time = parse_iso_time("2026-01-17T15:30:00").value_or(0);
    ::unsetenv("TZ");
    ::tzset();
    return time;
  };
  EXPECT_EQ(in_zone("UTC0"), kHalfPastThree);
  EXPECT_EQ(in_zone("WEST+5"), kHalfPastThree + 5 * kHourMs);  // five hours behind
  EXPECT_EQ(in_zone("EAST-3"), kHalfPastThree);
}

TEST(LockName, UnsafeNamesAreRefused) {
  for (const char* const good : {"frontend-developer", "a", "tool_dev.2", "M\xc3\xbcller"}) {
    EXPECT_TRUE(check_lock_name(good)) << good;
  }
  for (const std::string& bad :
       {std::string(), std::string("a/b"), std::string("../x"), std::string("."),
        std::string(".hidden"), std::string("-rf"), std::string("a\nb"), std::string("a\0b", 3),
        std::string("a\\b"), std::string("*"), std::string("a$b"), std::string("it's"),
        std::string(" a"), std::string("a\xff"), std::string(201, 'a'),
        std::string("frontend.lk-1a2b3c4d")}) {
    const auto checked = check_lock_name(bad);
    ASSERT_FALSE(checked) << bad;
    EXPECT_EQ(checked.error().code, Code::kInvalidInput);
    EXPECT_THAT(checked.error().message, HasSubstr("--agent"));
  }
}

TEST(LockName, MirrorsHaveHarmlessNamesOfTheirOwn) {
  core::Lease lease = lease_of({"a"});
  EXPECT_EQ(mirror_name(lease), "frontend-developer.lk-1a2b3c4d.lock");
  EXPECT_TRUE(is_mirror_name(mirror_name(lease)));
  lease.owner.agent = "../M\xc3\xbcller $HOME";
  EXPECT_EQ(mirror_name(lease), "_.-M--ller--HOME.lk-1a2b3c4d.lock");
  lease.owner.agent = std::string(300, 'x');
  EXPECT_EQ(mirror_name(lease).size(), 217U);
  EXPECT_FALSE(is_mirror_name("frontend-developer.lock"));
  EXPECT_FALSE(is_mirror_name(".lk-1a2b3c4d.lock"));
  EXPECT_FALSE(is_mirror_name("a.lk-1A2b3c4d.lock"));
}

}  // namespace
}  // namespace lockkeeper::dialect::workflow
