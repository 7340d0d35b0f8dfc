#include "dialect/coordinator/coordinator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "service/local/test_site.h"

namespace lockkeeper::dialect::coordinator {
namespace {

using service::Json;
using testing::HasSubstr;

struct Caller {
  std::string agent;
  std::string session;
  std::string type = "claude_code";
};

class CoordinatorTest : public testing::Test {
 protected:
  AcquireResult acquire(const Caller& who, const AcquireLock& wanted) {
    service::Locks locks(*site_, {who.agent, who.session});
    return Coordinator(locks, who.type).acquire_lock(wanted);
  }
  AcquireResult acquire(const Caller& who, const std::string& path) {
    return acquire(who, AcquireLock{path, "", std::nullopt});
  }
  ReleaseResult release(const Caller& who, const std::string& path) {
    service::Locks locks(*site_, {who.agent, who.session});
    return Coordinator(locks, who.type).release_lock(path);
  }
  CheckResult check(const std::optional<std::vector<std::string>>& paths,
                    const Caller& who = {"looker", ""}) {
    service::Locks locks(*site_, {who.agent, who.session});
    return Coordinator(locks, who.type).check_locks(paths);
  }
  void native(const std::string& agent, const std::string& resource,
              core::Mode mode = core::Mode::kExclusive) {
    service::Locks locks(*site_, {agent, ""});
    service::AcquireCommand command;
    command.wanted.texts = {resource};
    command.wanted.mode = mode;
    command.terms.reason = "native";
    const auto result = locks.acquire(command);
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_EQ(result->outcome, core::Outcome::kGranted);
  }
  std::vector<std::string> names(const Json& json) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : json.items()) keys.push_back(key);
    return keys;
  }

  service::TestSite realm_;
  std::unique_ptr<service::Site> site_ = realm_.site();
  const Caller ann_{"ann", "s1", "codex"};
  const Caller bob_{"bob", ""};
};

TEST_F(CoordinatorTest, AcquiredRefreshedLockedByOtherReleased) {
  const AcquireResult first = acquire(ann_, {"src/a.py", "JWT", 60});
  EXPECT_TRUE(first.success);
  EXPECT_EQ(first.action, "acquired");
  EXPECT_EQ(first.file_path, "src/a.py");
  EXPECT_EQ(first.reason, "");
  const AcquireResult again = acquire(ann_, {"src/a.py", "", 60});
  EXPECT_EQ(again.action, "refreshed");
  EXPECT_EQ(again.fence, first.fence);

  const AcquireResult other = acquire(bob_, "src/a.py");
  EXPECT_FALSE(other.success);
  EXPECT_EQ(other.reason, "locked_by_other");
  const Json json = to_json(other);
  EXPECT_EQ(names(json),
            (std::vector<std::string>{"success", "action", "file_path", "expires_at", "reason",
                                      "locked_by", "agent_type", "locked_at", "lock_reason",
                                      "locked_path", "session_id", "error"}));
  EXPECT_EQ(json["action"], Json());
  EXPECT_EQ(json["file_path"], Json());
  EXPECT_EQ(json["expires_at"], to_json(again)["expires_at"]) << "the holder's";
  EXPECT_EQ(json["locked_by"], "ann");
  EXPECT_EQ(json["agent_type"], "codex");
  EXPECT_EQ(json["lock_reason"], "JWT");
  EXPECT_EQ(json["error"]["code"], "held");

  EXPECT_EQ(release(bob_, "src/a.py").reason, "lock_not_found_or_not_owner");
  const ReleaseResult released = release(ann_, "src/a.py");
  EXPECT_EQ(service::dump(to_json(released)),
            R"({"success":true,"action":"released","file_path":"src/a.py","reason":null})");
  EXPECT_TRUE(acquire(bob_, "src/a.py").success);
}

