#include "dialect/coordmcp/coordmcp_layout.h"

#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "realm/test_repository.h"

namespace lockkeeper::dialect::coordmcp {
namespace {

namespace fs = std::filesystem;
using layout::Published;
using layout::Removed;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class CoordLayoutTest : public testing::Test {
 protected:
  CoordLayoutTest() {
    files_.init("repo");
    files_.folder("data");
    realm_ = files_.realm("repo");
    use({{"project", "demo"}});
  }

  void use(std::map<std::string, std::string> options, std::vector<std::string> ignored = {}) {
    layout::LayoutEntry entry;
    entry.kind = kKind;
    entry.root = files_.at("data");
    entry.options = std::move(options);
    entry.ignored = std::move(ignored);
    const layout::LayoutContext context{realm_, settings_, env_, clock_};
    auto made = make_layout(entry, context);
    ASSERT_TRUE(made) << made.error().message;
    owned_ = std::move(*made);
    layout_ = dynamic_cast<CoordLayout*>(owned_.get());
  }
  std::string in_repo(const std::string& name) const { return files_.at("repo/" + name); }
  void project_file(const std::string& text) { files_.write("data/" + kProject, text); }
  void agent_file(const std::string& agent, const std::string& text) {
    files_.write("data/agents/" + agent + "/locked_files.json", text);
  }
  std::string local(std::int64_t ago_ms, char separator = ' ') const {
    return format_local(LocalTime::from_wall_ms(clock_.now().wall_ms - ago_ms), separator);
  }
  std::string project_entry(const std::string& key, const std::string& agent,
                            const std::string& at) const {
    return R"({"locks":{")" + key + R"(":{"file_path":")" + key + R"(","locked_at":")" + at +
           R"(","locked_by":")" + agent + R"(","reason":"JWT","priority":0}}})";
  }
  core::Lease lease(const std::vector<std::string>& texts, const std::string& agent = "ann",
                    int number = 1) const {
    core::Lease lease;
    lease.id = *core::LeaseId::from_text(std::string(31, '0') + std::to_string(number));
    lease.owner = {agent, ""};
    lease.terms.reason = "mine";
    lease.acquired_wall_ms = clock_.now().wall_ms;
    lease.expires_wall_ms = lease.acquired_wall_ms + kHourMs;
    for (const std::string& text : texts) {
      lease.claims.push_back({key::parse(text, {})->resource, core::Mode::kExclusive, 0});
    }
    return lease;
  }
  layout::ScanResult look() {
    const auto seen = layout_->scan({});
    EXPECT_TRUE(seen) << (seen ? "" : seen.error().message);
    return seen.value_or(layout::ScanResult{});
  }
  std::vector<std::string> claimed() {
    std::vector<std::string> texts;
    for (const layout::Sighting& sighting : look().sightings) {
      for (const core::Claim& claim : sighting.lock.claims) texts.push_back(claim.resource.text());
    }
    return texts;
  }
  Published show(const core::Lease& lease, const std::vector<std::string>& ours = {}) {
    Published last = Published::kDone;
    const std::vector<std::string> artefacts = layout_->artefacts(lease).names;
    for (const std::string& artefact : artefacts) {
      EXPECT_TRUE(layout_->prepare(lease, artefact));
      EXPECT_TRUE(*layout_->is_prepared(lease.id, artefact));
    }
    for (const std::string& artefact : artefacts) {
      const auto done = layout_->publish(lease, artefact, {ours, artefacts});
      EXPECT_TRUE(done) << (done ? "" : done.error().message);
      if (!done || *done == Published::kTaken) last = Published::kTaken;
    }
    return last;
  }
  Json json(const std::string& name) const {
    return Json::parse(read_file(files_.at("data/" + name)).value_or(""), nullptr, false);
  }

  const std::string kProject = "agents/locks/demo.json";
  realm::TestRepository files_;
  realm::Environment env_ = files_.env();
  realm::Realm realm_;
  realm::Settings settings_;
  realm::MovedClock clock_;
  std::unique_ptr<layout::Layout> owned_;
  CoordLayout* layout_ = nullptr;
};

