#include "dialect/mkdir/mkdir_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "dialect/mkdir/owner.h"
#include "host/file_ops.h"
#include "realm/test_repository.h"

namespace lockkeeper::dialect::mkdir {
namespace {

namespace fs = std::filesystem;
using layout::Published;
using layout::Removed;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class MkdirLayoutTest : public testing::Test {
 protected:
  MkdirLayoutTest() {
    files_.init("repo");
    realm_ = files_.realm("repo");
    use(files_.at("repo/spec"));
  }

  void use(const std::string& root, std::vector<std::string> ignored = {}) {
    layout::LayoutEntry entry;
    entry.kind = kKind;
    entry.root = root;
    entry.ignored = std::move(ignored);
    const layout::LayoutContext context{realm_, settings_, env_, clock_};
    layout_ = std::make_unique<MkdirLayout>(entry, context);
  }
  std::string lock(const std::string& name) const { return "repo/spec/.locks/" + name; }
  void foreign(const std::string& name, const std::string& agent, const std::string& task = "T-9") {
    files_.write(lock(name) + "/owner",
                 "agent: " + agent + "\ntask: " + task + "\ntimestamp: 2026-01-17T15:30:00Z\n");
  }
  key::Resource resource(const std::string& text) const {
    const auto syntax = text.starts_with("task:") ? key::Syntax::kAuto : key::Syntax::kLiteral;
    return key::parse(text, {}, syntax)->resource;
  }
  core::Lease lease(const std::string& text, const std::string& agent = "ann",
                    std::uint8_t number = 1) const {
    core::Lease lease;
    lease.id = *core::LeaseId::from_text(std::string(30, '0') + "0" + std::to_string(number));
    lease.owner = {agent, "s"};
    lease.terms.task = "T-1";
    lease.acquired_wall_ms = 1'768'663'800'123;
    lease.claims.push_back({resource(text), core::Mode::kExclusive, 0});
    return lease;
  }
  std::vector<std::string> claims_of(const std::string& name) {
    const auto seen = layout_->scan_source("files/" + encoded(name));
    EXPECT_TRUE(seen);
    std::vector<std::string> texts;
    if (!seen || seen->sightings.empty()) return texts;
    for (const core::Claim& claim : seen->sightings[0].lock.claims) {
      texts.push_back(claim.resource.text());
    }
    return texts;
  }
  layout::ScanResult look(const std::vector<std::string>& texts) {
    std::vector<key::Resource> wanted;
    for (const std::string& text : texts) wanted.push_back(resource(text));
    const auto seen = layout_->scan({&wanted, {}, {}});
    EXPECT_TRUE(seen) << seen.error().message;
    return seen.value_or(layout::ScanResult{});
  }
  std::string owner_of(const std::string& name) const {
    return read_file(files_.at(lock(name) + "/owner")).value_or("");
  }
  bool there(const std::string& name) const {
    return fs::symlink_status(files_.at(lock(name))).type() != fs::file_type::not_found;
  }
  std::vector<std::string> in_locks() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(files_.at("repo/spec/.locks"))) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  realm::TestRepository files_;
  realm::Environment env_ = files_.env();
  realm::Realm realm_;
  realm::Settings settings_;
  realm::MovedClock clock_;
  std::unique_ptr<MkdirLayout> layout_;
};

TEST_F(MkdirLayoutTest, NothingThereIsNothingSeenAndNothingMade) {
  const auto all = layout_->scan({});
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->complete);
  EXPECT_THAT(all->sightings, IsEmpty());
  EXPECT_THAT(look({"src/a.py"}).absent, Contains("files/src__a.py"));
  EXPECT_FALSE(fs::exists(files_.at("repo/spec")));
}