TEST_F(CoordinatorTest, SuccessHasTheOriginalsFieldsWithNullsAndTheFence) {
  const Json json = to_json(acquire(ann_, "src/a.py"));
  EXPECT_EQ(names(json), (std::vector<std::string>{"success", "action", "file_path", "expires_at",
                                                   "reason", "locked_by", "lock_reason", "fence"}));
  EXPECT_TRUE(json["reason"].is_null());
  EXPECT_TRUE(json["locked_by"].is_null());
}

TEST_F(CoordinatorTest, TtlIsOneTo480MinutesAndNothingElse) {
  for (const std::int64_t bad : {0L, -1L, 481L, INT64_MAX, INT64_MIN}) {
    const AcquireResult refused = acquire(ann_, {"src/a.py", "", bad});
    EXPECT_EQ(refused.reason, "ttl_out_of_range") << bad;
    EXPECT_EQ(refused.error->code, Code::kInvalidInput);
    EXPECT_THAT(refused.error->message, HasSubstr("1 to 480"));
  }
  EXPECT_EQ(check(std::nullopt).locks.size(), 0U) << "0 is not the default";
  const std::int64_t now = realm_.clock.now().wall_ms;
  EXPECT_NEAR(double(acquire(ann_, "a").expires_at_ms - now), 120.0 * 60'000, 60'000);
  EXPECT_NEAR(double(acquire(ann_, {"b", "", 1}).expires_at_ms - now), 60'000.0, 30'000);
  EXPECT_NEAR(double(acquire(ann_, {"c", "", 480}).expires_at_ms - now), 480.0 * 60'000, 60'000);
}

TEST_F(CoordinatorTest, I6_ARefreshNeverShortensAndWhatLapsedIsAcquiredAnew) {
  const AcquireResult longer = acquire(ann_, {"a", "", 480});
  EXPECT_EQ(acquire(ann_, {"a", "", 1}).expires_at_ms, longer.expires_at_ms);
  realm_.clock.ahead_ms = 479 * 60'000;
  EXPECT_EQ(acquire(bob_, "a").reason, "locked_by_other");
  realm_.clock.ahead_ms = 481 * 60'000;
  const AcquireResult anew = acquire(ann_, "a");
  EXPECT_EQ(anew.action, "acquired") << "not refreshed: it had been lost meanwhile";
  EXPECT_NE(anew.fence, longer.fence);
}

TEST_F(CoordinatorTest, WhatLapsedCannotBeReleasedAndItsOwnerIsTold) {
  ASSERT_TRUE(acquire(ann_, {"a", "", 1}).success);
  realm_.clock.ahead_ms = 61'000;
  const AcquireResult taken = acquire(bob_, "a");
  EXPECT_EQ(taken.action, "acquired");
  const ReleaseResult late = release(ann_, "a");
  EXPECT_EQ(late.reason, "lock_not_found_or_not_owner");
  EXPECT_EQ(late.error->code, Code::kNotOwner);
  ASSERT_TRUE(late.holder);
  EXPECT_EQ(late.holder->locked_by, "bob");
  ASSERT_TRUE(release(bob_, "a").success);
  const ReleaseResult nobody = release(ann_, "a");
  EXPECT_EQ(nobody.reason, "lock_not_found_or_not_owner");
  EXPECT_EQ(nobody.error->code, Code::kNotFound);
  ASSERT_EQ(nobody.lost.size(), 1U);
  EXPECT_EQ(nobody.lost[0].cause, "expired");
}

TEST_F(CoordinatorTest, I1_TwoSessionsOfOneAgentExcludeEachOther) {
  ASSERT_TRUE(acquire({"claude-code-1", "s1"}, "src/a.py").success);
  const AcquireResult second = acquire({"claude-code-1", "s2"}, "src/a.py");
  EXPECT_EQ(second.reason, "locked_by_other");
  EXPECT_EQ(to_json(second)["session_id"], "s1");
  EXPECT_FALSE(release({"claude-code-1", "s2"}, "src/a.py").success);
  EXPECT_TRUE(release({"claude-code-1", "s1"}, "src/a.py").success) << "also after a restart";
}