TEST_F(CoordLayoutTest, BothShapesAreSeen) {
  project_file(project_entry(in_repo("src/auth.py"), "uuid-1", local(60'000)));
  agent_file("uuid-2", R"({"locks":{"src/b.py":{"file_path":"src/b.py","locked_by":"uuid-2",
    "locked_at":")" + local(1000, 'T') +
                           R"(","reason":"r","expected_duration_minutes":60}}})");
  const layout::ScanResult seen = look();
  EXPECT_TRUE(seen.complete);
  EXPECT_THAT(seen.sources, SizeIs(2));
  ASSERT_THAT(seen.sightings, SizeIs(2));
  const core::ForeignLock& real = seen.sightings[0].lock;
  EXPECT_EQ(real.artefact, kProject + "#" + in_repo("src/auth.py"));
  EXPECT_EQ(real.path, files_.at("data/" + kProject) + "#" + in_repo("src/auth.py"));
  EXPECT_EQ(real.claims[0].resource.text(), "src/auth.py");
  EXPECT_EQ(real.owner, (core::Owner{"uuid-1", "demo"}));
  EXPECT_EQ(real.reason, "JWT");
  EXPECT_EQ(real.expires_wall_ms - real.since_wall_ms, 24 * kHourMs);
  const core::ForeignLock& adr = seen.sightings[1].lock;
  EXPECT_EQ(adr.artefact, "agents/uuid-2/locked_files.json#src/b.py");
  EXPECT_EQ(adr.claims[0].resource.text(), "src/b.py");
  EXPECT_EQ(adr.owner.agent, "uuid-2");
}

TEST_F(CoordLayoutTest, WhatACrashLeftPreparedIsRemovedAfterAMinute) {
  const core::Lease ours = lease({"a"});
  const std::string artefact = kProject + "#" + in_repo("a");
  ASSERT_TRUE(layout_->prepare(ours, artefact));
  look();
  EXPECT_TRUE(*layout_->is_prepared(ours.id, artefact));
  clock_.ahead_ms = 2 * layout::kLeftAfterMs;
  look();
  EXPECT_FALSE(*layout_->is_prepared(ours.id, artefact));
}

TEST_F(CoordLayoutTest, NothingThereIsNothingLocked) {
  layout::ScanResult seen = look();
  EXPECT_TRUE(seen.complete);
  EXPECT_THAT(seen.sources, IsEmpty());
  EXPECT_THAT(layout_->scan_source(kProject)->absent, ElementsAre(kProject));
  fs::remove_all(files_.at("data"));
  EXPECT_TRUE(look().complete);
}

TEST_F(CoordLayoutTest, AnUnchangedFileIsNotRead) {
  project_file(project_entry(in_repo("a"), "x", local(0)));
  clock_.ahead_ms = 10'000;
  const layout::ScanResult first = look();
  ASSERT_THAT(first.sources, SizeIs(1));
  EXPECT_FALSE(first.sources[0].fresh);
  layout::Interest interest;
  interest.known = [&](const std::string& source, std::uint64_t stamp) {
    return source == kProject && stamp == first.sources[0].stamp;
  };
  EXPECT_THAT(layout_->scan(interest)->sightings, IsEmpty());
  project_file(project_entry(in_repo("abc"), "x", local(0)));
  EXPECT_THAT(layout_->scan(interest)->sightings, SizeIs(1));
}