TEST_F(MkdirLayoutTest, AForeignLockIsSeenWithItsOwner) {
  files_.write("repo/src/a.py", "x");
  foreign("files/src__a.py", "implementer");
  foreign("tasks/T-9", "implementer");
  const auto all = layout_->scan({});
  ASSERT_TRUE(all);
  ASSERT_EQ(all->sightings.size(), 2U);
  const core::ForeignLock& task = all->sightings[0].lock;
  EXPECT_EQ(task.artefact, "tasks/T-9");
  EXPECT_EQ(task.claims[0].resource.text(), "task:T-9");
  const core::ForeignLock& file = all->sightings[1].lock;
  EXPECT_EQ(file.layout, layout_->id());
  EXPECT_EQ(file.path, files_.at(lock("files/src__a.py")));
  EXPECT_EQ(file.owner, (core::Owner{"implementer", file.path}));
  EXPECT_EQ(file.task, "T-9");
  EXPECT_EQ(file.since_wall_ms, 1'768'663'800'000);
  EXPECT_EQ(file.expires_wall_ms, kNoEnd);
  ASSERT_EQ(file.claims.size(), 1U);
  EXPECT_EQ(file.claims[0].resource.text(), "src/a.py");
  EXPECT_EQ(file.claims[0].mode, core::Mode::kExclusive);
}

TEST_F(MkdirLayoutTest, OneNameStandsForWhatExistsElseForAllItMayMean) {
  foreign("files/src__a.py", "x");
  EXPECT_THAT(claims_of("src__a.py"), ElementsAre("src/a.py", "src__a.py"));
  files_.write("repo/src__a.py", "x");
  EXPECT_THAT(claims_of("src__a.py"), ElementsAre("src__a.py"));
  files_.write("repo/src/a.py", "x");
  EXPECT_THAT(claims_of("src__a.py"), ElementsAre("src/a.py", "src__a.py"));
  files_.write("repo/src/__init__.py", "x");
  foreign("files/src____init__.py", "x");
  EXPECT_THAT(claims_of("src____init__.py"), ElementsAre("src/__init__.py"));
  files_.write("repo/notes:today", "x");
  foreign("files/notes_today", "x");
  EXPECT_THAT(claims_of("notes_today"), ElementsAre("./notes:today"));
}

TEST_F(MkdirLayoutTest, ADeepNameWithMoreReadingsThanTheLimitIsFoundOnDisk) {
  const std::string path = "packages/web/src/components/forms/__tests__/login/";
  files_.write("repo/" + path + "a.test.ts", "x");
  foreign("files/" + sanitised(path + "a.test.ts"), "x");
  EXPECT_THAT(claims_of(sanitised(path + "a.test.ts")), ElementsAre(path + "a.test.ts"));
  foreign("files/" + sanitised(path + "new.ts"), "x");
  EXPECT_THAT(claims_of(sanitised(path + "new.ts")), Contains(path + "new.ts"));
}

TEST_F(MkdirLayoutTest, OtherSpellingsMeanTheSameFile) {
  files_.write("repo/a/b", "x");
  files_.link("a", "repo/link");
  const std::string absolute = sanitised(files_.at("repo/a/b"));
  for (const std::string& name : {std::string(".__a__b"), std::string("a____b"),
                                  std::string("a__.__b"), std::string("link__b"), absolute}) {
    foreign("files/" + name, "x");
    EXPECT_THAT(claims_of(name), ElementsAre("a/b")) << name;
  }
  // `./` and the absolute path are looked for by name, so an acquire meets them at once.
  const layout::ScanResult seen = look({"a/b"});
  std::vector<std::string> names;
  for (const layout::Source& source : seen.sources) names.push_back(source.name);
  EXPECT_THAT(names, UnorderedElementsAre("files/.__a__b", "files/" + absolute));
}

TEST_F(MkdirLayoutTest, AFolderIsLockedByItsNameAndAFileByTheFoldersAboveIt) {
  files_.folder("repo/src/deep");
  foreign("files/src", "x");
  EXPECT_THAT(claims_of("src"), ElementsAre("src/"));
  const layout::ScanResult seen = look({"src/deep/a.py"});
  ASSERT_EQ(seen.sightings.size(), 1U);
  EXPECT_EQ(seen.sightings[0].lock.artefact, "files/src");
  EXPECT_FALSE(seen.complete);
  EXPECT_THAT(seen.absent, Contains("files/src__deep"));
  EXPECT_TRUE(look({"src/"}).complete);
}

