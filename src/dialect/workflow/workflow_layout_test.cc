#include "dialect/workflow/workflow_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "base/bytes.h"
#include "realm/test_repository.h"

namespace lockkeeper::dialect::workflow {
namespace {

namespace fs = std::filesystem;
using layout::Published;
using layout::Removed;
using layout::ScanResult;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class SetClock final : public Clock {
 public:
  Now now() const override { return {.mono_ms = 1, .wall_ms = wall_ms}; }
  std::int64_t wall_ms = 0;
};

constexpr std::int64_t kHour = 3'600'000;

class WorkflowFolder : public testing::Test {
 protected:
  WorkflowFolder() {
    files_.folder("repo/src");
    files_.folder("repo/out");
    files_.write("repo/src/a.ts", "x");
    realm_.root = files_.at("repo");
    realm_.store_folder = files_.at("repo/.lockkeeper");
    clock_.wall_ms = SystemClock().now().wall_ms;
    entry_.kind = kKind;
    entry_.root = files_.at("repo/out");
  }

  WorkflowLayout layout() const {
    return {entry_, layout::LayoutContext{realm_, settings_, env_, clock_}};
  }
  std::string locks(const std::string& name) const { return files_.at("repo/out/locks/" + name); }

  std::string foreign_text(const std::string& agent, const std::string& files,
                           const std::string& more = "") const {
    return "{\"agent\":\"" + agent + "\",\"locked_at\":\"" + iso_seconds(clock_.wall_ms) +
           "\",\"files\":[" + files + "]" + more + ",\"expires_at\":\"" +
           iso_seconds(clock_.wall_ms + kHour) + "\"}";
  }
  void write(const std::string& name, const std::string& text) const {
    files_.write("repo/out/locks/" + name, text);
  }
  std::string text_of(const std::string& name) const {
    std::ifstream stream(locks(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::vector<std::string> listed() const {
    std::vector<std::string> names;
    if (!fs::exists(locks(""))) return names;
    for (const auto& each : fs::directory_iterator(locks("")))
      names.push_back(each.path().filename());
    std::ranges::sort(names);
    return names;
  }

  core::Lease lease(const std::string& agent, const std::vector<std::string>& texts,
                    char tail = '\x4d') const {
    core::Lease lease;
    lease.id.bytes = std::string("agntsess\x01\x02\x03\x04\x1a\x2b\x3c", 15) + tail;
    lease.owner = {agent, entry_.root};
    for (const std::string& text : texts) {
      lease.claims.push_back({key::parse(text, {})->resource, core::Mode::kExclusive, 0});
    }
    lease.acquired_wall_ms = clock_.wall_ms;
    lease.expires_wall_ms = clock_.wall_ms + kHour;
    lease.terms.layout = entry_.id();
    lease.terms.artefact = artefact_of(lock_name(agent));
    return lease;
  }
  // As the engine shows it.
  void show(const core::Lease& lease, const std::vector<std::string>& ours = {},
            Published expected = Published::kDone) {
    WorkflowLayout layout = this->layout();
    for (const std::string& artefact : layout.artefacts(lease).names) {
      ASSERT_TRUE(layout.prepare(lease, artefact));
      const auto published = layout.publish(lease, artefact, {ours, {}});
      ASSERT_TRUE(published) << published.error().message;
      EXPECT_EQ(*published, expected);
    }
  }

  static std::vector<std::string> keys(const layout::Sighting& sighting) {
    std::vector<std::string> keys;
    for (const core::Claim& claim : sighting.lock.claims) keys.push_back(claim.resource.text());
    return keys;
  }

  realm::TestRepository files_;
  realm::Realm realm_;
  realm::Settings settings_;
  realm::Environment env_ = files_.env();
  SetClock clock_;
  layout::LayoutEntry entry_;
};

TEST_F(WorkflowFolder, AFolderThatIsNotThereIsEmpty) {
  for (const char* const gone : {"repo/out/locks", "repo/out"}) {
    fs::remove_all(files_.at(gone));
    const auto seen = layout().scan({});
    ASSERT_TRUE(seen);
    EXPECT_TRUE(seen->complete);
    EXPECT_TRUE(seen->sources.empty());
  }
}

TEST_F(WorkflowFolder, ReadsTheFilesOfOtherTools) {
  write("frontend-developer.lock",
        foreign_text("frontend-developer", R"("src/a.ts","./src//b.ts","src\\c.ts","src/a.ts")",
                     R"(,"directories":["lib","src/x/"],"task_description":"tables","more":1)"));
  const auto seen = layout().scan({});
  ASSERT_TRUE(seen) << seen.error().message;
  ASSERT_EQ(seen->sightings.size(), 1U);
  const layout::Sighting& sighting = seen->sightings[0];
  EXPECT_THAT(keys(sighting), ElementsAre("src/a.ts", "src/b.ts", "src/c.ts", "lib/", "src/x/"));
  EXPECT_EQ(sighting.lock.owner, (core::Owner{"frontend-developer", entry_.root}));
  EXPECT_EQ(sighting.lock.artefact, "locks/frontend-developer.lock");
  EXPECT_EQ(sighting.lock.path, locks("frontend-developer.lock"));
  EXPECT_EQ(sighting.lock.layout, entry_.id());
  EXPECT_EQ(sighting.lock.reason, "tables");
  EXPECT_EQ(sighting.lock.expires_wall_ms, (clock_.wall_ms + kHour) / 1000 * 1000);
}

TEST_F(WorkflowFolder, PatternCharactersAndKeysAreNames) {
  write("a.lock", foreign_text("a", R"("src/*.ts","db:slot")"));
  const auto seen = layout().scan({});
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->sightings.size(), 1U);
  for (const core::Claim& claim : seen->sightings[0].lock.claims) {
    EXPECT_EQ(claim.resource.kind(), key::Kind::kFile);
  }
}

TEST_F(WorkflowFolder, WhatNamesNothingHereIsPassedOverWithANote) {
  write("a.lock", foreign_text("a", R"("../../etc/passwd","/etc/passwd","","src/a.ts")",
                               R"(,"directories":[".."])"));
  write("b.lock", foreign_text("b", R"("/elsewhere")"));
  const auto seen = layout().scan({});
  ASSERT_TRUE(seen) << seen.error().message;
  ASSERT_EQ(seen->sightings.size(), 1U);
  EXPECT_THAT(keys(seen->sightings[0]), ElementsAre("src/a.ts"));
  EXPECT_EQ(seen->sources.size(), 2U);
  EXPECT_EQ(seen->notes.size(), 6U);  // five entries, and that b locks nothing
  ASSERT_EQ(seen->over.size(), 1U);
  EXPECT_TRUE(seen->shows("locks/b.lock", seen->over[0].identity)) << "it is there";
}

TEST_F(WorkflowFolder, AnAbsolutePathInsideAndAFileWrittenAsFolderCount) {
  write("a.lock", foreign_text("a", "\"" + files_.at("repo/src/b.ts") + "\"",
                               R"(,"directories":["src/a.ts/"])"));
  const auto seen = layout().scan({});
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_THAT(keys(seen->sightings.at(0)), ElementsAre("src/b.ts", "src/a.ts"));
}

TEST_F(WorkflowFolder, WhatIsPastItsEndBlocksNobody) {
  write("a.lock", foreign_text("a", "\"src/a.ts\""));
  clock_.wall_ms += kHour + 2000;
  const auto seen = layout().scan({});
  ASSERT_TRUE(seen);
  EXPECT_TRUE(seen->sightings.empty());
  EXPECT_EQ(seen->sources.size(), 1U);
  ASSERT_EQ(seen->over.size(), 1U);  // but it is there
  EXPECT_TRUE(seen->shows("locks/a.lock", seen->over[0].identity));
}

TEST_F(WorkflowFolder, OnlyVisibleNamesThatEndInLockAreLocks) {
  for (const char* const name : {".a.lock", "a.lock.tmp", ".lock", "readme.md", "a.LOCK"}) {
    write(name, "no json");
  }
  fs::create_directory(locks("folder.lock"));
  const auto seen = layout().scan({});
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_TRUE(seen->sources.empty());
  EXPECT_THAT(seen->notes, ElementsAre(HasSubstr("is a folder")));
}

TEST_F(WorkflowFolder, KnownSourcesAreNotReadAgain) {
  write("a.lock", foreign_text("a", "\"src/a.ts\""));
  const auto first = layout().scan({});
  ASSERT_TRUE(first);
  layout::Interest interest;
  interest.known = [&](const std::string& source, std::uint64_t stamp) {
    return source == "locks/a.lock" && stamp == first->sources[0].stamp;
  };
  const auto again = layout().scan(interest);
  EXPECT_EQ(again->sources.size(), 1U);
  EXPECT_TRUE(again->sightings.empty());
  write("a.lock", foreign_text("a", "\"src/other.ts\""));
  EXPECT_EQ(layout().scan(interest)->sightings.size(), 1U);
}

TEST_F(WorkflowFolder, I10_WhatCannotBeReadIsNeverNoLock) {
  const auto refused = [&](const std::string& why) {
    const auto seen = layout().scan({});
    ASSERT_FALSE(seen) << why;
    EXPECT_EQ(seen.error().code, Code::kStoreUnavailable) << why;
    EXPECT_THAT(seen.error().message, HasSubstr(locks("x.lock")));
    EXPECT_THAT(seen.error().message, HasSubstr(why));
    EXPECT_THAT(seen.error().hint, HasSubstr("lockkeeper layout ignore " + locks("x.lock")));
    fs::remove(locks("x.lock"));
  };
  write("x.lock", "");
  refused("it is empty");
  write("x.lock", "{\"agent\":");
  refused("it is not JSON");
  write("x.lock", foreign_text("a\xff", ""));
  refused("it is not JSON");
  write("x.lock", R"({"agent":"a"})");
  refused("\"locked_at\" is missing");
  write("x.lock", foreign_text("a", "7"));
  refused("not a string");
  write("x.lock", std::string(kLockFileBytesMax + 1, ' '));
  refused("more than 1048576 bytes");
  files_.link("/etc/passwd", "repo/out/locks/x.lock");
  refused("is a symlink");
  ASSERT_EQ(::mkfifo(locks("x.lock").c_str(), 0600), 0);
  refused("not a regular file");
}

TEST_F(WorkflowFolder, AnIgnoredFileIsPassedOver) {
  write("x.lock", "nonsense");
  entry_.ignored = {"locks/x.lock"};
  const auto seen = layout().scan({});
  ASSERT_TRUE(seen);
  EXPECT_THAT(seen->notes, ElementsAre(HasSubstr("is ignored")));
}

TEST_F(WorkflowFolder, AFolderReplacedByASymlinkIsNotFollowed) {
  files_.folder("elsewhere");
  files_.link(files_.at("elsewhere"), "repo/out/locks");
  const auto seen = layout().scan({});
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().code, Code::kStoreUnavailable);
  EXPECT_FALSE(layout().prepare(lease("a", {"src/a.ts"}), "locks/a.lock"));
  EXPECT_TRUE(fs::is_empty(files_.at("elsewhere")));
}

TEST_F(WorkflowFolder, AHalfWrittenFileIsReadAgain) {
  const std::string whole = foreign_text("a", "\"src/a.ts\"");
  write("a.lock", whole.substr(0, 20));
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    write("a.lock", whole);
  });
  const auto seen = layout().scan({});
  writer.join();
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(seen->sightings.size(), 1U);
}

TEST_F(WorkflowFolder, GoldenOursAppearsWhole) {
  core::Lease ours = lease("frontend-developer", {"src/a.ts", "lib/"});
  ours.terms.reason = "tables";
  show(ours);
  EXPECT_THAT(listed(), ElementsAre("frontend-developer.lock"));
  EXPECT_EQ(text_of("frontend-developer.lock"), render(lock_file_of(ours)));
  struct stat found{};
  ASSERT_EQ(::stat(locks("frontend-developer.lock").c_str(), &found), 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(found.st_mode & 0777, 0666 & ~mask);
  const auto seen = layout().scan_source("locks/frontend-developer.lock");
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->sightings.size(), 1U);
  EXPECT_EQ(seen->sightings[0].identity, layout().identity(ours, "locks/frontend-developer.lock"));
}

TEST_F(WorkflowFolder, BetweenPreparingAndPublishingNobodySeesIt) {
  const core::Lease ours = lease("a", {"src/a.ts"});
  WorkflowLayout layout = this->layout();
  ASSERT_TRUE(layout.prepare(ours, "locks/a.lock"));
  ASSERT_TRUE(layout.prepare(ours, "locks/a.lock"));  // again, after a crash
  EXPECT_TRUE(*layout.is_prepared(ours.id, "locks/a.lock"));
  EXPECT_TRUE(layout.scan({})->sources.empty());
  ASSERT_EQ(listed().size(), 1U);
  EXPECT_FALSE(listed()[0].ends_with(".lock"));
  EXPECT_TRUE(listed()[0].starts_with("."));
  ASSERT_TRUE(layout.discard(ours.id, "locks/a.lock"));
  EXPECT_FALSE(*layout.is_prepared(ours.id, "locks/a.lock"));
  EXPECT_TRUE(listed().empty());
}

TEST_F(WorkflowFolder, WhatAnotherOfOurProcessesPublishedIsDone) {
  const core::Lease ours = lease("a", {"src/a.ts"});
  show(ours);
  EXPECT_EQ(*layout().publish(ours, "locks/a.lock", {}), Published::kDone);
  fs::remove(locks("a.lock"));  // and another tool removed it
  EXPECT_EQ(*layout().publish(ours, "locks/a.lock", {}), Published::kTaken);
}

TEST_F(WorkflowFolder, AnothersFileIsNeverReplaced) {
  const std::string theirs = foreign_text("a", "\"src/b.ts\"");
  write("a.lock", theirs);
  const core::Lease ours = lease("a", {"src/a.ts"});
  show(ours, {}, Published::kTaken);
  EXPECT_EQ(text_of("a.lock"), theirs);
  EXPECT_TRUE(*layout().is_prepared(ours.id, "locks/a.lock"));
  write("a.lock", "cannot be read");
  show(ours, {}, Published::kTaken);
  EXPECT_EQ(text_of("a.lock"), "cannot be read");
}

TEST_F(WorkflowFolder, AFileThatIsOverMakesWay) {
  write("a.lock", foreign_text("a", "\"src/b.ts\""));
  clock_.wall_ms += kHour + 2000;
  const core::Lease ours = lease("a", {"src/a.ts"});
  show(ours);
  EXPECT_EQ(text_of("a.lock"), render(lock_file_of(ours)));
  EXPECT_THAT(listed(), ElementsAre("a.lock"));
}

TEST_F(WorkflowFolder, OursMakesWayForItsSuccessor) {
  const core::Lease first = lease("a", {"src/a.ts"});
  show(first);
  const core::Lease second = lease("a", {"src/a.ts", "src/b.ts"}, '\x4e');  // in the same second
  show(second, {}, Published::kTaken);
  show(second, {layout().identity(first, "locks/a.lock")});
  EXPECT_EQ(text_of("a.lock"), render(lock_file_of(second)));
  EXPECT_EQ(*layout().remove("locks/a.lock", layout().identity(first, "locks/a.lock")),
            Removed::kForeign);
  EXPECT_EQ(*layout().remove("locks/a.lock", layout().identity(second, "locks/a.lock")),
            Removed::kDone);
  EXPECT_TRUE(listed().empty() || listed()[0].ends_with(".tmp"));
}

TEST_F(WorkflowFolder, RenewalShowsTheNewEndAndMakesTheFileYounger) {
  core::Lease ours = lease("a", {"src/a.ts", "src/b.ts"});
  show(ours);
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(3);
  fs::last_write_time(locks("a.lock"), old);
  ours.expires_wall_ms += kHour;
  ASSERT_TRUE(layout().refresh(ours, "locks/a.lock"));
  EXPECT_EQ(text_of("a.lock"), render(lock_file_of(ours)));
  EXPECT_GT(fs::last_write_time(locks("a.lock")), old);
  EXPECT_THAT(listed(), ElementsAre("a.lock"));
}

TEST_F(WorkflowFolder, ALeaseThatGaveBackAPartIsStillTold) {
  for (const bool through : {true, false}) {
    core::Lease ours = lease("a", {"src/a.ts", "src/b.ts"});
    if (!through) ours.terms.layout.clear();
    const std::string artefact = layout().artefacts(ours).names.at(0);
    const std::string identity = layout().identity(ours, artefact);
    show(ours);
    ours.claims.pop_back();
    ASSERT_TRUE(layout().refresh(ours, artefact));
    EXPECT_TRUE(layout().scan({})->shows(artefact, identity)) << artefact;
    // Only a mirror's scope may shrink: its identity is agent and time.
    EXPECT_EQ(layout().read(file_name_of(artefact)).value()->files.size(), through ? 2U : 1U);
    EXPECT_EQ(*layout().remove(artefact, identity), Removed::kDone);
  }
}

TEST_F(WorkflowFolder, NamesWithAHashAreSeenAsAnyOther) {
  write("a#b%.lock", foreign_text("a", "\"src/a.ts\""));
  const auto seen = layout().scan({});
  ASSERT_EQ(seen->sightings.size(), 1U);
  const std::string artefact = seen->sightings[0].lock.artefact;
  EXPECT_EQ(layout::source_of(artefact), artefact);
  EXPECT_EQ(file_name_of(artefact), "a#b%.lock");
  EXPECT_EQ(layout().scan_source(artefact)->sightings.size(), 1U);
  entry_.ignored = {"locks/a#b%.lock"};
  EXPECT_TRUE(layout().scan({})->sightings.empty());
}

TEST_F(WorkflowFolder, RenewalLeavesAnothersFileAlone) {
  core::Lease ours = lease("a", {"src/a.ts"});
  ours.acquired_wall_ms -= 5000;
  const std::string theirs = foreign_text("a", "\"src/b.ts\"");
  write("a.lock", theirs);
  ASSERT_TRUE(layout().refresh(ours, "locks/a.lock"));
  EXPECT_EQ(text_of("a.lock"), theirs);
  fs::remove(locks("a.lock"));
  ASSERT_TRUE(layout().refresh(ours, "locks/a.lock"));
  EXPECT_TRUE(listed().empty());
}

TEST_F(WorkflowFolder, RemovesOursAlone) {
  const core::Lease ours = lease("a", {"src/a.ts"});
  const std::string identity = layout().identity(ours, "locks/a.lock");
  EXPECT_EQ(*layout().remove("locks/a.lock", identity), Removed::kGone);
  const std::string theirs = foreign_text("b", "\"src/b.ts\"");
  write("a.lock", theirs);
  EXPECT_EQ(*layout().remove("locks/a.lock", identity), Removed::kForeign);
  EXPECT_EQ(text_of("a.lock"), theirs);
  EXPECT_EQ(*layout().remove("locks/a.lock", ""), Removed::kDone);
  show(ours);
  EXPECT_EQ(*layout().remove("locks/a.lock", identity), Removed::kDone);
  EXPECT_TRUE(listed().empty());
}

TEST_F(WorkflowFolder, WhatACrashSetAsideIsClearedOrPutBack) {
  const core::Lease ours = lease("a", {"src/a.ts"});
  show(ours);
  const std::string identity = layout().identity(ours, "locks/a.lock");
  // Killed after our own was set aside, and after another's was.
  std::string hash;
  append_be64(hash, hash64(identity));
  const std::string aside = ".a.lock." + to_hex(hash) + ".old";
  fs::rename(locks("a.lock"), locks(aside));
  ASSERT_TRUE(layout().scan({}));
  EXPECT_TRUE(listed().empty());
  const std::string theirs = foreign_text("b", "\"src/b.ts\"");
  write(aside, theirs);
  ASSERT_TRUE(layout().scan({}));
  EXPECT_THAT(listed(), ElementsAre("a.lock"));
  EXPECT_EQ(text_of("a.lock"), theirs);
}

TEST_F(WorkflowFolder, OtherLeasesAreShownUnderNamesOfTheirOwn) {
  core::Lease native = lease("backend", {"src/a.ts", "src/**/*.h", "api:GET /v1/x"});
  native.terms.layout.clear();
  native.terms.artefact.clear();
  const layout::Artefacts artefacts = layout().artefacts(native);
  EXPECT_THAT(artefacts.names, ElementsAre("locks/backend.lk-1a2b3c4d.lock"));
  EXPECT_THAT(artefacts.unmirrored, ElementsAre("src/**/*.h", "api:GET /v1/x"));
  show(native);
  EXPECT_EQ(parse_lock_file(text_of("backend.lk-1a2b3c4d.lock"))->files.size(), 1U);
  native.claims.erase(native.claims.begin());
  EXPECT_TRUE(layout().artefacts(native).names.empty());
}

TEST_F(WorkflowFolder, AnOutputThatIsGoneIsNotMadeAgain) {
  core::Lease native = lease("backend", {"src/a.ts", "lib/"});
  native.terms.layout.clear();
  fs::remove_all(files_.at("repo/out"));
  EXPECT_TRUE(layout().artefacts(native).names.empty());
  EXPECT_THAT(layout().artefacts(native).unmirrored, ElementsAre("src/a.ts", "lib/"));
}

TEST_F(WorkflowFolder, NamesTellLocksTracesAndTheRest) {
  EXPECT_FALSE(layout().names()->folder);
  ASSERT_TRUE(layout().prepare(lease("b", {"x"}), "locks/b.lock"));
  write("a.lock", "{}");
  write("notes.md", "x");
  const auto names = layout().names();
  ASSERT_TRUE(names);
  EXPECT_TRUE(names->folder);
  EXPECT_THAT(names->locks, ElementsAre("a.lock"));
  EXPECT_THAT(names->others, ElementsAre("notes.md"));
  EXPECT_EQ(names->traces.size(), 1U);
}

TEST_F(WorkflowFolder, TheSessionIsTheOutputsPath) {
  EXPECT_EQ(session_of(entry_), entry_.root);
  entry_.root = "/" + std::string(300, 'x');
  EXPECT_EQ(session_of(entry_), entry_.id());
}

TEST_F(WorkflowFolder, ItHasNoOptions) {
  const layout::LayoutContext context{realm_, settings_, env_, clock_};
  EXPECT_TRUE(make_layout(entry_, context));
  entry_.options["suffix"] = ".lck";
  EXPECT_EQ(make_layout(entry_, context).error().code, Code::kInvalidInput);
}

// The protocol's name, for what `workflow run` starts its agents with.
TEST_F(WorkflowFolder, D5_TheAgentsOfARunHaveTheProtocolsNames) {
  entry_.options["run"] = "run-7";
  core::Lease of_run = lease("front", {"src/a.ts"});
  of_run.terms.layout = of_run.terms.artefact = "";
  of_run.owner.session = "run-7/front.1";
  EXPECT_THAT(layout().artefacts(of_run).names, ElementsAre("locks/front.lock"));
  core::Lease inside = of_run;  // what the agent takes on the way
  inside.parent = of_run.id;
  EXPECT_THAT(layout().artefacts(inside).names, ElementsAre(HasSubstr("front.lk-")));
  core::Lease other = of_run;
  other.owner.session = "run-8/front.1";
  EXPECT_THAT(layout().artefacts(other).names, ElementsAre(HasSubstr("front.lk-")));
  // Another tool has that name. Where the lease is shown, it stays.
  write("front.lock", foreign_text("front", "\"docs/x\""));
  EXPECT_THAT(layout().artefacts(of_run).names, ElementsAre(HasSubstr("front.lk-")));
  of_run.mirrored_at = {entry_.id() + std::string(1, '\0') + "locks/front.lock"};
  EXPECT_THAT(layout().artefacts(of_run).names, ElementsAre("locks/front.lock"));
}

}  // namespace
}  // namespace lockkeeper::dialect::workflow