TEST_F(CoordLayoutTest, I6EndsWithItsTimeoutAndNotBefore) {
  project_file(project_entry(in_repo("a"), "x", local(24 * kHourMs - 5'000)));
  EXPECT_THAT(claimed(), ElementsAre("a"));
  project_file(project_entry(in_repo("a"), "x", local(24 * kHourMs + 5'000)));
  EXPECT_THAT(claimed(), IsEmpty());
  use({{"project", "demo"}, {"timeout_hours", "48"}});
  EXPECT_THAT(claimed(), ElementsAre("a"));
  use({{"project", "demo"}, {"timeout_hours", "0.5"}});
  project_file(project_entry(in_repo("a"), "x", local(kHourMs)));
  EXPECT_THAT(claimed(), IsEmpty());
  // expected_unlock_time does not end a lock; an entry without locked_at has no end.
  project_file(R"({"locks":{"a":{"locked_by":"x","expected_unlock_time":"2001-01-01"}}})");
  EXPECT_THAT(claimed(), ElementsAre("a"));
}

TEST_F(CoordLayoutTest, OtherZonesAndOddClocks) {
  const std::int64_t ago = 3 * kHourMs;
  const std::string utc = format_time(clock_.now().wall_ms - ago);
  project_file(project_entry("a", "x", utc));
  EXPECT_EQ(look().sightings[0].lock.since_wall_ms / 1000, (clock_.now().wall_ms - ago) / 1000);
  project_file(project_entry("a", "x", local(-1000 * kHourMs)));  // a clock that is ahead
  EXPECT_THAT(claimed(), ElementsAre("a"));
  project_file(project_entry("a", "x", "1970-01-01"));
  EXPECT_THAT(claimed(), IsEmpty());
}

TEST_F(CoordLayoutTest, PathsAreTheWorkspacesUnlessAbsolute) {
  use({{"project", "demo"}, {"workspace", in_repo("web/")}});
  project_file(R"({"locks":{"a.ts":{},"src\\b.ts":{},")" + in_repo("c.py") + R"(":{},
    "/elsewhere/d":{},"../up.py":{},"../../out":{},"x\u0001y":{}}})");
  EXPECT_THAT(claimed(), UnorderedElementsAre("web/a.ts", "web/src/b.ts", "c.py", "up.py"));
  EXPECT_THAT(look().notes, SizeIs(3));
  EXPECT_THAT(look().notes, Contains(HasSubstr("/elsewhere/d")));
}

TEST_F(CoordLayoutTest, ScopesThatAreFoldersAreFolders) {
  files_.folder("repo/lib");
  project_file(R"({"locks":{"gen":{"lock_scope":"directory"},"lib":{},"m.py":{},
    "all":{"lock_scope":"project"}}})");
  EXPECT_THAT(claimed(), UnorderedElementsAre("gen/", "lib/", "m.py", "./"));
}

TEST_F(CoordLayoutTest, OursStandInBothFilesAndAreKnownAgain) {
  const core::Lease ours = lease({"src/a.py", "docs/", "src/*.c", "db:migration-slot"});
  const layout::Artefacts artefacts = layout_->artefacts(ours);
  EXPECT_THAT(artefacts.names, ElementsAre(kProject + "#" + in_repo("src/a.py"),
                                           "agents/ann/locked_files.json#src/a.py"));
  EXPECT_THAT(artefacts.unmirrored, ElementsAre("docs/", "src/*.c", "db:migration-slot"));
  EXPECT_EQ(show(ours), Published::kDone);
  const Json project = json(kProject);
  const Json& entry = project["locks"][in_repo("src/a.py")];
  EXPECT_EQ(entry["file_path"], in_repo("src/a.py"));
  EXPECT_EQ(entry["locked_by"], "ann");
  EXPECT_EQ(entry["reason"], "mine");
  EXPECT_EQ(entry["priority"], 0);
  EXPECT_EQ(entry["lock_scope"], "file");
  EXPECT_TRUE(project["updated_at"].is_string());
  const Json agent = json("agents/ann/locked_files.json");
  const Json& adr = agent["locks"]["src/a.py"];
  EXPECT_EQ(adr["file_path"], in_repo("src/a.py"));  // whose src/a.py it is
  EXPECT_EQ(adr["expected_duration_minutes"], 60);
  const layout::ScanResult seen = look();
  ASSERT_THAT(seen.sightings, SizeIs(2));
  for (const layout::Sighting& sighting : seen.sightings) {
    EXPECT_EQ(sighting.identity, layout_->identity(ours, sighting.lock.artefact));
    EXPECT_FALSE(*layout_->is_prepared(ours.id, sighting.lock.artefact));
    EXPECT_EQ(*layout_->remove(sighting.lock.artefact, sighting.identity), Removed::kDone);
    EXPECT_EQ(*layout_->remove(sighting.lock.artefact, sighting.identity), Removed::kGone);
  }
  EXPECT_THAT(claimed(), IsEmpty());
  EXPECT_EQ(json(kProject)["locks"].size(), 0U);
}

TEST_F(CoordLayoutTest, WhatIsShownLastsAsLongAsTheLease) {
  core::Lease ours = lease({"a"});
  ours.expires_wall_ms = ours.acquired_wall_ms + 72 * kHourMs;
  EXPECT_EQ(show(ours), Published::kDone);
  const layout::ScanResult seen = look();
  EXPECT_GE(seen.sightings[0].lock.expires_wall_ms, ours.expires_wall_ms);
  EXPECT_LE(seen.sightings[0].lock.expires_wall_ms, ours.expires_wall_ms + 3'000);
  core::Lease endless = lease({"b"}, "bob", 2);
  endless.expires_wall_ms = kNoEnd;
  EXPECT_EQ(show(endless), Published::kDone);
  clock_.ahead_ms = 10 * 365 * 24 * kHourMs;
  EXPECT_THAT(claimed(), UnorderedElementsAre("b", "b"));
}

TEST_F(CoordLayoutTest, ARenewalMovesItsEndAndKeepsItsIdentity) {
  core::Lease ours = lease({"a", "b"});
  ours.expires_wall_ms = ours.acquired_wall_ms + 24 * kHourMs;
  show(ours);
  const std::string before = layout_->identity(ours, "");
  ours.expires_wall_ms += 20 * kHourMs;
  for (const std::string& artefact : layout_->artefacts(ours).names) {
    EXPECT_TRUE(layout_->refresh(ours, artefact));
  }
  for (const layout::Sighting& sighting : look().sightings) {
    EXPECT_EQ(sighting.identity, before);
    EXPECT_GE(sighting.lock.expires_wall_ms, ours.expires_wall_ms);
  }
  // An entry that is another's by now stays.
  project_file(project_entry(in_repo("a"), "bob", local(0)));
  EXPECT_TRUE(layout_->refresh(ours, kProject + "#" + in_repo("a")));
  EXPECT_EQ(json(kProject)["locks"][in_repo("a")]["locked_by"], "bob");
}

TEST_F(CoordLayoutTest, OursAreKnownAgainInAnotherZoneAndAfterARewrite) {
  const core::Lease ours = lease({"a"});
  show(ours);
  // As CoordMCP leaves it: through its model, times by str().
  Json file = json(kProject);
  std::string at = file["locks"][in_repo("a")]["locked_at"];
  at[10] = 'T';
  file["locks"][in_repo("a")]["locked_at"] = at;
  file["locks"][in_repo("a")].erase("lock_scope");
  project_file(file.dump(2));
  ::setenv("TZ", "<+0545>-5:45", 1);
  ::tzset();
  const auto seen = look();
  EXPECT_EQ(seen.sightings[0].identity, layout_->identity(ours, ""));
  ::unsetenv("TZ");
  ::tzset();
}

TEST_F(CoordLayoutTest, I1AnotherIsNeverReplacedUnlessItIsOver) {
  project_file(project_entry(in_repo("b"), "bob", local(0)));
  EXPECT_EQ(show(lease({"a", "b"})), Published::kTaken);
  EXPECT_EQ(json(kProject)["locks"][in_repo("b")]["locked_by"], "bob");
  project_file(project_entry(in_repo("b"), "bob", local(30 * 24 * kHourMs)));
  EXPECT_EQ(show(lease({"b"}, "cat", 3)), Published::kDone);
  EXPECT_EQ(json(kProject)["locks"][in_repo("b")]["locked_by"], "cat");
}

TEST_F(CoordLayoutTest, OneOfOursMayFollowAnother) {
  const core::Lease first = lease({"a"}, "ann", 1);
  show(first);
  const core::Lease second = lease({"a"}, "bob", 2);
  EXPECT_EQ(*layout_->publish(second, kProject + "#" + in_repo("a"), {}), Published::kTaken);
  EXPECT_EQ(*layout_->publish(second, kProject + "#" + in_repo("a"),
                              {{layout_->identity(first, "")}, {}}),
            Published::kDone);
  EXPECT_EQ(json(kProject)["locks"][in_repo("a")]["locked_by"], "bob");
  EXPECT_EQ(*layout_->remove(kProject + "#" + in_repo("a"), layout_->identity(first, "")),
            Removed::kForeign);
  EXPECT_EQ(*layout_->remove(kProject + "#" + in_repo("a"), ""), Removed::kDone);
}

TEST_F(CoordLayoutTest, ManyFilesAreWrittenAtOnce) {
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) names.push_back("f" + std::to_string(i));
  const core::Lease ours = lease(names);
  const std::vector<std::string> artefacts = layout_->artefacts(ours).names;
  EXPECT_THAT(artefacts, SizeIs(200));
  for (const std::string& artefact : artefacts) ASSERT_TRUE(layout_->prepare(ours, artefact));
  EXPECT_EQ(*layout_->publish(ours, artefacts[0], {{}, artefacts}), Published::kDone);
  EXPECT_EQ(json(kProject)["locks"].size(), 100U);
  EXPECT_FALSE(*layout_->is_prepared(ours.id, artefacts[0]));
  EXPECT_TRUE(*layout_->is_prepared(ours.id, artefacts[1]));  // the agent's file
}

// What else the lease holds may be shown by another of ours, in whose words the table has it.
TEST_F(CoordLayoutTest, NothingIsWrittenThatTheTableHasInOtherWords) {
  const core::Lease ours = lease({"a", "b", "c"});
  const std::string a = kProject + "#" + in_repo("a");
  const std::string b = kProject + "#" + in_repo("b");
  ASSERT_TRUE(layout_->prepare(ours, a));
  EXPECT_EQ(*layout_->publish(ours, a, {{}, {a, b}}), Published::kDone);
  EXPECT_TRUE(json(kProject)["locks"].contains(in_repo("a")));
  EXPECT_TRUE(json(kProject)["locks"].contains(in_repo("b")));
  EXPECT_FALSE(json(kProject)["locks"].contains(in_repo("c")));
}

TEST_F(CoordLayoutTest, SessionsAndNamesThatAreNoFolder) {
  core::Lease ours = lease({"a"});
  ours.owner.session = "4f2a";
  show(ours);
  EXPECT_EQ(json(kProject)["locks"][in_repo("a")]["locked_by"], "ann@4f2a");
  for (const char* const agent : {"locks", "..", "a/b", ".hidden"}) {
    EXPECT_THAT(layout_->artefacts(lease({"b"}, agent)).names,
                ElementsAre(kProject + "#" + in_repo("b")))
        << agent;
  }
  const core::Lease odd = lease({"c"}, "50%#1", 4);
  EXPECT_EQ(show(odd), Published::kDone);
  EXPECT_TRUE(fs::exists(files_.at("data/agents/50%#1/locked_files.json")));
  int found = 0;
  for (const layout::Sighting& sighting : look().sightings) {
    if (sighting.lock.owner.agent == "50%#1") ++found;
    EXPECT_EQ(layout_->scan_source(layout::source_of(sighting.lock.artefact))->sources.size(), 1U);
  }
  EXPECT_EQ(found, 2);
}

TEST_F(CoordLayoutTest, SeveralProjectsSeeEachLease) {
  use({{"project", "demo,other"}});
  EXPECT_THAT(layout_->artefacts(lease({"a"})).names, SizeIs(3));
  use({});
  EXPECT_THAT(layout_->artefacts(lease({"a"})).names,
              ElementsAre("agents/ann/locked_files.json#a"));
  EXPECT_THAT(layout_->artefacts(lease({"a"}, "..")).unmirrored, ElementsAre("a"));
}

TEST_F(CoordLayoutTest, ADataFolderOfSeveralWorkspaces) {
  agent_file("ann", R"({"locks":{"a":{"file_path":"/elsewhere/a","locked_by":"ann",
    "locked_at":")" + local(0) +
                        R"("}}})");
  EXPECT_THAT(claimed(), IsEmpty());  // it is not our a
  EXPECT_TRUE(*layout_->shares_folder());
  const core::Lease ours = lease({"a"});
  const std::string artefact = "agents/ann/locked_files.json#a";
  ASSERT_TRUE(layout_->prepare(ours, artefact));
  const auto refused = layout_->publish(ours, artefact, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("another workspace"));
  use({{"project", "demo"}, {"agent_keys", "absolute"}});
  EXPECT_EQ(show(ours), Published::kDone);
  EXPECT_EQ(json("agents/ann/locked_files.json")["locks"].size(), 2U);
}

