// F19: the program in another time namespace, in other mount namespaces, as a user without
// permission: it works as if it were here, or refuses with the reason; a lock that is held is never
// called free (I6, I10).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "chaos/faults/fault_stage.h"
#include "chaos/faults/namespaces.h"

namespace lockkeeper::faults {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

class F19Elsewhere : public testing::Test {
 protected:
  void SetUp() override { stage_.expect(0, "ann", {"acquire", "a"}); }

  // The program behind another that changes where it is.
  Answer behind(Words before, Words words) {
    words.insert(words.begin() + 1, "--json");
    before.push_back(Stage::program());
    before.insert(before.end(), words.begin(), words.end());
    Launch launch = stage_.command(before);
    launch.env["LOCKKEEPER_AGENT"] = "bob";
    return stage_.finish(std::move(launch));
  }

  void expect_refused(const Words& before, const std::string& reason) {
    for (const Words& words :
         std::vector<Words>{{"acquire", "b"}, {"check", "a"}, {"release", "a"}, {"list"}}) {
      const Answer refused = behind(before, words);
      expect_named(refused);
      EXPECT_THAT(refused.out, HasSubstr(reason)) << words[0];
      EXPECT_NE(code_of(refused), "held");
    }
    stage_.expect(75, "bob", {"check", "a"});
    EXPECT_EQ(stage_.list()["leases"].size(), 1U);
  }

  FaultStage stage_;
};

TEST_F(F19Elsewhere, F19_I6_I10_AnotherTimeNamespaceIsRefused) {
  const Words shifted{"unshare", "--fork", "--time", "--monotonic", "100000"};
  if (stage_.finish(stage_.command({"unshare", "--fork", "--time", "true"})).status != 0) {
    GTEST_SKIP() << "no time namespaces, or no right to them";
  }
  expect_refused(shifted, "time namespace");
  expect_refused({"unshare", "--fork", "--time"}, "time namespace");
}

TEST_F(F19Elsewhere, F19_I1_TheSameRepositoryMountedElsewhereIsTheSameRealm) {
  if (const std::string why = own_mounts(); !why.empty()) GTEST_SKIP() << why;
  const std::string other = stage_.path("mounted");
  const Words before{"unshare",
                     "-m",
                     "sh",
                     "-c",
                     "mkdir -p \"$0\" && mount --bind \"$1\" \"$0\" && cd \"$0\" && shift && "
                     "exec \"$@\"",
                     other,
                     stage_.repo()};
  EXPECT_EQ(behind(before, {"check", "a"}).status, 75);
  EXPECT_EQ(behind(before, {"acquire", "a"}).status, 75);
  const Answer taken = behind(before, {"acquire", "b"});
  EXPECT_EQ(taken.status, 0) << taken.all();
  stage_.expect(75, "cat", {"acquire", "b"});
  stage_.expect(0, "", {"doctor"});
}

TEST_F(F19Elsewhere, F19_I10_WithoutProcNobodyCanTellTheBootAndItIsRefused) {
  if (const std::string why = own_mounts(); !why.empty()) GTEST_SKIP() << why;
  const Words before{"unshare", "-m", "sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh"};
  expect_refused(before, "/proc");
}

TEST_F(F19Elsewhere, F19_F14_I10_AReadOnlyMountIsReadAndNotWritten) {
  if (const std::string why = own_mounts(); !why.empty()) GTEST_SKIP() << why;
  const Words before{"unshare",
                     "-m",
                     "sh",
                     "-c",
                     "mount --bind . . && mount -o remount,bind,ro . && cd \"$PWD\" && exec \"$@\"",
                     "sh"};
  EXPECT_EQ(behind(before, {"check", "a"}).status, 75);
  EXPECT_EQ(behind(before, {"check", "b"}).status, 0);
  const Answer refused = behind(before, {"acquire", "b"});
  EXPECT_EQ(code_of(refused), "store_unavailable") << refused.all();
  EXPECT_THAT(refused.out, AnyOf(HasSubstr("read-only"), HasSubstr("cannot be written")));
  stage_.expect(0, "bob", {"acquire", "b"});
}

TEST_F(F19Elsewhere, F19_I10_AUserWithoutPermissionIsToldWhoseItIs) {
  constexpr uid_t kNobody = 65'534;
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  for (const char* name : {"", "repo", "repo/.git", "words"}) {
    ASSERT_EQ(::chmod(stage_.path(name).c_str(), 0777), 0);
  }
  stage_.env["XDG_STATE_HOME"] = stage_.path("words");
  for (const Words& words : std::vector<Words>{
           {"acquire", "--json", "b"}, {"check", "--json", "a"}, {"list", "--json"}}) {
    Launch launch = stage_.launch("mallory", words);
    launch.uid = kNobody;
    const Answer refused = stage_.finish(std::move(launch));
    EXPECT_EQ(code_of(refused), "store_unavailable") << refused.all();
    EXPECT_THAT(refused.out, HasSubstr("65534"));
  }
}

}  // namespace
}  // namespace lockkeeper::faults