TEST_F(MkdirLayoutTest, OnlyWhatIsWantedIsLookedAt) {
  for (int i = 0; i < 20; ++i) foreign("files/other" + std::to_string(i), "x");
  foreign("tasks/T-1", "x");
  EXPECT_THAT(look({"src/a.py"}).sources, IsEmpty());
  EXPECT_EQ(look({"src/a.py", "task:T-1"}).sources.size(), 1U);
  EXPECT_EQ(look({"src/"}).sources.size(), 21U);
  EXPECT_EQ(look({"db:migration-slot"}).sources.size(), 0U);
}

TEST_F(MkdirLayoutTest, WhatIsKnownIsNotReadAgainUntilItChanges) {
  foreign("files/a", "x");
  const auto first = layout_->scan({});
  ASSERT_TRUE(first);
  const layout::Source source = first->sources.at(0);
  EXPECT_TRUE(source.fresh);
  const auto known = [&](const std::string& name, std::uint64_t stamp) {
    return name == source.name && stamp == source.stamp;
  };
  clock_.ahead_ms = 10'000;
  auto again = layout_->scan({nullptr, known, {}});
  ASSERT_TRUE(again);
  EXPECT_THAT(again->sightings, IsEmpty());
  EXPECT_FALSE(again->sources.at(0).fresh);
  files_.write(lock("files/a/owner"), "agent: another\n");
  again = layout_->scan({nullptr, known, {}});
  ASSERT_TRUE(again);
  ASSERT_EQ(again->sightings.size(), 1U);
  EXPECT_EQ(again->sightings[0].lock.owner.agent, "another");
}

TEST_F(MkdirLayoutTest, TheUnusualReadingThatIsWantedIsSeenThoughTheLockIsKnown) {
  files_.write("repo/a/b", "x");
  foreign("files/a__b", "x");
  const std::uint64_t stamp = layout_->scan({})->sources.at(0).stamp;
  const auto known = [&](const std::string&, std::uint64_t now) { return now == stamp; };
  std::vector<key::Resource> wanted = {resource("a/b")};
  EXPECT_THAT(layout_->scan({&wanted, known, {}})->sightings, IsEmpty());
  wanted = {resource("a__b")};
  const auto seen = layout_->scan({&wanted, known, {}});
  ASSERT_EQ(seen->sightings.size(), 1U);
  EXPECT_EQ(seen->sightings[0].lock.claims.size(), 2U);
  EXPECT_THAT(claims_of("a__b"), ElementsAre("a/b", "a__b"));
}

TEST_F(MkdirLayoutTest, WhoeverWasKilledBetweenHisTwoStepsHoldsItAsUnknown) {
  files_.folder(lock("files/a"));
  files_.write(lock("files/b/owner"), "");
  files_.write(lock("files/c"), "a file where a folder should be");
  files_.link("/etc", lock("files/d"));
  files_.folder(lock("files/e/owner"));
  files_.link("/etc/passwd", lock("files/f/owner"));
  files_.write(lock("files/g/owner"), std::string(kOwnerBytesMax + 1, 'x'));
  const auto seen = layout_->scan({});
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->sightings.size(), 7U);
  for (const layout::Sighting& sighting : seen->sightings) {
    EXPECT_EQ(sighting.lock.owner.agent, kUnknownAgent) << sighting.lock.path;
    EXPECT_GT(sighting.lock.since_wall_ms, 0);
  }
  EXPECT_EQ(seen->notes.size(), 5U) << testing::PrintToString(seen->notes);
}

TEST_F(MkdirLayoutTest, NamesThatNoResourceHasAreNotedAndBlockNothing) {
  files_.folder(lock("tasks/with blank"));
  files_.folder(lock("files/ends with "));
  files_.folder(lock("files/\xff\xfe"));
  files_.folder(lock(std::string("files/control\x01")));
  const auto seen = layout_->scan({});
  ASSERT_TRUE(seen);
  EXPECT_THAT(seen->sightings, IsEmpty());
  EXPECT_EQ(seen->notes.size(), 4U);
}

