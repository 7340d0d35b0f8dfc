// The workflow protocol's commands on our lock files, and its tools' lock files for us.
#include <gmock/gmock.h>

#include <chrono>

#include "interop/workflow_scene.h"

namespace lockkeeper::stage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class WorkflowInterop : public WorkflowScene {};

TEST_F(WorkflowInterop, TheDocumentsCommandsReadOurFiles) {
  workflow(0, "lock",
           {"--agent", "frontend-developer", "--file", "src/a.ts", "--dir", "src/components/Asset",
            "--task-description", "tables"});
  const Answer ends = sh("cat $OUTPUT/locks/*.lock | jq -r '.expires_at'");
  EXPECT_EQ(ends.status, 0) << ends.all();
  EXPECT_THAT(ends.out, testing::MatchesRegex("20..-..-..T..:..:..Z\n"));
  EXPECT_EQ(sh("jq -r 'keys_unsorted|join(\" \")' $OUTPUT/locks/frontend-developer.lock").out,
            "agent locked_at files directories task_description expires_at\n");
  EXPECT_EQ(sh("jq -r '.agent,.files[],.directories[],.task_description' "
               "$OUTPUT/locks/frontend-developer.lock")
                .out,
            "frontend-developer\nsrc/a.ts\nsrc/components/Asset/\ntables\n");
  EXPECT_EQ(sh("date -u -d \"$(jq -r .expires_at $OUTPUT/locks/*.lock)\" +%s").status, 0);
}

TEST_F(WorkflowInterop, RmOfALockReleasesIt) {
  workflow(0, "lock", {"--agent", "frontend", "--file", "src/a.ts"});
  stage_.expect(75, "bob", {"acquire", "src/a.ts"});
  EXPECT_EQ(sh("rm \"$OUTPUT/locks/frontend.lock\"").status, 0);
  stage_.expect(0, "bob", {"acquire", "src/a.ts"});
  ASSERT_EQ(events("released").size(), 1U);
  EXPECT_EQ(events("released")[0]["cause"], "artefact_removed");
  // And whoever held it is told at its next command.
  const Json told = workflow(0, "lock", {"--agent", "frontend", "--file", "src/b.ts"}).json();
  EXPECT_EQ(told["lost"][0]["cause"], "artefact_removed");
}

// The name was once held until somebody else had looked.
TEST_F(WorkflowInterop, RmOfALockFreesItsNameAtOnce) {
  workflow(0, "lock", {"--agent", "frontend", "--file", "src/a.ts"});
  EXPECT_EQ(sh("rm \"$OUTPUT/locks/frontend.lock\"").status, 0);
  workflow(0, "lock", {"--agent", "frontend", "--file", "src/b.ts"});
  EXPECT_EQ(sh("rm \"$OUTPUT/locks/frontend.lock\"").status, 0);
  workflow(66, "unlock", {"--agent", "frontend"});
  EXPECT_TRUE(stage_.list()["leases"].empty());
}

TEST_F(WorkflowInterop, RmRfOfTheFolderReleasesTheWorkflowButNoOthersLease) {
  workflow(0, "lock", {"--agent", "frontend", "--file", "src/a.ts"});
  workflow(0, "lock", {"--agent", "backend", "--dir", "server/"});
  stage_.expect(0, "bob", {"acquire", "lib/x"});
  ASSERT_EQ(lock_files().size(), 3U);
  EXPECT_EQ(sh("rm -rf \"$OUTPUT/locks\"").status, 0);
  stage_.expect(75, "cat", {"acquire", "lib/x"});
  stage_.expect(0, "cat", {"acquire", "src/a.ts", "server/main.go"});
  EXPECT_EQ(events("released").size(), 2U);
  EXPECT_EQ(events("shown_again").size(), 1U);
  EXPECT_THAT(lock_files(), ElementsAre(HasSubstr("bob.lk-"), HasSubstr("cat.lk-")));
}

TEST_F(WorkflowInterop, FindByAgeDeletesWhatWasNotRenewed) {
  workflow(0, "lock", {"--agent", "old", "--file", "src/a.ts", "--ttl", "5h"});
  workflow(0, "lock", {"--agent", "renewed", "--file", "src/b.ts", "--ttl", "5h"});
  EXPECT_EQ(sh("touch -d '2 hours ago' $OUTPUT/locks/*.lock").status, 0);
  workflow(0, "lock", {"--agent", "renewed", "--renew", "--ttl", "6h"});
  EXPECT_EQ(sh("find $OUTPUT/locks -name '*.lock' -mmin +60 -delete").status, 0);
  EXPECT_THAT(lock_files(), ElementsAre("renewed.lock"));
  stage_.expect(0, "bob", {"acquire", "src/a.ts"});
  stage_.expect(75, "bob", {"acquire", "src/b.ts"});
}

