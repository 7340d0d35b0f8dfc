// Where the protocol's primitive cannot exclude (another spelling, a folder or a pattern against a
// file): every overlap is seen by whoever of ours runs or waits, recorded, and told to the holder.
// And what happens to locks whose folder others remove.
#include <set>

#include "interop/mkdir_scene.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;
using testing::Not;

class MkdirOverlap : public MkdirDocument {
 protected:
  // Takes each by the protocol's commands while ours holds what it overlaps; gives how many were
  // recorded as a conflict with ours, each by its own path.
  std::size_t recorded(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) EXPECT_EQ(foreign_file(path), "ACQUIRED") << path;
    std::set<std::string> seen;
    eventually([&] {
      seen.clear();
      for (const Json& event : events("foreign_conflict")) {
        if (event["agent"] == "ann") seen.insert(event["reason"].get<std::string>());
      }
      return seen.size() == paths.size();
    });
    return seen.size();
  }
};

TEST_F(MkdirOverlap, EverySpellingOfAFileThatOursHoldsIsRecorded) {
  task(0, "setup", {"acquire", "T-0"});
  std::filesystem::create_directory_symlink("src", stage_.repo() + "/link");
  Process run = stage_.start_holding("ann", "src/a.py", {"--keep-going"});
  ASSERT_TRUE(exists(lock("files/src__a.py")));
  const std::vector<std::string> paths = {
      "./src/a.py", "src//a.py", "src/./a.py",      "link/a.py",    stage_.repo() + "/src/a.py",
      "src",        "./src",     "src/../src/a.py", "src/b/../a.py"};
  std::filesystem::create_directory(stage_.repo() + "/src/b");
  EXPECT_EQ(recorded(paths), paths.size());
}

TEST_F(MkdirOverlap, FoldersAndPatternsOfOursAgainstForeignFiles) {
  task(0, "setup", {"acquire", "T-0"});
  Process folder = stage_.start_holding("ann", "lib/");
  Process pattern = stage_.start_holding("ann", "tests/**/*.py");
  ASSERT_EQ(stage_.list()["leases"].size(), 3U);
  std::vector<std::string> paths;
  for (int i = 0; i < 6; ++i) {
    paths.push_back("lib/new" + std::to_string(i) + ".py");
    paths.push_back("tests/unit/test" + std::to_string(i) + ".py");
  }
  EXPECT_EQ(recorded(paths), paths.size());
  EXPECT_EQ(foreign_file("tests/unit/readme.md"), "ACQUIRED");  // overlaps nothing
  stage_.list();
  for (const Json& event : events("foreign_conflict")) {
    EXPECT_THAT(event["reason"].get<std::string>(), Not(HasSubstr("readme")));
  }
}

TEST_F(MkdirOverlap, AWaiterLooksAsWell) {
  task(0, "setup", {"acquire", "T-0"});
  stage_.expect(0, "ann", {"acquire", "lib/"});
  Process waiting = stage_.start("bob", {"acquire", "lib/x", "--wait"});
  ASSERT_TRUE(stage_.queue_grows_to(1));
  EXPECT_EQ(recorded({"lib/new.py"}), 1U);
}

TEST_F(MkdirOverlap, RemovedByOthersIsReleasedIfTakenThisWayAndMadeAgainIfNative) {
  task(0, "ann", {"acquire", "T-9", "--file", "src/a.py"});
  stage_.expect(0, "bob", {"acquire", "src/b.py"});
  release_file("src/a.py");
  bash(kDocumentReleaseTask);
  release_file("src/b.py");
  EXPECT_EQ(stage_.as("eve", {"check", "src/b.py"}).status, 75);
  task(0, "eve", {"acquire", "T-9", "--file", "src/a.py"});
  std::set<std::string> removed;
  for (const Json& event : events("released")) {
    if (event["cause"] == "artefact_removed") removed.insert(event["resources"][0]);
  }
  EXPECT_EQ(removed, (std::set<std::string>{"src/a.py", "task:T-9"}));
  EXPECT_TRUE(eventually([&] {
    stage_.list();
    return exists(lock("files/src__b.py/owner"));
  }));
  EXPECT_EQ(events("shown_again").size(), 1U);
  EXPECT_EQ(foreign_file("src/b.py"), "BUSY");
}

TEST_F(MkdirOverlap, TheOrchestratorsWipeOfAllLocks) {
  task(0, "ann", {"acquire", "T-1", "--file", "src/a.py"});
  stage_.expect(0, "bob", {"acquire", "src/b.py"});
  bash("rm -rf spec/.locks");
  task(0, "eve", {"acquire", "T-1", "--file", "src/a.py"});
  EXPECT_EQ(task(75, "eve", {"lock-file", "T-1", "src/b.py", "--retry", "0"}).out, "BUSY\n");
  EXPECT_TRUE(exists(lock("files/src__b.py/owner")));
  const Json leases = stage_.list()["leases"];
  ASSERT_EQ(leases.size(), 1U);  // eve's were given back
  EXPECT_EQ(leases[0]["agent"], "bob");
}

}  // namespace
}  // namespace lockkeeper::stage