TEST_F(MkdirLayoutTest, WhatIsOutsideTheRealmIsNotItsBusiness) {
  files_.write("elsewhere", "x");
  foreign("files/..__elsewhere", "x");
  EXPECT_THAT(claims_of("..__elsewhere"), ElementsAre("..__elsewhere"));
}

TEST_F(MkdirLayoutTest, LocksFolderThatIsASymlinkIsAnErrorAndNotFollowed) {
  files_.folder("repo/spec");
  files_.folder("target/files/a");
  files_.link("../../target", "repo/spec/.locks");
  for (const auto& seen : {layout_->scan({}), layout_->scan_source("files/a")}) {
    ASSERT_FALSE(seen);
    EXPECT_EQ(seen.error().code, Code::kStoreUnavailable);
  }
  EXPECT_FALSE(layout_->prepare(lease("b"), "files/b"));
  EXPECT_FALSE(layout_->remove("files/a", ""));
  EXPECT_TRUE(fs::exists(files_.at("target/files/a")));
  EXPECT_FALSE(fs::exists(files_.at("target/files/b")));
}

TEST_F(MkdirLayoutTest, ANameThatTriesToEscapeIsRefused) {
  files_.write("repo/spec/victim", "x");
  for (const char* name : {"files/..", "files/.", "files/", "files", "tasks/../victim", "x/a",
                           "files/a/b", "../spec/victim"}) {
    EXPECT_FALSE(layout_->remove(name, "")) << name;
    EXPECT_FALSE(layout_->scan_source(name)) << name;
    EXPECT_FALSE(layout_->publish(lease("a"), name, {})) << name;
  }
  EXPECT_TRUE(fs::exists(files_.at("repo/spec/victim")));
}

TEST_F(MkdirLayoutTest, ShowsFilesAndTasksAndSaysWhatItCannotShow) {
  core::Lease many = lease("src/a.py");
  for (const char* text : {"task:T-1", "./notes:today", "src__a.py"}) {
    many.claims.push_back({resource(text), core::Mode::kExclusive, 0});
  }
  many.claims.push_back({resource("docs/"), core::Mode::kExclusive, 0});
  many.claims.push_back({key::parse("src/*.h", {})->resource, core::Mode::kExclusive, 0});
  many.claims.push_back({key::parse("db:migration-slot", {})->resource, core::Mode::kShared, 0});
  many.claims.push_back(
      {resource(std::string(200, 'x') + "/" + std::string(200, 'y')), core::Mode::kExclusive, 0});
  const layout::Artefacts artefacts = layout_->artefacts(many);
  EXPECT_THAT(artefacts.names, ElementsAre("files/src__a.py", "tasks/T-1", "files/notes_today"));
  EXPECT_EQ(artefacts.unmirrored.size(), 4U);
  EXPECT_THAT(artefacts.unmirrored, Contains("docs/"));
  core::Lease folder = lease("docs/");
  folder.terms.layout = layout_->id();
  folder.terms.artefact = "files/docs";
  EXPECT_THAT(layout_->artefacts(folder).names, ElementsAre("files/docs"));
  EXPECT_THAT(layout_->artefacts(folder).unmirrored, IsEmpty());
}

TEST_F(MkdirLayoutTest, PathsAreRelativeToTheFolderThatHoldsSpec) {
  files_.write("repo/app/src/a.py", "x");
  use(files_.at("repo/app/spec"));
  EXPECT_EQ(layout_->artefact_of(resource("app/src/a.py")), "files/src__a.py");
  EXPECT_EQ(layout_->artefact_of(resource("lib/x")), "files/..__lib__x");
  std::vector<std::string> notes;
  const auto paths = layout_->paths_of("src__a.py", notes);
  ASSERT_EQ(paths.size(), 1U);
  EXPECT_EQ(paths[0].text(), "app/src/a.py");
  EXPECT_EQ(layout_->paths_of("..__lib__x", notes).at(0).text(), "lib/x");
  use(files_.at("outside/spec"));
  EXPECT_EQ(layout_->artefact_of(resource("app/src/a.py")), "files/app__src__a.py");
}

