// What a layout's folder or the list of layouts can come to: a clear error, nothing granted,
// nothing lost, nothing written outside (I10).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "chaos/faults/namespaces.h"
#include "layouts/layout_stage.h"

namespace lockkeeper::layouts {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Trouble : public testing::Test {
 protected:
  std::string file() const { return stage_.store() + "/layouts.json"; }

  // Nothing may be granted or called free, and the file is named.
  void fails_closed() {
    for (const Words& words : std::vector<Words>{
             {"acquire", "a.c"}, {"check", "a.c"}, {"run", "a.c", "--", "true"}, {"list"}}) {
      const Answer refused = stage_.expect(78, "ann", words);
      EXPECT_EQ(code_of(refused), "invalid_config") << refused.all();
      EXPECT_THAT(refused.out, HasSubstr("layouts.json")) << words[0];
    }
  }

  LayoutStage stage_;
};

TEST_F(Trouble, I10_ADamagedListOfLayoutsFailsClosed) {
  stage_.add_both();
  ASSERT_TRUE(stage_.bash_takes("a.c"));
  const std::string sound = read_text(file());
  const std::string root = stage_.repo() + "/spec";
  const std::vector<std::string> damaged{
      "",
      "{}",
      "[",
      std::string("\0\xff\xfe[]", 5),
      "[1]",
      "[{}]",
      R"([{"kind":"mkdir","root":"relative","mode":"both"}])",
      R"([{"kind":"mkdir","root":")" + root + R"(","mode":"sometimes"}])",
      R"([{"kind":7,"root":")" + root + R"(","mode":"both"}])",
      R"([{"kind":"mkdir","root":")" + root + R"(","mode":"both","options":[1]}])",
      R"([{"kind":"mkdir","root":")" + root + R"(","mode":"both","ignored":"x"}])",
      R"([{"kind":"svn","root":")" + root + R"(","mode":"both"}])",
      std::string(200'000, '['),
      std::string((1 << 20) + 1, ' ') + "[]"};
  for (const std::string& text : damaged) {
    SCOPED_TRACE(text.substr(0, 80));
    write_text(file(), text);
    for (const char* verb : {"acquire", "check"}) {
      const Answer refused = stage_.expect(78, "ann", {verb, "a.c"});
      EXPECT_EQ(code_of(refused), "invalid_config");
    }
  }
  // A kind that only another version of the program knows can be given up.
  write_text(file(), R"([{"kind":"svn","root":")" + root + R"(","mode":"both"}])");
  const Json unknown = stage_.expect(78, "ann", {"acquire", "a.c"}).json();
  const std::string hint = unknown["error"]["hint"];
  stage_.expect(0, "", {"layout", "remove", hint.substr(hint.rfind(' ') + 1)});
  stage_.expect(0, "ann", {"acquire", "b.c"});
  write_text(file(), "{}");
  fails_closed();
  write_text(file(), sound);
  stage_.expect(75, "ann", {"acquire", "a.c"});
}

TEST_F(Trouble, I10_AListOfLayoutsThatIsNoPlainFileFailsClosed) {
  stage_.add_both();
  const std::string elsewhere = stage_.path("elsewhere.json");
  fs::rename(file(), elsewhere);
  fs::create_symlink(elsewhere, file());
  fails_closed();
  fs::remove(file());
  fs::create_symlink("/dev/zero", file());
  fails_closed();
  fs::remove(file());
  fs::create_directory(file());
  fails_closed();
  fs::remove(file());
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
  fails_closed();
}

TEST_F(Trouble, ARootThatVanishedIsAnEmptyOneAndNothingIsLost) {
  stage_.add_both();
  ASSERT_TRUE(stage_.bash_takes("theirs"));
  stage_.expect(75, "bob", {"acquire", "theirs"});
  const Answer held = stage_.expect(0, "ann", {"acquire", "a.c"});
  fs::remove_all(stage_.repo() + "/spec");
  fs::remove_all(stage_.repo() + "/out");
  stage_.expect(0, "bob", {"acquire", "theirs"});
  stage_.expect(75, "bob", {"acquire", "a.c"});
  stage_.expect(0, "", {"layout", "list"});
  stage_.expect(0, "ann", {"renew", "a.c"});
  stage_.expect(0, "ann", {"check", "a.c", "--fence", std::to_string(held.fence())});
  stage_.expect(0, "ann", {"release", "a.c"});
  stage_.expect(0, "bob", {"release", "theirs"});
  stage_.healthy();
}

TEST_F(Trouble, ARootThatIsASymlinkByNowIsNotFollowed) {
  stage_.add_both();
  stage_.expect(0, "ann", {"acquire", "held"});
  const std::string outside = stage_.path("outside");
  fs::create_directories(outside + "/.locks/files/victim");
  fs::create_directories(outside + "/locks");
  for (const char* name : {"/spec", "/out"}) {
    fs::remove_all(stage_.repo() + name);
    fs::create_directory_symlink(outside, stage_.repo() + name);
  }
  const Answer refused = stage_.json("ann", {"acquire", "a.c"});
  EXPECT_THAT(refused.status, AnyOf(65, 69, 77)) << refused.all();
  EXPECT_THAT(refused.out, HasSubstr(stage_.repo()));
  stage_.as("ann", {"release", "held"});
  EXPECT_TRUE(exists(outside + "/.locks/files/victim"));
  EXPECT_EQ(std::distance(fs::directory_iterator(outside + "/.locks/files"), {}), 1);
  EXPECT_TRUE(fs::is_empty(outside + "/locks"));
  // Put right, it goes on.
  for (const char* name : {"/spec", "/out"}) {
    fs::remove(stage_.repo() + name);
    fs::create_directories(stage_.repo() + name);
  }
  stage_.expect(0, "ann", {"acquire", "a.c"});
  stage_.healthy();
}

TEST_F(Trouble, AFolderOfLocksThatIsASymlinkIsNotFollowed) {
  stage_.add_both();
  const std::string outside = stage_.path("outside");
  fs::create_directories(outside + "/files");
  fs::create_directory_symlink(outside, stage_.repo() + "/spec/.locks");
  fs::create_directory_symlink(outside, stage_.repo() + "/out/locks");
  const Answer refused = stage_.json("ann", {"acquire", "a.c"});
  EXPECT_THAT(refused.status, AnyOf(65, 69, 77)) << refused.all();
  EXPECT_TRUE(fs::is_empty(outside + "/files"));
  const Answer named = stage_.as("", {"doctor"});
  EXPECT_EQ(named.status, 69) << named.all();
  EXPECT_THAT(named.all(), HasSubstr("/spec/.locks"));
  fs::remove(stage_.repo() + "/spec/.locks");
  fs::remove(stage_.repo() + "/out/locks");
  stage_.healthy();
}

class Mounted : public Trouble {
 protected:
  void SetUp() override {
    if (const std::string why = faults::own_mounts(); !why.empty()) GTEST_SKIP() << why;
  }
  void TearDown() override {
    for (const char* name : {"/spec", "/out"}) {
      while (::umount2((stage_.repo() + name).c_str(), MNT_DETACH) == 0) {
      }
    }
  }
  void mount_small(const std::string& name) const {
    ASSERT_EQ(::mount("small", (stage_.repo() + name).c_str(), "tmpfs", 0, "size=64k"), 0);
  }
  void make_read_only(const std::string& name, bool yes) const {
    const unsigned long flags = MS_REMOUNT | (yes ? static_cast<unsigned long>(MS_RDONLY) : 0UL);
    ASSERT_EQ(::mount("small", (stage_.repo() + name).c_str(), "tmpfs", flags, "size=64k"), 0);
  }
};

TEST_F(Mounted, F13_I10_AFullDiskGrantsNothingAndRecovers) {
  mount_small("/spec");
  mount_small("/out");
  stage_.add_both();
  stage_.expect(0, "ann", {"acquire", "first"});
  for (const char* const folder : {"/spec", "/out"}) {
    std::ofstream filler(stage_.repo() + folder + "/filler");  // as much as there is room for
    for (int block = 0; block < 256 && filler.good(); ++block) filler << std::string(1'024, 'f');
  }
  const Answer refused = stage_.json("ann", {"acquire", "second"});
  EXPECT_EQ(refused.status, 69) << refused.all();
  EXPECT_EQ(code_of(refused), "no_space") << refused.all();
  EXPECT_EQ(stage_.list()["leases"].size(), 1U) << "nothing was granted";
  EXPECT_THAT(stage_.traces(), IsEmpty());
  stage_.expect(0, "bob", {"check", "second"});
  stage_.expect(0, "ann", {"release", "first"});
  fs::remove(stage_.repo() + "/spec/filler");
  fs::remove(stage_.repo() + "/out/filler");
  stage_.expect(0, "ann", {"acquire", "second"});
  EXPECT_THAT(stage_.mkdir_locks(), ElementsAre("second"));
  EXPECT_EQ(stage_.workflow_mirrors().size(), 1U);
  stage_.healthy();
}

TEST_F(Mounted, I10_AReadOnlyFolderGrantsNothingLosesNothingAndRecovers) {
  mount_small("/spec");
  stage_.add_both();
  const Answer held = stage_.expect(0, "ann", {"acquire", "first"});
  ASSERT_TRUE(stage_.bash_takes("theirs"));
  make_read_only("/spec", true);
  const Answer refused = stage_.json("ann", {"acquire", "second"});
  EXPECT_THAT(refused.status, AnyOf(69, 77)) << refused.all();
  EXPECT_THAT(refused.out, HasSubstr(stage_.repo() + "/spec"));
  EXPECT_EQ(stage_.workflow_mirrors().size(), 1U) << "taken back where it had appeared";
  stage_.expect(75, "ann", {"check", "theirs"});
  stage_.expect(0, "ann", {"renew", "first"});
  stage_.expect(0, "ann", {"release", "--lease", held.lease()});
  stage_.expect(0, "bob", {"check", "first"});
  make_read_only("/spec", false);
  stage_.expect(0, "bob", {"acquire", "other"});
  EXPECT_THAT(stage_.mkdir_locks(), ElementsAre("other", "theirs"))
      << "what had to stay is removed";
  stage_.healthy();
}

TEST_F(Mounted, AReadOnlyFolderIsGivenUpOnAPersonsWord) {
  mount_small("/spec");
  const std::string id = stage_.add("mkdir", "spec");
  make_read_only("/spec", true);
  stage_.expect(0, "", {"layout", "remove", id});
  stage_.expect(0, "ann", {"acquire", "a.c"});
}

// Who may not write there is not root; the folder is another's.
TEST_F(Trouble, I10_AFolderThatMayNotBeWrittenGrantsNothing) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to have somebody without the right";
  constexpr uid_t kNobody = 65534;
  const auto as_nobody = [&](Words words) {
    words.insert(words.begin() + 1, "--json");
    Launch launch = stage_.launch("ann", words);
    launch.uid = kNobody;
    return stage_.finish(std::move(launch));
  };
  fs::permissions(stage_.path(""), fs::perms::all);
  for (const char* name : {"repo", "home", "state", "words"}) {
    for (const auto& entry : fs::recursive_directory_iterator(stage_.path(name))) {
      ASSERT_EQ(::lchown(entry.path().c_str(), kNobody, kNobody), 0);
    }
    ASSERT_EQ(::chown(stage_.path(name).c_str(), kNobody, kNobody), 0);
  }
  const Answer added = as_nobody({"layout", "add", "mkdir", "spec"});
  ASSERT_EQ(added.status, 0) << added.all();
  ASSERT_EQ(::chown((stage_.repo() + "/spec").c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod((stage_.repo() + "/spec").c_str(), 0555), 0);
  const Answer refused = as_nobody({"acquire", "a.c"});
  EXPECT_THAT(refused.status, AnyOf(69, 77)) << refused.all();
  EXPECT_THAT(refused.out, HasSubstr("spec"));
  const Answer free = as_nobody({"check", "a.c"});
  EXPECT_EQ(free.status, 0) << free.all();
  ASSERT_EQ(::chmod((stage_.repo() + "/spec").c_str(), 0), 0);
  const Answer unknown = as_nobody({"check", "a.c"});
  EXPECT_THAT(unknown.status, AnyOf(69, 77)) << "cannot tell is not free: " << unknown.all();
  ASSERT_EQ(::chmod((stage_.repo() + "/spec").c_str(), 0755), 0);
}

// What the table has as ours and what stands there: compared, told, and healed by the next look.
TEST_F(Trouble, TheDoctorComparesArtefactsWithTheirRows) {
  stage_.add_both();
  const std::string lease = stage_.expect(0, "ann", {"acquire", "a.c"}).lease();
  stage_.healthy();
  const std::string ours = read_text(stage_.mkdir_lock("a.c") + "/owner");
  write_text(stage_.mkdir_lock("a.c") + "/owner", "agent: mallory\ntask: -\n");
  Answer sick = stage_.expect(69, "", {"doctor"});
  EXPECT_THAT(sick.out, HasSubstr("files/a.c"));
  EXPECT_THAT(sick.out, HasSubstr(lease));
  EXPECT_THAT(sick.out, HasSubstr("mallory"));
  write_text(stage_.mkdir_lock("a.c") + "/owner", ours);
  stage_.healthy();
  stage_.bash_drops("a.c");
  sick = stage_.expect(69, "", {"doctor"});
  EXPECT_THAT(sick.out, HasSubstr("files/a.c\\\" is missing"));
  stage_.expect(0, "", {"layout", "list"});
  stage_.healthy();
  stage_.expect(0, "ann", {"release", "a.c"});
  stage_.healthy();
}

}  // namespace
}  // namespace lockkeeper::layouts
