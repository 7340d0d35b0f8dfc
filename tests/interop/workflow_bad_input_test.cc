// Lock files, folders and names that are not as they should be: a clear error, nothing lost,
// nothing written outside, no lock removed that is not ours to remove.
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <unistd.h>

#include "interop/workflow_scene.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;

class WorkflowBadInput : public WorkflowScene {
 protected:
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(out() + "/locks");
    write_text(lock_path(name), text);
  }
};

TEST_F(WorkflowBadInput, I10_AFileThatCannotBeReadBlocksGrantsUntilItIsIgnored) {
  workflow(0, "lock", {"--agent", "first", "--file", "docs/x"});
  const auto text_with = [](const std::string& agent, const std::string& at,
                            const std::string& files) {
    return "{\"agent\":" + agent + ",\"locked_at\":\"" + at + "\",\"files\":" + files +
           ",\"expires_at\":\"2099-01-01T00:00Z\"}";
  };
  const std::vector<std::string> broken = {"",
                                           "{\"agent\":",
                                           "\xff\xfe",
                                           "[]",
                                           R"({"agent":"a"})",
                                           text_with("7", "2026-01-17T15:30:00Z", "[]"),
                                           text_with("\"a\"", "noon", "[]"),
                                           text_with("\"a\"", "2026-01-17T15:30:00Z", "\"src\""),
                                           std::string(2 << 20, ' ')};
  for (const std::string& text : broken) {
    write("bad.lock", text);
    for (const Words& words :
         {Words{"acquire", "src/a.ts"}, Words{"check", "src/a.ts"},
          Words{"workflow", "lock", "--output", "out", "--agent", "b", "--file", "src/a.ts"}}) {
      const Json refused = stage_.expect(69, "bob", words).json();
      EXPECT_EQ(refused["error"]["code"], "store_unavailable");
      EXPECT_THAT(refused["error"]["message"].get<std::string>(), HasSubstr(lock_path("bad.lock")));
      EXPECT_THAT(refused["error"]["hint"].get<std::string>(),
                  HasSubstr("lockkeeper layout ignore " + lock_path("bad.lock")));
    }
    EXPECT_EQ(read_text(lock_path("bad.lock")), text);
  }
  write("bad.lock", text_with("\"a\"", "2026-01-17T15:30:00+01:00", "[]"));
  stage_.expect(0, "bob", {"acquire", "src/a.ts"});
  write("bad.lock", "{");
  stage_.expect(69, "bob", {"acquire", "src/b.ts"});
  stage_.expect(0, "", {"layout", "ignore", lock_path("bad.lock")});
  stage_.expect(0, "bob", {"acquire", "src/b.ts"});
  EXPECT_EQ(read_text(lock_path("bad.lock")), "{");
}

TEST_F(WorkflowBadInput, UnlockRemovesWhatCannotBeReadOnThePersonsWord) {
  workflow(0, "lock", {"--agent", "first", "--file", "docs/x"});
  write("bad.lock", "{");
  stage_.expect(69, "bob", {"acquire", "src/a.ts"});
  workflow(0, "unlock", {"--agent", "bad"});
  EXPECT_FALSE(exists(lock_path("bad.lock")));
  EXPECT_EQ(events("broken").size(), 1U);
  stage_.expect(0, "bob", {"acquire", "src/a.ts"});
}

TEST_F(WorkflowBadInput, NamesAndPathsThatTryToEscape) {
  for (const char* const name : {"", "..", "../x", "a/b", ".hidden", "-rf", "a\nb", "*", "$HOME"}) {
    const Json refused =
        workflow(65, "lock", {"--agent=" + std::string(name), "--file", "src/a.ts"}).json();
    EXPECT_EQ(refused["error"]["code"], "invalid_input") << name;
  }
  workflow(65, "lock", {"--agent", std::string(300, 'x'), "--file", "src/a.ts"});
  for (const char* const path : {"../x", "/etc/passwd", "src/../../x", "a\nb", ""}) {
    const Json refused = workflow(65, "lock", {"--agent", "a", "--file", path}).json();
    EXPECT_EQ(refused["error"]["code"], "invalid_resource") << path;
  }
  EXPECT_TRUE(lock_files().empty());
  EXPECT_TRUE(stage_.list()["leases"].empty());
}