TEST_F(MkdirLayoutTest, AnotherWorktreesSpecMeansTheSameFiles) {
  files_.write("repo/src/a.py", "x");
  files_.git("repo", "worktree add ../second");
  files_.write("second/src/a.py", "x");
  use(files_.at("second/spec"));
  EXPECT_EQ(layout_->artefact_of(resource("src/a.py")), "files/src__a.py");
  std::vector<std::string> notes;
  EXPECT_EQ(layout_->paths_of("src__a.py", notes).at(0).text(), "src/a.py");
}

TEST_F(MkdirLayoutTest, I2_ALockAppearsWholeWithItsThreeLines) {
  const core::Lease mine = lease("src/a.py");
  ASSERT_TRUE(layout_->prepare(mine, "files/src__a.py"));
  EXPECT_TRUE(*layout_->is_prepared(mine.id, "files/src__a.py"));
  EXPECT_FALSE(*layout_->is_prepared(mine.id, "files/b"));
  EXPECT_THAT(layout_->scan({})->sources, IsEmpty());
  EXPECT_EQ(layout_->publish(mine, "files/src__a.py", {}), Published::kDone);
  EXPECT_FALSE(*layout_->is_prepared(mine.id, "files/src__a.py"));
  EXPECT_EQ(owner_of("files/src__a.py"),
            "agent: ann\ntask: T-1\ntimestamp: " + local_time(mine.acquired_wall_ms) + "\n");
  EXPECT_EQ(layout_->scan({})->sightings.at(0).identity,
            layout_->identity(mine, "files/src__a.py"));
  EXPECT_THAT(in_locks(), ElementsAre("files"));
  EXPECT_EQ(layout_->remove("files/src__a.py", layout_->identity(mine, "")), Removed::kDone);
  EXPECT_FALSE(there("files/src__a.py"));
  EXPECT_EQ(layout_->remove("files/src__a.py", layout_->identity(mine, "")), Removed::kGone);
  EXPECT_THAT(in_locks(), ElementsAre("files"));
}

TEST_F(MkdirLayoutTest, I1_PublishingNeverReplacesAnothersLock) {
  const core::Lease mine = lease("a");
  foreign("files/a", "bash");
  ASSERT_TRUE(layout_->prepare(mine, "files/a"));
  EXPECT_EQ(layout_->publish(mine, "files/a", {}), Published::kTaken);
  EXPECT_THAT(owner_of("files/a"), HasSubstr("agent: bash"));
  ASSERT_TRUE(layout_->discard(mine.id, "files/a"));
  EXPECT_THAT(in_locks(), ElementsAre("files"));
  EXPECT_EQ(layout_->remove("files/a", layout_->identity(mine, "files/a")), Removed::kForeign);
  EXPECT_TRUE(there("files/a"));
  // Not even one that is empty yet: rename(2) would replace that.
  files_.folder(lock("files/b"));
  ASSERT_TRUE(layout_->prepare(mine, "files/b"));
  EXPECT_EQ(layout_->publish(mine, "files/b", {}), Published::kTaken);
  EXPECT_FALSE(there("files/b/owner"));
  EXPECT_EQ(layout_->remove("files/b", layout_->identity(mine, "files/b")), Removed::kForeign);
  EXPECT_EQ(layout_->remove("files/b", ""), Removed::kDone);
}

TEST_F(MkdirLayoutTest, ReplacesOneOfOursInOneStepAndKnowsItsOwn) {
  const core::Lease first = lease("a", "ann", 1);
  const core::Lease second = lease("a", "bob", 2);
  ASSERT_EQ(layout_->publish(first, "files/a", {}), Published::kDone);
  ASSERT_EQ(layout_->publish(second, "files/a", {{layout_->identity(first, "files/a")}, {}}),
            Published::kDone);
  EXPECT_THAT(owner_of("files/a"), HasSubstr("agent: bob"));
  ASSERT_EQ(layout_->publish(second, "files/a", {}), Published::kDone);
  EXPECT_THAT(in_locks(), ElementsAre("files"));
}