TEST_F(CoordLayoutTest, I10WhatCannotBeReadIsAnErrorAndStays) {
  for (const std::string& text : {std::string(), std::string("{"), std::string("[1]"),
                                  std::string("\xff\xfe"), std::string(R"({"locks":{"a":3}})")}) {
    project_file(text);
    const auto seen = layout_->scan({});
    ASSERT_FALSE(seen) << text;
    EXPECT_EQ(seen.error().code, Code::kStoreUnavailable);
    EXPECT_THAT(seen.error().message, HasSubstr(files_.at("data/" + kProject)));
    EXPECT_THAT(seen.error().hint, HasSubstr("lockkeeper layout ignore"));
    const core::Lease ours = lease({"a"});
    ASSERT_TRUE(layout_->prepare(ours, kProject + "#" + in_repo("a")));
    EXPECT_FALSE(layout_->publish(ours, kProject + "#" + in_repo("a"), {}));
    EXPECT_EQ(read_file(files_.at("data/" + kProject)).value_or("?"), text);
  }
  use({{"project", "demo"}}, {kProject});
  EXPECT_TRUE(layout_->scan({}));
}

TEST_F(CoordLayoutTest, HugeFilesAreNamed) {
  project_file(R"({"locks":{},"x":")" + std::string(kFileBytesMax, 'x') + "\"}");
  const auto seen = layout_->scan({});
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().code, Code::kLimitExceeded);
  EXPECT_THAT(seen.error().hint, HasSubstr("layout ignore"));
}