TEST_F(WorkflowInterop, AnothersLockFileCountsForEverybody) {
  workflow(0, "lock", {"--agent", "us", "--file", "docs/x"});
  EXPECT_EQ(sh("cat > \"$OUTPUT/locks/frontend-developer.lock\" <<END\n"
               "{\n  \"agent\": \"frontend-developer\",\n  \"locked_at\": \"$(date -Iseconds)\",\n"
               "  \"files\": [\"src/a.ts\"],\n  \"directories\": [\"src/ui\"],\n"
               "  \"expires_at\": \"$(date -u -d '+1 hour' +%FT%TZ)\"\n}\nEND\n")
                .status,
            0);
  const Json refused = stage_.expect(75, "bob", {"acquire", "src/ui/deep/x.ts"}).json();
  EXPECT_EQ(refused["conflicts"][0]["agent"], "frontend-developer");
  EXPECT_EQ(refused["conflicts"][0]["foreign"]["kind"], "workflow");
  EXPECT_EQ(refused["conflicts"][0]["foreign"]["path"], lock_path("frontend-developer.lock"));
  EXPECT_TRUE(refused["conflicts"][0]["fence"].is_null());
  stage_.expect(75, "bob", {"check", "src/a.ts"});
  workflow(75, "lock", {"--agent", "backend", "--file", "src/a.ts"});
  const Json taken = workflow(75, "lock", {"--agent", "frontend-developer", "--file", "y"}).json();
  EXPECT_EQ(taken["conflicts"][0]["foreign"]["kind"], "workflow");
  EXPECT_EQ(sh("rm \"$OUTPUT/locks/frontend-developer.lock\"").status, 0);
  stage_.expect(0, "bob", {"acquire", "src/ui/deep/x.ts"});
}

