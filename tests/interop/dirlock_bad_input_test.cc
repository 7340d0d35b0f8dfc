// What may stand in a lock file's place, and folders that are not as they should be: a clear
// answer, nothing lost, nothing written outside, nothing removed that is not ours to remove.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "interop/dirlock_scene.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class DirLockBadInput : public DirLockScene {
 protected:
  void expect_nothing_held() { EXPECT_EQ(stage_.list()["leases"].size(), 0U); }
};

TEST_F(DirLockBadInput, UsageIsRefusedBeforeAnythingIsTouched) {
  for (const char* bad : {"abc", "-1", "", "1e2", "NaN", "inf", "20m", "0x10", " 20"}) {
    const Answer answer = guarded("true", {"--stale-timeout=" + std::string(bad)});
    EXPECT_EQ(answer.status, 64) << bad << answer.err;
    EXPECT_THAT(answer.err, HasSubstr("not a number of minutes"));
  }
  EXPECT_EQ(stage_.as("ann", {"guard"}).status, 64);
  EXPECT_EQ(stage_.as("ann", {"guard", "--"}).status, 64);
  EXPECT_EQ(guarded("true", {"--cwd", ""}).status, 64);
  EXPECT_EQ(guarded("true", {"--realm", "."}).status, 64);
  EXPECT_EQ(guarded("true", {"--cwd", "nowhere"}).status, 65);
  EXPECT_EQ(guarded("true", {"--cwd", "src/a.py"}).status, 65);
  EXPECT_EQ(guarded("true", {"--agents", "a\nb"}).status, 65);
  EXPECT_EQ(guarded("true", {"--json", "--stale-timeout", "x"}).json()["error"]["code"], "usage");
  EXPECT_TRUE(temp_is_empty());
}

// 1 is for a lock that somebody holds.
TEST_F(DirLockBadInput, WithoutProcItIsNotHeldButCannotBeUsed) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "ASan reads its options from /proc, and then looks for leaks there";
#endif
  stage_.env["LK"] = Stage::program();
  const auto without_proc = [&](const std::string& then) {
    return stage_.finish(
        stage_.command({"unshare", "-m", "sh", "-c", "mount -t tmpfs none /proc && " + then}));
  };
  if (without_proc("echo works").out != "works\n") GTEST_SKIP() << "no mounts here";
  const Answer refused = without_proc("\"$LK\" guard -- true");
  EXPECT_EQ(refused.status, 69) << refused.all();
  EXPECT_THAT(refused.err, HasSubstr("/proc"));
  EXPECT_TRUE(temp_is_empty());
}

TEST_F(DirLockBadInput, I10_AnOldFileThatMakesNoSenseIsInvalidAYoungOneIsHeld) {
  const std::vector<std::string> contents = {
      "",
      "\xff\xfe\x00",
      "[]",
      "{\"pid\":\"12\",\"cwd\":\"/x\"}",
      "{\"pid\":null}",
      "{\"pid\":1,\"cwd\":\"/elsewhere\",\"startTime\":\"2026-02-08T10:30:00.000Z\"}",
      std::string(30'000, '['),
  };
  for (const std::string& content : contents) {
    SCOPED_TRACE(content.substr(0, 40));
    write_text(lock(), content);
    EXPECT_EQ(guarded("true").status, 1);
    EXPECT_EQ(read_text(lock()), content);
    make_old(lock());
    const Answer taken = guarded("true");
    EXPECT_EQ(taken.status, 0) << taken.err;
    EXPECT_THAT(taken.err, HasSubstr("Invalid lock file found — removing"));
    EXPECT_TRUE(temp_is_empty());
  }
}

TEST_F(DirLockBadInput, MissingAndExtraFieldsDoNotConfuseIt) {
  Json json = Json::parse(record(::getpid()));
  json.erase("agents");
  json["more"] = {{"deep", Json::array()}};
  write_text(lock(), json.dump());
  const Answer held = guarded("true");
  EXPECT_EQ(held.status, 1);
  EXPECT_THAT(held.err, HasSubstr("   Agents: \n"));
  // A start that is no time: the file's own is taken, as for one in the future.
  for (const Json& start : {Json("yesterday"), Json(7), Json("9999-01-01T00:00:00.000Z"), Json()}) {
    SCOPED_TRACE(start.dump());
    json["startTime"] = start;
    json["hostname"] = "another";
    write_text(lock(), json.dump());
    EXPECT_EQ(guarded("true").status, 1);
    fs::last_write_time(lock(), fs::file_time_type::clock::now() - std::chrono::minutes(21));
    EXPECT_EQ(guarded("true").status, 0);
  }
  // Another zone is the same moment.
  json["startTime"] = "1999-12-31T23:00:00-01:00";
  write_text(lock(), json.dump());
  EXPECT_EQ(guarded("true").status, 0);
}

TEST_F(DirLockBadInput, I10_AHugeFileAFolderAPipeOrALinkIsLeftAlone) {
  const auto refused = [&] {
    const Answer answer = guarded("touch started");
    EXPECT_EQ(answer.status, 69) << answer.all();
    EXPECT_THAT(answer.err, HasSubstr(lock()));
    EXPECT_FALSE(exists(stage_.repo() + "/started"));
    EXPECT_EQ(guarded("true", {"--stale-timeout", "0"}).status, 69);
  };
  write_text(lock(), std::string(1 << 20, ' '));
  make_old(lock());
  refused();
  EXPECT_EQ(fs::file_size(lock()), 1U << 20);
  fs::remove(lock());

  fs::create_directory(lock());
  refused();
  EXPECT_TRUE(fs::is_directory(lock()));
  fs::remove(lock());

  ASSERT_EQ(::mkfifo(lock().c_str(), 0600), 0);
  refused();
  fs::remove(lock());

  write_text(stage_.path("victim"), "precious");
  fs::create_symlink(stage_.path("victim"), lock());
  refused();
  EXPECT_EQ(read_text(stage_.path("victim")), "precious");
  fs::remove(lock());
  fs::create_symlink(stage_.path("not-yet"), lock());
  refused();
  EXPECT_FALSE(exists(stage_.path("not-yet")));
  fs::remove(lock());
  expect_nothing_held();
  EXPECT_EQ(guarded("true").status, 0);
}

TEST_F(DirLockBadInput, AVanishedFolderForTemporaryFilesIsSaid) {
  fs::remove(temp());
  const Answer gone = guarded("touch started");
  EXPECT_EQ(gone.status, 69);
  EXPECT_THAT(gone.err, HasSubstr("the folder for temporary files"));
  EXPECT_FALSE(exists(stage_.repo() + "/started"));
  write_text(temp(), "no folder");
  EXPECT_EQ(guarded("true").status, 69);
  fs::remove(temp());
  fs::create_directory(temp());
  EXPECT_EQ(guarded("true").status, 0);
  // While it is held.
  Process ours = hold("go");
  ASSERT_TRUE(inside("go"));
  fs::remove_all(temp());
  EXPECT_EQ(ours.wait(), 79) << ours.err();
  fs::create_directory(temp());
}

TEST_F(DirLockBadInput, AReadOnlyFolderForTemporaryFilesIsSaidAndNothingIsHeld) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(temp()).parent_path())) {
    ASSERT_EQ(::lchown(entry.path().c_str(), 65534, 65534), 0);
  }
  fs::permissions(fs::path(temp()).parent_path(), fs::perms::all);
  fs::permissions(temp(), fs::perms::owner_read | fs::perms::owner_exec);
  Launch launch = stage_.launch("ann", guard("touch started"));
  launch.uid = 65534;
  const Answer answer = stage_.finish(std::move(launch));
  EXPECT_EQ(answer.status, 69) << answer.all();
  EXPECT_THAT(answer.err, HasSubstr("❌ [LOCK] Failed to create lock file: "));
  EXPECT_FALSE(exists(stage_.repo() + "/started"));
  fs::permissions(temp(), fs::perms::all);
  Launch again = stage_.launch("ann", guard("true"));
  again.uid = 65534;
  EXPECT_EQ(stage_.finish(std::move(again)).status, 0);
}