TEST_F(CoordLayoutTest, NoSymlinkIsFollowed) {
  files_.folder("outside");
  files_.folder("data/agents");
  fs::create_directory_symlink(files_.at("outside"), files_.at("data/agents/locks"));
  EXPECT_FALSE(layout_->scan({}));
  const core::Lease ours = lease({"a"});
  EXPECT_FALSE(layout_->prepare(ours, kProject + "#" + in_repo("a")));
  EXPECT_TRUE(fs::is_empty(files_.at("outside")));
  fs::remove(files_.at("data/agents/locks"));
  fs::create_directory_symlink(files_.at("outside"), files_.at("data/agents/eve"));
  const auto seen = layout_->scan({});
  ASSERT_FALSE(seen);
  EXPECT_THAT(seen.error().hint, HasSubstr("layout ignore"));
  use({{"project", "demo"}}, {"agents/eve"});
  EXPECT_TRUE(layout_->scan({}));
  files_.folder("data/agents/locks");
  files_.write("secret", "{}");
  fs::create_symlink(files_.at("secret"), files_.at("data/" + kProject));
  EXPECT_FALSE(layout_->scan({}));
}

TEST_F(CoordLayoutTest, NamesThatTryToEscapeAreRefused) {
  for (const char* const artefact :
       {"agents/../../x.json#a", "agents/locks/../x.json#a", "/etc/passwd", "agents/x",
        "agents/a/b/c.json#k", "locks/demo.json#a", ""}) {
    EXPECT_FALSE(layout_->scan_source(artefact)) << artefact;
    EXPECT_FALSE(layout_->remove(artefact, "")) << artefact;
    EXPECT_FALSE(layout_->prepare(lease({"a"}), artefact)) << artefact;
  }
  for (const char* const id : {"", "..", "../x", "a/b", ".x", "a b", "a\n", "x#y", "é"}) {
    EXPECT_FALSE(is_project_id(id)) << id;
  }
  EXPECT_TRUE(is_project_id("3f2c-9_A.b"));
}