TEST_F(CoordinatorTest, OverlapIsExactSoAFolderOrGlobMayBeWhatStandsInTheWay) {
  native("nina", "src/api/");
  AcquireResult refused = acquire(bob_, "src/api/users.py");
  ASSERT_TRUE(refused.holder);
  EXPECT_EQ(to_json(refused)["locked_path"], "src/api/");
  EXPECT_EQ(to_json(refused)["agent_type"], "unknown");
  EXPECT_EQ(acquire(bob_, "src/**/*.py").reason, "locked_by_other");
  EXPECT_TRUE(acquire(bob_, "src/web/**").success);
  refused = acquire(ann_, "src\\web\\x.ts");
  EXPECT_EQ(to_json(refused)["locked_path"], "src/web/**");
  EXPECT_TRUE(acquire(bob_, "./src//other/../z.py").success);
  EXPECT_EQ(acquire(ann_, "src/z.py").reason, "locked_by_other") << "one name, one lock";
}

TEST_F(CoordinatorTest, KeysAreCanonicalAndUnknownPrefixesNotPermitted) {
  EXPECT_EQ(acquire(ann_, "api:get  /v1//users").file_path, "api:GET /v1/users");
  EXPECT_EQ(acquire(bob_, "api:GET /v1/users").reason, "locked_by_other");
  const AcquireResult unknown = acquire(bob_, "queue:jobs");
  EXPECT_EQ(unknown.reason, "operation_not_permitted");
  EXPECT_THAT(unknown.error->message, HasSubstr("api: contract: db: env: event: feature: flag:"));
  EXPECT_EQ(acquire(bob_, "db:users").reason, "invalid_file_path");
  EXPECT_THAT(acquire(bob_, "env:5432").error->message, HasSubstr("lockkeeper ports"));
}

TEST_F(CoordinatorTest, PolicyIsHeeded) {
  realm_.files.write("repo/lockkeeper.toml",
                     "[[policy]]\nagents = [\"bob\"]\nallow = [\"src/\"]\n");
  site_ = realm_.site();
  EXPECT_TRUE(acquire(bob_, "src/a.py").success);
  const AcquireResult refused = acquire(bob_, "docs/a.md");
  EXPECT_EQ(refused.reason, "operation_not_permitted");
  EXPECT_THAT(refused.error->message, HasSubstr("lockkeeper.toml:1"));
}

TEST_F(CoordinatorTest, TheDefaultLengthBowsToTheRealmsLongestAnAskedForOneDoesNot) {
  realm_.files.write("repo/lockkeeper.toml", "[lease]\nlongest = \"1h\"\n");
  site_ = realm_.site();
  const std::int64_t now = realm_.clock.now().wall_ms;
  EXPECT_NEAR(double(acquire(ann_, "a").expires_at_ms - now), 60.0 * 60'000, 60'000);
  EXPECT_EQ(acquire(ann_, {"b", "", 120}).reason, "limit_exceeded");
}