TEST_F(MkdirLayoutTest, PreparedIsMadeAgainWhereSomebodyClearedTheFolder) {
  const core::Lease mine = lease("a");
  ASSERT_TRUE(layout_->prepare(mine, "files/a"));
  fs::remove_all(files_.at("repo/spec"));
  EXPECT_EQ(layout_->publish(mine, "files/a", {}), Published::kDone);
  EXPECT_TRUE(there("files/a/owner"));
}

TEST_F(MkdirLayoutTest, LocksOfOthersWithMoreInThemAreRemovedOnAPersonsWord) {
  foreign("files/a", "bash");
  files_.write(lock("files/a/notes/deep.txt"), "x");
  EXPECT_EQ(layout_->remove("files/a", ""), Removed::kDone);
  files_.write(lock("files/c"), "plain");
  EXPECT_EQ(layout_->remove("files/c", ""), Removed::kDone);
  files_.write("repo/keep", "x");
  files_.link("../../../keep", lock("files/d"));
  EXPECT_EQ(layout_->remove("files/d", ""), Removed::kDone);
  EXPECT_TRUE(fs::exists(files_.at("repo/keep")));
  EXPECT_THAT(in_locks(), ElementsAre("files"));
}

TEST_F(MkdirLayoutTest, WhatACrashLeftAsideIsTidiedLater) {
  files_.folder("repo/spec/.locks/.removed-1000-77-1");
  files_.folder("repo/spec/.locks/.removed-" + std::to_string(clock_.now().wall_ms) + "-77-1");
  files_.folder("repo/spec/.locks/files");
  ASSERT_TRUE(layout_->prepare(lease("a"), "files/a"));
  EXPECT_EQ(layout_->tidy(), 1U);
  EXPECT_EQ(in_locks().size(), 3U);
  clock_.ahead_ms = 120'000;
  EXPECT_EQ(layout_->tidy(), 2U);
  EXPECT_THAT(in_locks(), ElementsAre("files"));
}

TEST_F(MkdirLayoutTest, ModesFollowTheUmask) {
  const mode_t old = ::umask(022);
  ASSERT_EQ(layout_->publish(lease("a"), "files/a", {}), Published::kDone);
  ::umask(old);
  struct stat found{};
  ASSERT_EQ(::stat(files_.at(lock("files/a")).c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0755U);
  ASSERT_EQ(::stat(files_.at(lock("files/a/owner")).c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0644U);
}

TEST_F(MkdirLayoutTest, WithoutTheRenameThatNeverReplacesMkdirTakesTheName) {
  files_.folder("repo/x/into");
  files_.write("repo/x/ready/owner", "agent: a\n");
  files_.write("repo/x/file", "text");
  const auto from = Folder::open(files_.at("repo/x"), "");
  const auto into = Folder::open(files_.at("repo/x"), "into");
  ASSERT_TRUE(from && into);
  files_.folder("repo/x/into/empty");
  EXPECT_EQ(host::rename_by_steps(*from, "ready", *into, "empty"), false);
  EXPECT_EQ(host::rename_by_steps(*from, "ready", *into, "a"), true);
  EXPECT_TRUE(fs::exists(files_.at("repo/x/into/a/owner")));
  EXPECT_EQ(host::rename_by_steps(*from, "file", *into, "a"), false);
  EXPECT_EQ(host::rename_by_steps(*from, "file", *into, "f"), true);
  EXPECT_FALSE(fs::exists(files_.at("repo/x/file")));
  EXPECT_FALSE(host::rename_by_steps(*from, "gone", *into, "g"));
}

TEST_F(MkdirLayoutTest, IgnoredLocksAndUnknownOptions) {
  foreign("files/a", "x");
  use(files_.at("repo/spec"), {files_.at(lock("files/a"))});
  EXPECT_THAT(layout_->scan({})->sightings, IsEmpty());
  layout::LayoutEntry entry = layout_->entry();
  entry.options["colour"] = "red";
  const layout::LayoutContext context{realm_, settings_, env_, clock_};
  EXPECT_EQ(make_mkdir_layout(entry, context).error().code, Code::kInvalidInput);
}

}  // namespace
}  // namespace lockkeeper::dialect::mkdir