TEST_F(WorkflowInterop, AnExpiredLockOfAnyToolIsTakenOverWithTheWarning) {
  foreign("frontend.lock", "\"src/a.ts\"", -1);
  const Answer granted = workflow(0, "lock", {"--agent", "frontend", "--file", "src/b.ts"});
  EXPECT_EQ(granted.json()["warnings"][0], "Overwriting expired lock for frontend");
  EXPECT_THAT(granted.err, HasSubstr("Overwriting expired lock for frontend"));
  EXPECT_THAT(read_text(lock_path("frontend.lock")), HasSubstr("src/b.ts"));
  // One of ours likewise.
  workflow(0, "lock", {"--agent", "backend", "--file", "src/c.ts", "--ttl", "1ms"});
  stage_.pass_ms(1'100);  // its file ends with the second
  const Json again = workflow(0, "lock", {"--agent", "backend", "--file", "src/c.ts"}).json();
  EXPECT_EQ(again["warnings"][0], "Overwriting expired lock for backend");
  EXPECT_EQ(again["outcome"], "granted");
}

TEST_F(WorkflowInterop, A9_TheNameInAnotherToolsFileIsShownOnOneLine) {
  foreign("frontend.lock", "\"src/a.ts\"", -1, "x\\nlockkeeper: locked everything");
  const Answer granted = workflow(0, "lock", {"--agent", "frontend", "--file", "src/a.ts"});
  EXPECT_THAT(granted.err, testing::Not(HasSubstr("\nlockkeeper: locked everything")));
}

TEST_F(WorkflowInterop, A3_TheSameWordsRenewALockBehindASymlink) {
  std::filesystem::create_directory_symlink("src", stage_.repo() + "/link");
  const Words words = {"--agent", "backend", "--file", "link/a.ts"};
  workflow(0, "lock", words);
  Words renewed = words;
  renewed.emplace_back("--renew");
  EXPECT_EQ(workflow(0, "lock", renewed).json()["outcome"], "renewed");
}

TEST_F(WorkflowInterop, D4_TheUsualTtlIsAsLongAsTheSettingsAllow) {
  stage_.file("lockkeeper.toml", "[lease]\nlongest = \"30m\"\ndefault = \"30m\"\n");
  workflow(0, "lock", {"--agent", "backend", "--file", "src/a.ts"});
  workflow(73, "lock", {"--agent", "other", "--file", "src/b.ts", "--ttl", "1h"});
}

TEST_F(WorkflowInterop, D5_AnotherAgentThatTakesAnExpiredAgentsFilesGetsTheWarningToo) {
  foreign("frontend.lock", "\"src/a.ts\", \"src/b.ts\"", -1);
  foreign("docs.lock", "\"docs/x\"", -1);
  const Answer other = workflow(0, "lock", {"--agent", "backend", "--file", "src/a.ts"});
  EXPECT_EQ(other.json()["warnings"], Json::array({"Overwriting expired lock for frontend"}));
  EXPECT_THAT(other.err, HasSubstr("Overwriting expired lock for frontend"));
  const Answer more = workflow(0, "update", {"--agent", "backend", "--add", "docs/x"});
  EXPECT_THAT(more.json()["warnings"].dump(), HasSubstr("Overwriting expired lock for docs"));
  // One of ours likewise.
  workflow(0, "lock", {"--agent", "short", "--file", "src/c.ts", "--ttl", "1ms"});
  stage_.pass_ms(1'100);  // its file ends with the second
  const Json taken = workflow(0, "lock", {"--agent", "next", "--file", "src/c.ts"}).json();
  EXPECT_EQ(taken["warnings"], Json::array({"Overwriting expired lock for short"}));
  EXPECT_FALSE(workflow(0, "lock", {"--agent", "free", "--file", "y"}).json().contains("warnings"));
}

TEST_F(WorkflowInterop, D5_OurOwnExpiredLockIsNotAnotherTools) {
  workflow(0, "lock", {"--agent", "short", "--file", "src/c.ts", "--ttl", "1ms"});
  stage_.pass_ms(1'100);
  const Json status = workflow(0, "status", {}).json();
  ASSERT_EQ(status["locks"].size(), 1U) << status;
  EXPECT_EQ(status["locks"][0]["ours"], true);
  EXPECT_EQ(status["locks"][0]["expired"], true);
  const Answer text = stage_.as("", {"workflow", "status", "--output", "out"});
  EXPECT_THAT(text.out, Not(HasSubstr("another tool"))) << text.out;
}

TEST_F(WorkflowInterop, D5_TwoWorkflowsWithOneNameAreToldApart) {
  stage_.expect(0, "", {"workflow", "lock", "--output", "out2", "--agent", "x", "--file", "f"});
  const Answer refused = workflow(75, "lock", {"--agent", "x", "--file", "f"});
  EXPECT_EQ(refused.json()["overlaps"][0]["workflow"], "out2");
  const Answer text =
      stage_.as("", {"workflow", "lock", "--output", "out", "--agent", "x", "--file", "f"});
  EXPECT_THAT(text.out, HasSubstr("out2/x.lock: [\"f\"]"));
  EXPECT_THAT(text.out, HasSubstr("Run x after out2/x completes"));
}

TEST_F(WorkflowInterop, D7_APatternIsLockedAsANameAndToldSo) {
  const Json locked = workflow(0, "lock", {"--agent", "x", "--file", "src/**/*.py"}).json();
  EXPECT_THAT(locked["warnings"].dump(), HasSubstr("no patterns"));
  EXPECT_THAT(locked["warnings"].dump(), HasSubstr("lockkeeper acquire 'src/**/*.py'"));
  stage_.file("src/what?.txt");  // it exists, and brackets are common
  EXPECT_FALSE(workflow(0, "lock", {"--agent", "y", "--file", "src/what?.txt", "--file", "[id]"})
                   .json()
                   .contains("warnings"));
}

TEST_F(WorkflowInterop, AnUnlockOfAnothersLockIsOnRecordWithWho) {
  foreign("frontend.lock", "\"src/a.ts\"");
  stage_.env["LOCKKEEPER_AGENT"] = "lead";
  const Json done = workflow(0, "unlock", {"--agent", "frontend"}).json();
  EXPECT_EQ(done["unlocked"][0]["how"], "broken");
  EXPECT_FALSE(exists(lock_path("frontend.lock")));
  ASSERT_EQ(events("broken").size(), 1U);
  EXPECT_EQ(events("broken")[0]["by"]["agent"], "lead");
  EXPECT_EQ(events("broken")[0]["agent"], "frontend");
  workflow(66, "unlock", {"--agent", "frontend"});
}

TEST_F(WorkflowInterop, AMirrorIsNotUnlockedHere) {
  workflow(0, "lock", {"--agent", "us", "--file", "docs/x"});
  stage_.expect(0, "bob", {"acquire", "src/a.ts"});
  ASSERT_EQ(lock_files().size(), 2U);
  const std::string mirror = lock_files()[0].substr(0, lock_files()[0].size() - 5);
  const Json refused = workflow(77, "unlock", {"--agent", mirror}).json();
  EXPECT_THAT(refused["error"]["hint"].get<std::string>(), HasSubstr("lockkeeper break --lease"));
  workflow(65, "lock", {"--agent", mirror, "--file", "docs/y"});
}

TEST_F(WorkflowInterop, ABatchIsAllOrNone) {
  stage_.file("scopes.json",
              R"({"agents":[{"agent":"front","files":["src/a.ts"],"task_description":"t"},
                            {"agent":"back","directories":["server/"],"ttl":"2h"},
                            {"agent":"docs","files":["docs/x","src/a.ts"]}]})");
  const Json refused = workflow(75, "lock", {"--scopes", "scopes.json"}).json();
  EXPECT_EQ(refused["locks"].size(), 3U);
  EXPECT_EQ(refused["locks"][2]["overlaps"][0]["agent"], "front");
  EXPECT_EQ(refused["locks"][2]["resolutions"].size(), 5U);
  EXPECT_TRUE(lock_files().empty());
  EXPECT_TRUE(stage_.list()["leases"].empty());
  stage_.file(
      "scopes.json",
      R"([{"agent":"front","files":["src/a.ts"]},{"agent":"back","directories":["server"]}])");
  const Json granted = workflow(0, "lock", {"--scopes", "scopes.json"}).json();
  EXPECT_EQ(granted["outcome"], "granted");
  EXPECT_EQ(granted["locks"][1]["lease"]["resources"][0]["key"], "server/");
  EXPECT_THAT(lock_files(), ElementsAre("back.lock", "front.lock"));
  // A foreign file in the way of one keeps all of the next batch out.
  foreign("other.lock", "\"lib/x\"");
  stage_.file("scopes.json",
              R"([{"agent":"one","files":["p"]},{"agent":"two","files":["lib/x"]}])");
  workflow(75, "lock", {"--scopes", "scopes.json"});
  EXPECT_THAT(lock_files(), ElementsAre("back.lock", "front.lock", "other.lock"));
}

TEST_F(WorkflowInterop, UpdateChangesALiveScopeInOneStep) {
  workflow(0, "lock", {"--agent", "front", "--file", "src/a.ts", "--file", "src/b.ts"});
  stage_.expect(0, "bob", {"acquire", "lib/x"});
  workflow(75, "update", {"--agent", "front", "--add", "lib/", "--remove", "src/b.ts"});
  stage_.expect(75, "cat", {"acquire", "src/b.ts"});  // the old scope stands
  workflow(0, "update", {"--agent", "front", "--add", "docs/", "--remove", "src/b.ts"});
  EXPECT_EQ(sh("jq -c '[.files,.directories]' $OUTPUT/locks/front.lock").out,
            "[[\"src/a.ts\"],[\"docs/\"]]\n");
  stage_.expect(0, "cat", {"acquire", "src/b.ts"});
  stage_.expect(75, "cat", {"acquire", "docs/deep/y"});
  workflow(66, "update", {"--agent", "front", "--remove", "src/b.ts"});
  workflow(65, "update", {"--agent", "front", "--remove", "docs/", "--remove", "src/a.ts"});
  workflow(66, "update", {"--agent", "nobody", "--add", "x"});
  foreign("other.lock", "\"z\"");
  workflow(77, "update", {"--agent", "other", "--add", "y"});
}

TEST_F(WorkflowInterop, StatusShowsOursOthersAndOverlaps) {
  workflow(0, "lock", {"--agent", "front", "--dir", "src/"});
  foreign("b.lock", "\"src/a.ts\"");
  foreign("old.lock", "\"src/a.ts\"", -5);
  const Json status = workflow(0, "status", {}).json();
  ASSERT_EQ(status["locks"].size(), 3U);
  EXPECT_EQ(status["locks"][0]["agent"], "b");
  EXPECT_EQ(status["locks"][0]["ours"], false);
  EXPECT_EQ(status["locks"][1]["ours"], true);
  EXPECT_EQ(status["locks"][2]["expired"], true);
  ASSERT_EQ(status["overlaps"].size(), 1U);
  EXPECT_EQ(status["overlaps"][0]["witness"], "src/a.ts");
  write_text(lock_path("broken.lock"), "{");
  EXPECT_EQ(workflow(69, "status", {}).json()["locks"].size(), 4U);
}

TEST_F(WorkflowInterop, CleanLeavesWhatIsNoLock) {
  workflow(0, "lock", {"--agent", "front", "--dir", "src/"});
  foreign("b.lock", "\"lib/a.ts\"");
  write_text(lock_path("notes.md"), "mine");
  const Json cleaned = workflow(0, "clean", {}).json();
  EXPECT_EQ(cleaned["unlocked"].size(), 2U);
  EXPECT_EQ(cleaned["folder_removed"], false);
  EXPECT_EQ(cleaned["left"][0], lock_path("notes.md"));
  EXPECT_TRUE(lock_files().empty());
  EXPECT_TRUE(exists(lock_path("notes.md")));
  std::filesystem::remove(lock_path("notes.md"));
  workflow(0, "lock", {"--agent", "front", "--dir", "src/"});
  EXPECT_EQ(workflow(0, "clean", {}).json()["folder_removed"], true);
  EXPECT_FALSE(exists(out() + "/locks"));
  EXPECT_TRUE(stage_.list()["leases"].empty());
  const Json again = workflow(0, "clean", {}).json();
  EXPECT_EQ(again["unlocked"].size(), 0U);
  EXPECT_EQ(again["folder_removed"], false) << "there was none";
}

TEST_F(WorkflowInterop, OutputsInsideEachOtherExcludeEachOther) {
  workflow(0, "lock", {"--agent", "front", "--file", "src/a.ts"});
  stage_.expect(
      75, "",
      {"workflow", "lock", "--output", "out/inner", "--agent", "back", "--file", "src/a.ts"});
}

// As after a suspended night, or with a clock that was set: by the wall clock its file is over.
TEST_F(WorkflowInterop, I6_OurLeaseLivesByTheTableWhateverItsFileSays) {
  workflow(0, "lock", {"--agent", "front", "--file", "src/a.ts"});
  EXPECT_EQ(sh("sed -i 's/\"expires_at\": .*/\"expires_at\": \"2020-01-01T00:00:00Z\"/' "
               "$OUTPUT/locks/front.lock")
                .status,
            0);
  stage_.expect(75, "bob", {"acquire", "src/a.ts"});
  EXPECT_EQ(stage_.list()["leases"].size(), 1U);
  EXPECT_EQ(workflow(0, "status", {}).json()["locks"][0]["expired"], false);
  workflow(75, "lock", {"--agent", "front", "--file", "src/b.ts"});
  workflow(0, "lock", {"--agent", "front", "--renew"});
  EXPECT_THAT(read_text(lock_path("front.lock")), Not(HasSubstr("2020")));
}

TEST_F(WorkflowInterop, GitDoesNotSeeTheLocks) {
  workflow(0, "lock", {"--agent", "front", "--file", "src/a.ts"});
  EXPECT_EQ(sh("git status --porcelain -uall -- out").out, "");
}

// Their step is check, then write: what slips through is noticed, recorded and told. Every one.
TEST_F(WorkflowInterop, EveryOverlapOfCheckThenWriteIsDetected) {
  constexpr int kProvoked = 6;
  workflow(0, "lock", {"--agent", "us", "--file", "docs/x"});
  Process run = stage_.start_holding("bob", "src/");
  ASSERT_EQ(lock_files().size(), 2U);
  std::int64_t slowest_ms = 0;
  for (int i = 1; i <= kProvoked; ++i) {
    const auto began = std::chrono::steady_clock::now();
    // It had checked before our lock was there.
    foreign("late" + std::to_string(i) + ".lock", "\"src/f" + std::to_string(i) + "\"");
    const std::string store = stage_.repo();
    const auto noticed = [&] {
      return events("foreign_conflict").size() == static_cast<std::size_t>(i);
    };
    ASSERT_TRUE(eventually(noticed)) << i << " of " << kProvoked;
    const auto took = std::chrono::steady_clock::now() - began;
    slowest_ms = std::max<std::int64_t>(
        slowest_ms, std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
  }
  RecordProperty("slowest_ms", static_cast<int>(slowest_ms));
  std::printf("foreign_conflict: %d of %d, the slowest after %lld ms\n", kProvoked, kProvoked,
              static_cast<long long>(slowest_ms));
  const Json event = events("foreign_conflict")[0];
  EXPECT_EQ(event["agent"], "bob");
  EXPECT_EQ(event["by"]["agent"], "late1");
  EXPECT_THAT(run.err(), HasSubstr("late1"));  // our holder was told
}

}  // namespace
}  // namespace lockkeeper::stage