TEST_F(CoordLayoutTest, OptionsThatMakeNoSenseAreNamed) {
  layout::LayoutEntry entry;
  entry.kind = kKind;
  entry.root = files_.at("data");
  const layout::LayoutContext context{realm_, settings_, env_, clock_};
  for (const auto& [name, value] : std::map<std::string, std::string>{{"project", "../x"},
                                                                      {"workspace", "web"},
                                                                      {"timeout_hours", "soon"},
                                                                      {"agent_keys", "maybe"},
                                                                      {"colour", "red"}}) {
    entry.options = {{name, value}};
    const auto made = make_layout(entry, context);
    ASSERT_FALSE(made) << name;
    EXPECT_EQ(made.error().code, Code::kInvalidInput);
    EXPECT_FALSE(made.error().hint.empty());
  }
  for (const char* const hours : {"0", "-1", "", "1h", "nan", "inf", "1e9"}) {
    EXPECT_FALSE(parse_hours(hours, "x")) << hours;
  }
}

TEST_F(CoordLayoutTest, AReadOnlyStoreIsAnErrorThatNamesIt) {
  project_file("{}");
  const std::string folder = files_.at("data/agents/locks");
  // Root may write in any folder, but not on a file system that is read-only.
  const bool root = ::geteuid() == 0;
  if (root && ::mount("none", folder.c_str(), "tmpfs", MS_RDONLY, "size=64k") != 0) {
    GTEST_SKIP() << "no tmpfs can be mounted here";
  }
  ASSERT_EQ(root ? 0 : ::chmod(folder.c_str(), 0555), 0);
  const auto done = layout_->prepare(lease({"a"}), kProject + "#" + in_repo("a"));
  if (root) {
    ::umount2(folder.c_str(), MNT_DETACH);
  } else {
    ::chmod(folder.c_str(), 0755);
  }
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("agents/locks"));
}