// Another user's lock in a sticky folder: its process is alive though we may not signal it, and its
// file is not ours to remove.
TEST_F(DirLockBadInput, I10_AnotherUsersLockIsNotStolen) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  write_text(lock(), record(::getpid()));  // root's
  const std::string before = read_text(lock());
  fs::permissions(fs::path(temp()).parent_path(), fs::perms::all);
  ASSERT_EQ(::chmod(temp().c_str(), 01777), 0);
  for (const char* name : {"repo", "home", "state", "words", "out"}) {
    ASSERT_EQ(::chown(stage_.path(name).c_str(), 65534, 65534), 0);
  }
  for (const auto& entry : fs::recursive_directory_iterator(stage_.path("repo"))) {
    ASSERT_EQ(::lchown(entry.path().c_str(), 65534, 65534), 0);
  }
  for (const char* timeout : {"20", "0"}) {
    Launch launch = stage_.launch("ann", guard("touch started", {"--stale-timeout", timeout}));
    launch.uid = 65534;
    const Answer answer = stage_.finish(std::move(launch));
    EXPECT_EQ(answer.status, std::string(timeout) == "0" ? 69 : 1) << answer.all();
    EXPECT_EQ(read_text(lock()), before);
  }
  EXPECT_FALSE(exists(stage_.repo() + "/started"));
}

// A foreign tool that was killed between its two steps.
TEST_F(DirLockBadInput, I10_AnEmptyFileBlocksNativeLocksAndSaysHowToGoOn) {
  stage_.expect(0, "", {"layout", "add", "dirlock", temp()});
  write_text(lock(), "");
  make_old(lock());
  const Answer blocked = stage_.expect(69, "bob", {"acquire", "src/a.py"});
  EXPECT_THAT(blocked.json()["error"]["message"].get<std::string>(), HasSubstr(lock()));
  EXPECT_THAT(blocked.json()["error"]["hint"].get<std::string>(), HasSubstr("layout ignore"));
  EXPECT_EQ(guarded("true").status, 0);  // a guard clears it
  stage_.expect(0, "bob", {"acquire", "src/a.py"});
}

TEST_F(DirLockBadInput, L1_ADeadHoldersFileBlocksNobody) {
  stage_.expect(0, "", {"layout", "add", "dirlock", temp()});
  write_text(lock(), record(kDead));
  stage_.expect(0, "bob", {"acquire", "src/a.py"});
  EXPECT_TRUE(exists(lock()));  // only a guard removes it
  stage_.expect(0, "bob", {"release", "src/a.py"});
  write_text(lock(), record(1, 30 * kMinute, "another"));
  stage_.expect(0, "bob", {"acquire", "src/a.py"});
  EXPECT_TRUE(exists(lock()));
}

}  // namespace
}  // namespace lockkeeper::stage
