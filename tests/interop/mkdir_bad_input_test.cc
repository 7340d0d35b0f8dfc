// Bad input for the mkdir protocol: lock folders broken, replaced, full, read-only;
// names that try to escape. A clear error, nothing lost, nothing written outside, no lock removed
// that is not ours to remove; and never BUSY for what is broken.
#include "interop/mkdir_scene.h"

namespace lockkeeper::stage {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

class MkdirBadInput : public MkdirDocument {
 protected:
  void make(const std::string& name) { fs::create_directories(lock(name)); }
  std::string where(const std::string& name) const { return stage_.path(name); }

  // Refused as broken, in text and in JSON, and nothing is held by ann.
  void expect_broken(const Words& words, const std::string& code = "store_unavailable") {
    const Answer text = stage_.as("ann", words);
    EXPECT_EQ(text.status, 69) << text.all();
    EXPECT_EQ(text.out, "");
    EXPECT_THAT(text.err, HasSubstr("lockkeeper: "));
    const Answer json = stage_.json("ann", words);
    EXPECT_EQ(json.status, 69);
    EXPECT_EQ(json.json()["error"]["code"], code);
  }
  std::size_t held_by_ann() {
    return stage_.json("x", {"list", "--agent", "ann"}).json()["leases"].size();
  }
};

TEST_F(MkdirBadInput, I10_ALockFolderThatIsNoFolderIsAnErrorAndNotBusy) {
  stage_.file("spec/.locks", "not a folder");
  expect_broken({"task", "acquire", "T-1", "--file", "src/a.py"});
  fs::remove(stage_.repo() + "/spec/.locks");
  EXPECT_EQ(held_by_ann(), 0U);
  task(0, "ann", {"acquire", "T-1", "--file", "src/a.py"});
}

TEST_F(MkdirBadInput, I10_FoldersReplacedBySymlinksAreNotFollowed) {
  fs::create_directories(where("elsewhere/files/src__a.py"));
  fs::create_directories(stage_.repo() + "/spec");
  fs::create_directory_symlink(where("elsewhere"), stage_.repo() + "/spec/.locks");
  expect_broken({"task", "acquire", "T-1", "--file", "src/b.py"});
  fs::remove(stage_.repo() + "/spec/.locks");
  make("tasks");
  fs::create_directory_symlink(where("elsewhere/files"), lock("files"));
  expect_broken({"task", "acquire", "T-1", "--file", "src/b.py"});
  expect_broken({"task", "lock-file", "T-1", "src/a.py", "--retry", "0"});
  stage_.as("ann", {"task", "sweep", "--all"});
  fs::remove(lock("files"));
  EXPECT_EQ(held_by_ann(), 0U);
  EXPECT_TRUE(fs::exists(where("elsewhere/files/src__a.py")));
  EXPECT_EQ(std::distance(fs::directory_iterator(where("elsewhere/files")), {}), 1);
  EXPECT_EQ(std::distance(fs::directory_iterator(where("elsewhere")), {}), 1);
}

TEST_F(MkdirBadInput, ASpecThatLeadsOutOfTheRepositoryIsRefusedUnlessNamed) {
  fs::create_directories(where("elsewhere"));
  fs::create_directory_symlink(where("elsewhere"), stage_.repo() + "/spec");
  const Answer refused = task(65, "ann", {"acquire", "T-1"});
  EXPECT_THAT(refused.err, HasSubstr("--root"));
  EXPECT_TRUE(fs::is_empty(where("elsewhere")));
  task(0, "ann", {"acquire", "T-1", "--root", "spec"});
  EXPECT_TRUE(fs::exists(where("elsewhere/.locks/tasks/T-1/owner")));
}

TEST_F(MkdirBadInput, D4_ATaskLastsAsLongAsTheSettingsAllow) {
  stage_.file("lockkeeper.toml", "[lease]\nlongest = \"2h\"\n");
  stage_.file("spec/x");
  task(0, "ann", {"acquire", "T-1"});
  const Json lease = stage_.list()["leases"][0];
  EXPECT_FALSE(lease["expires_at"].is_null()) << lease.dump();
}

TEST_F(MkdirBadInput, TheRootIsFoundUpwards) {
  fs::create_directories(stage_.repo() + "/spec");
  fs::create_directories(stage_.repo() + "/src/deep");
  Launch launch = stage_.launch("ann", {"task", "acquire", "T-1", "--file", "src/a.py"});
  launch.folder = stage_.repo() + "/src/deep";
  EXPECT_EQ(stage_.finish(std::move(launch)).out, "ACQUIRED\n");
  EXPECT_TRUE(exists(lock("tasks/T-1/owner")));
  EXPECT_TRUE(exists(lock("files/src__a.py/owner")));
  EXPECT_FALSE(exists(stage_.repo() + "/src/deep/spec"));
}

TEST_F(MkdirBadInput, OwnersThatCannotBeReadHoldTheirLocksAsUnknown) {
  task(0, "setup", {"acquire", "T-0"});
  const std::pair<const char*, std::string> owners[] = {
      {"empty", ""},
      {"binary", std::string("\xff\xfe\x00\x01", 4)},
      {"huge", std::string(1 << 20, 'x')},
      {"json", "{\"agent\": \"x\"}"},
      {"wrong", "agent=x\ntask=y\n"}};
  for (const auto& [name, text] : owners) {
    make(std::string("files/") + name);
    write_text(lock(std::string("files/") + name + "/owner"), text);
  }
  make("files/none");
  make("files/folder/owner");
  make("files/link");
  fs::create_symlink("/etc/passwd", lock("files/link/owner"));
  write_text(lock("files/plain"), "a file");
  fs::create_symlink("nowhere", lock("files/dangling"));
  for (const char* const name : {"empty", "binary", "huge", "json", "wrong", "none", "folder",
                                 "link", "plain", "dangling"}) {
    const Answer answer = task(75, "ann", {"lock-file", "T-1", name, "--retry", "0"});
    EXPECT_EQ(answer.out, "BUSY\n") << name;
    EXPECT_THAT(answer.err, HasSubstr("unknown")) << name;
    EXPECT_THAT(answer.err, Not(HasSubstr("root:"))) << name;
    EXPECT_EQ(stage_.as("ann", {"acquire", name}).status, 75) << name;
  }
  EXPECT_EQ(stage_.as("ann", {"layout", "list"}).status, 0);
  task(0, "ann", {"sweep", "--dead"});
  EXPECT_TRUE(exists(lock("files/none")));
  task(0, "ann", {"sweep", "--all"});
  EXPECT_TRUE(fs::is_empty(lock("files")));
  EXPECT_TRUE(exists("/etc/passwd"));
}

TEST_F(MkdirBadInput, OddClocksAndZonesChangeNothing) {
  task(0, "setup", {"acquire", "T-0"});
  for (const char* const time : {"9999-12-31T23:59:59+14:00", "0000-01-01T00:00:00Z", "yesterday",
                                 "2026-01-17T15:30:00", "1969-12-31T23:59:59-12:00"}) {
    make("files/odd");
    write_text(lock("files/odd/owner"),
               std::string("agent: clock\ntask: T-7\ntimestamp: ") + time + "\n");
    const Answer answer = stage_.json("ann", {"acquire", "odd"});
    EXPECT_EQ(answer.status, 75) << answer.all();
    EXPECT_EQ(answer.json()["conflicts"][0]["agent"], "clock") << time;
    fs::remove_all(lock("files/odd"));
  }
}

TEST_F(MkdirBadInput, AFullDiskOrAReadOnlyOneIsAnErrorAndNotBusy) {
  const Answer probe = stage_.finish(
      script("unshare -m bash -c 'mkdir -p m && mount -t tmpfs none m' && echo works"));
  if (probe.out != "works\n") GTEST_SKIP() << "no mounts here: " << probe.err;
  const auto in_mount = [&](const std::string& options, const std::string& then) {
    return stage_.finish(script("unshare -m bash -c 'mkdir -p spec/.locks && mount -t tmpfs -o " +
                                options + " none spec/.locks && { " + then + "; }'"));
  };
  const std::string acquire = "\"$LOCKKEEPER\" task acquire T-1 --file src/a.py --agent ann --json";
  const Answer full = in_mount("nr_inodes=4", acquire);
  EXPECT_EQ(full.status, 69) << full.all();
  EXPECT_EQ(full.json()["error"]["code"], "no_space");
  const Answer read_only = in_mount("ro", acquire);
  EXPECT_EQ(read_only.status, 69) << read_only.all();
  EXPECT_EQ(read_only.json()["error"]["code"], "store_unavailable");
  const Answer text = in_mount("nr_inodes=2", "\"$LOCKKEEPER\" task acquire T-1 --agent ann");
  EXPECT_EQ(text.status, 69);
  EXPECT_EQ(text.out, "");
  EXPECT_EQ(held_by_ann(), 0U);
  task(0, "ann", {"acquire", "T-1", "--file", "src/a.py"});
}

TEST_F(MkdirBadInput, AFolderThatVanishesUnderneathIsMadeAgain) {
  task(0, "ann", {"acquire", "T-1"});
  fs::remove_all(stage_.repo() + "/spec");
  task(0, "bob", {"acquire", "T-2", "--file", "src/a.py"});
  EXPECT_TRUE(exists(lock("files/src__a.py/owner")));
  EXPECT_FALSE(exists(lock("tasks/T-1")));
}

TEST_F(MkdirBadInput, ReleasingNeverRemovesWhatAnotherPutThere) {
  task(0, "ann", {"acquire", "T-1", "--file", "src/a.py"});
  fs::remove_all(lock("files/src__a.py"));
  make("files/src__a.py");
  write_text(lock("files/src__a.py/owner"), "agent: other\ntask: T-2\ntimestamp: x\n");
  task(0, "ann", {"release", "T-1"});
  EXPECT_EQ(read_text(lock("files/src__a.py/owner")), "agent: other\ntask: T-2\ntimestamp: x\n");
  EXPECT_FALSE(exists(lock("tasks/T-1")));
  EXPECT_EQ(stage_.as("ann", {"check", "src/a.py"}).status, 75);
}

TEST_F(MkdirBadInput, AHashInAFileNameIsOneLockLikeAnyOther) {
  task(0, "ann", {"acquire", "T-1", "--file", "src/c#.cs", "--file", "100%"});
  EXPECT_TRUE(exists(lock("files/src__c#.cs/owner")));
  EXPECT_TRUE(exists(lock("files/100%/owner")));
  EXPECT_EQ(foreign_file("src/c#.cs"), "BUSY");
  EXPECT_EQ(stage_.as("bob", {"acquire", "src/c#.cs"}).status, 75);
  task(0, "ann", {"release", "T-1"});
  EXPECT_FALSE(exists(lock("files/src__c#.cs")));
  EXPECT_EQ(foreign_file("src/c#.cs"), "ACQUIRED");
  EXPECT_EQ(stage_.as("bob", {"acquire", "src/c#.cs"}).status, 75);
}

}  // namespace
}  // namespace lockkeeper::stage