TEST_F(WorkflowBadInput, FoldersThatAreNot) {
  workflow(0, "lock", {"--agent", "first", "--file", "docs/x"});
  std::filesystem::create_directories(stage_.path("elsewhere"));
  std::filesystem::rename(out() + "/locks", stage_.path("aside"));
  std::filesystem::create_directory_symlink(stage_.path("elsewhere"), out() + "/locks");
  const Json refused = workflow(69, "lock", {"--agent", "a", "--file", "src/a.ts"}).json();
  EXPECT_THAT(refused["error"]["message"].get<std::string>(), HasSubstr("symlink"));
  stage_.expect(69, "bob", {"acquire", "src/a.ts"});
  EXPECT_TRUE(std::filesystem::is_empty(stage_.path("elsewhere")));
  std::filesystem::remove(out() + "/locks");
  write_text(out() + "/locks", "a file");
  workflow(69, "lock", {"--agent", "a", "--file", "src/a.ts"});
  std::filesystem::remove(out() + "/locks");
  std::filesystem::rename(stage_.path("aside"), out() + "/locks");
  workflow(75, "lock", {"--agent", "first", "--file", "src/b.ts"});  // nothing was lost
  write_text(stage_.repo() + "/plain", "x");
  EXPECT_NE(
      stage_.json("", {"workflow", "lock", "--output", "plain", "--agent", "a", "--file", "x"})
          .status,
      0);
}

TEST_F(WorkflowBadInput, AnOutputThatVanishedKeepsNobodyOut) {
  workflow(0, "lock", {"--agent", "first", "--file", "src/a.ts"});
  stage_.expect(0, "bob", {"acquire", "docs/y"});
  std::filesystem::remove_all(out());
  stage_.expect(0, "cat", {"acquire", "src/a.ts"});  // its workflow is over
  stage_.expect(75, "cat", {"acquire", "docs/y"});
  EXPECT_FALSE(exists(out()));
  EXPECT_EQ(workflow(0, "status", {}).json()["locks"].size(), 0U);
  workflow(66, "unlock", {"--agent", "first"});
}

TEST_F(WorkflowBadInput, AFullDiskGrantsNothing) {
  std::filesystem::create_directories(out());
  if (::mount("none", out().c_str(), "tmpfs", 0, "size=16k") != 0) {
    GTEST_SKIP() << "no tmpfs can be mounted here";
  }
  workflow(0, "lock", {"--agent", "first", "--file", "docs/x"});
  sh("cat /dev/zero > $OUTPUT/full 2>/dev/null");
  const Json refused = workflow(69, "lock", {"--agent", "a", "--file", "src/a.ts"}).json();
  EXPECT_EQ(refused["error"]["code"], "no_space");
  EXPECT_EQ(lock_files(), std::vector<std::string>{"first.lock"});
  EXPECT_EQ(::umount(out().c_str()), 0);
  EXPECT_EQ(stage_.expect(0, "", {"list", "--agent", "a"}).json()["leases"].size(), 0U);
}

TEST_F(WorkflowBadInput, WordsThatMakeNoSense) {
  for (const Words& words : std::vector<Words>{
           {"workflow"},
           {"workflow", "lock"},
           {"workflow", "grab", "--output", "out"},
           {"workflow", "lock", "--output", "out"},
           {"workflow", "lock", "--output", "out", "--agent", "a", "--add", "x"},
           {"workflow", "unlock", "--output", "out", "--agent", "a", "--file", "x"},
           {"workflow", "status", "--output", "out", "--ttl", "1h"},
           {"workflow", "update", "--output", "out", "--agent", "a"},
           {"workflow", "lock", "--output", "out", "--agent", "a", "--scopes", "s.json"}}) {
    EXPECT_EQ(stage_.json("", words).json()["error"]["code"], "usage");
  }
  workflow(65, "lock", {"--agent", "a"});
  workflow(65, "lock", {"--agent", "a", "--file", "x", "--ttl", "soon"});
  workflow(65, "lock", {"--scopes", "missing.json"});
  stage_.file("scopes.json", R"([{"agent":"a","globs":["*.h"]}])");
  workflow(65, "lock", {"--scopes", "scopes.json"});
  stage_.file("scopes.json", R"([{"agent":"../a","files":["x"]}])");
  workflow(65, "lock", {"--scopes", "scopes.json"});
  EXPECT_TRUE(lock_files().empty());
}

}  // namespace
}  // namespace lockkeeper::stage