TEST_F(CoordinatorTest, BadPathsAndNames) {
  EXPECT_EQ(acquire(ann_, "").reason, "invalid_file_path");
  EXPECT_EQ(acquire({"", ""}, "a").reason, "invalid_agent_id");
  EXPECT_EQ(acquire({"a\nb", ""}, "a").reason, "invalid_agent_id");
  EXPECT_EQ(acquire({"a", "", "\x1b[2J"}, "a").reason, "invalid_agent_id");
  for (const std::string& bad :
       {std::string("../../etc/passwd"), std::string("/etc/passwd"), std::string("a\0b", 3),
        std::string("\xff"), std::string("src/\x1b[2J"), std::string("src/a.py "),
        std::string(".git/lockkeeper/gate"), std::string("C:\\x")}) {
    EXPECT_EQ(acquire(ann_, bad).reason, "invalid_file_path") << bad;
    EXPECT_EQ(release(ann_, bad).reason, "invalid_file_path") << bad;
    const CheckResult looked = check(std::vector<std::string>{"fine", bad});
    ASSERT_TRUE(looked.error) << bad << ": cannot tell is not unlocked";
  }
  EXPECT_EQ(acquire(ann_, std::string(70'000, 'x')).reason, "limit_exceeded");
  EXPECT_EQ(acquire(ann_, {"a", std::string(5'000, 'r'), {}}).reason, "limit_exceeded");
  EXPECT_EQ(check(std::nullopt).locks.size(), 0U);
}

TEST_F(CoordinatorTest, OddKeysAreJustKeys) {
  for (const char* const odd : {"a&b,c=d", "123", "true", "null", "-1", "a'b\"c", "x;rm -rf"}) {
    EXPECT_EQ(acquire(ann_, odd).action, "acquired") << odd;
    EXPECT_EQ(acquire(bob_, odd).reason, "locked_by_other") << odd;
    const CheckResult looked = check(std::vector<std::string>{odd});
    ASSERT_EQ(looked.locks.size(), 1U) << odd;
    EXPECT_EQ(looked.locks[0].file_path, odd);
  }
  EXPECT_TRUE(check(std::vector<std::string>{"1", "b", "c=d", "tru"}).locks.empty());
}

TEST_F(CoordinatorTest, CheckListsNewestFirstOwnAndOthersWhatOverlaps) {
  native("nina", "docs/", core::Mode::kShared);
  realm_.clock.ahead_ms = 10;
  ASSERT_TRUE(acquire(ann_, "src/a.py").success);
  realm_.clock.ahead_ms = 20;
  ASSERT_TRUE(acquire(bob_, "src/b.py").success);
  const CheckResult all = check(std::nullopt, bob_);
  ASSERT_EQ(all.locks.size(), 3U);
  EXPECT_EQ(all.locks[0].file_path, "src/b.py");
  EXPECT_TRUE(all.locks[0].mine);
  EXPECT_EQ(all.locks[2].file_path, "docs/");
  EXPECT_EQ(all.locks[2].mode, core::Mode::kShared);
  const CheckResult some = check(std::vector<std::string>{"src/", "docs/x.md", "src/a.py"}, bob_);
  EXPECT_EQ(some.locks.size(), 3U) << "each once";
  EXPECT_EQ(check(std::vector<std::string>{"web/"}).locks.size(), 0U);
  const Json envelope = to_envelope(all);
  EXPECT_EQ(names(envelope),
            (std::vector<std::string>{"count", "truncated", "items", "next_steps"}));
  EXPECT_EQ(envelope["count"], 3);
  EXPECT_EQ(
      names(envelope["items"][1]),
      (std::vector<std::string>{"file_path", "locked_by", "agent_type", "locked_at", "expires_at",
                                "reason", "session_id", "mode", "fence", "mine"}));
  realm_.clock.ahead_ms = 500 * 60'000;
  EXPECT_EQ(check(std::nullopt).locks.size(), 0U) << "what is over is not listed";
}

TEST_F(CoordinatorTest, D10_AnEmptyListOfPathsMeansAllLocks) {
  ASSERT_TRUE(acquire(ann_, "src/a.py").success);
  ASSERT_TRUE(acquire(bob_, "src/b.py").success);
  EXPECT_EQ(check(std::vector<std::string>{}).locks.size(), 2U);
  EXPECT_EQ(check(std::nullopt).locks.size(), 2U);
}

TEST_F(CoordinatorTest, WithoutAStoreNothingIsLockedAndNothingIsMade) {
  EXPECT_TRUE(check(std::nullopt).locks.empty());
  EXPECT_TRUE(check(std::vector<std::string>{"a"}).locks.empty());
  EXPECT_FALSE(std::filesystem::exists(realm_.realm.store_folder));
}

TEST_F(CoordinatorTest, NativeAgentsHaveTheTypeOfTheirName) {
  native("claude-code", "a");
  native("gemini", "b");
  EXPECT_EQ(check(std::vector<std::string>{"a"}).locks.at(0).agent_type, "claude_code");
  EXPECT_EQ(check(std::vector<std::string>{"b"}).locks.at(0).agent_type, "gemini");
}

}  // namespace
}  // namespace lockkeeper::dialect::coordinator