TEST_F(CoordLayoutTest, WhatIsOverIsListedAndCleanedOnRequest) {
  project_file(R"({"locks":{")" + in_repo("old") + R"(":{"locked_by":"x","locked_at":"2001-01-01"},
    ")" + in_repo("new") +
               R"(":{"locked_by":"x","locked_at":")" + local(0) + R"("}}})");
  auto all = layout_->entries();
  ASSERT_TRUE(all);
  EXPECT_THAT(*all, SizeIs(2));
  EXPECT_TRUE(all->front().expired);
  EXPECT_EQ(all->front().path, "old");
  EXPECT_EQ(*layout_->clean(), 1);
  EXPECT_EQ(*layout_->clean(), 0);
  EXPECT_THAT(*layout_->entries(), SizeIs(1));
}

TEST_F(CoordLayoutTest, WhatALeaseKeepsOfLockFiles) {
  EXPECT_EQ(task_text("demo", 60), "coordmcp:demo:60m");
  ASSERT_TRUE(lock_note_in("coordmcp:demo:60m"));
  EXPECT_EQ(lock_note_in("coordmcp:demo:60m")->project, "demo");
  EXPECT_EQ(lock_note_in("coordmcp:demo:60m")->minutes, 60);
  for (const char* const task : {"", "T-1", "coordmcp:", "coordmcp:demo", "coordmcp:demo:m",
                                 "coordmcp:demo:-1m", "coordmcp:demo:60", "coordmcp:demo:6xm"}) {
    EXPECT_FALSE(lock_note_in(task)) << task;
  }
  core::Lease ours = lease({"a"});
  ours.terms.task = task_text("demo", 90);
  show(ours);
  EXPECT_EQ(json("agents/ann/locked_files.json")["locks"]["a"]["expected_duration_minutes"], 90);
}

// Locks that are not read would look free.
TEST_F(CoordLayoutTest, A19_AFileWithTooManyLocksIsRefusedByName) {
  LockFile file;
  Entry entry;
  entry.locked_by = "bob";
  entry.locked_at = LocalTime::from_wall_ms(clock_.now().wall_ms);
  const auto fill = [&](std::size_t count) {
    for (std::size_t i = file.entries().size(); i < count; ++i) {
      entry.key = in_repo("f" + std::to_string(i));
      file.put(entry, Shape::kProject);
    }
    project_file(file.text(Shape::kProject, *entry.locked_at));
  };
  fill(kLocksMax);
  EXPECT_THAT(look().sightings, SizeIs(kLocksMax));
  fill(kLocksMax + 1);
  const auto seen = layout_->scan({});
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().code, Code::kLimitExceeded);
  EXPECT_THAT(seen.error().message, HasSubstr("20001 locks; at most 20000"));
  EXPECT_THAT(seen.error().hint, HasSubstr("cleanup_stale_locks"));
  clock_.ahead_ms += 25 * kHourMs;  // expired ones do not count, and can be removed
  EXPECT_THAT(look().sightings, IsEmpty());
  EXPECT_EQ(layout_->clean().value(), 20'001);
}

TEST_F(CoordLayoutTest, A19_SaysWhetherASourceIsStillWhatWasScanned) {
  EXPECT_FALSE(layout_->is_as_scanned(kProject).value());
  project_file(project_entry(in_repo("a"), "bob", local(0)));
  look();
  EXPECT_TRUE(layout_->is_as_scanned(kProject).value());
  project_file(project_entry(in_repo("a"), "eve", local(0)));  // the same size, the same second
  EXPECT_FALSE(layout_->is_as_scanned(kProject).value());
}

// Each would rewrite the whole document.
TEST_F(CoordLayoutTest, A19_EntriesOfOneFileAreRemovedTogether) {
  const core::Lease ours = lease({"a", "b", "c"});
  ASSERT_EQ(show(ours), Published::kDone);
  std::vector<layout::Layout::Unwanted> unwanted;
  for (const char* const name : {"a", "b"}) {
    const std::string artefact = kProject + "#" + in_repo(name);
    unwanted.push_back({artefact, layout_->identity(ours, artefact)});
  }
  // One artefact may have shown two leases of ours.
  unwanted.push_back({kProject + "#" + in_repo("a"), "before#000001"});
  unwanted.push_back({kProject + "#" + in_repo("c"), "somebody#000001"});
  ASSERT_TRUE(layout_->remove_together(unwanted));
  EXPECT_THAT(json(kProject)["locks"], SizeIs(1));
  EXPECT_TRUE(json(kProject)["locks"].contains(in_repo("c")));
}

}  // namespace
}  // namespace lockkeeper::dialect::coordmcp
