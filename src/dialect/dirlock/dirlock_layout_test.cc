#include "dialect/dirlock/dirlock_layout.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/fd.h"
#include "host/process.h"
#include "realm/test_repository.h"

namespace lockkeeper::dialect::dirlock {
namespace {

namespace fs = std::filesystem;
using layout::Published;
using layout::Removed;

class DirLock : public testing::Test {
 protected:
  DirLock() {
    repository_.init("repo");
    repository_.folder("repo/src/deep");
    repository_.folder("temp");
    repository_.folder("plain");
    entry_.kind = kKind;
    entry_.root = repository_.at("temp");
    realm_ = *realm::realm_of(repository_.at("repo"), env_);
    machine_ = *realm::machine_realm(env_);
  }

  std::unique_ptr<layout::Layout> layout(const realm::Realm& realm) {
    auto made = DirLockLayout::make(entry_, {realm, settings_, env_, clock_});
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }

  // Another tool's lock on that folder.
  LockRecord record(const std::string& cwd, std::int64_t ago_ms = 0) const {
    LockRecord record;
    record.pid = ::getpid();
    record.cwd = cwd;
    record.start_ms = clock_.now().wall_ms - ago_ms;
    record.start_time = format_time(*record.start_ms);
    record.hostname = here(clock_).hostname;
    record.agents = {"auto-advance", "implement"};
    return record;
  }
  std::string put(const LockRecord& record) const {
    put(lock_name(record.cwd), record_text(record));
    return lock_name(record.cwd);
  }
  void put(const std::string& name, const std::string& text, bool old = false) const {
    repository_.write("temp/" + name, text);
    if (!old) return;
    fs::last_write_time(at(name), fs::file_time_type::clock::now() - std::chrono::minutes(1));
  }
  std::string at(const std::string& name) const { return repository_.at("temp/" + name); }

  key::Resource resource(const std::string& text, const realm::Realm& realm) const {
    return key::parse(text, settings_.key_rules(realm))->resource;
  }
  Result<layout::ScanResult> look(const std::string& text) {
    const std::vector<key::Resource> wanted = {resource(text, realm_)};
    return layout(realm_)->scan({&wanted, {}, {}});
  }

  core::Lease lease(const std::string& text) const {
    core::Lease lease;
    lease.id = core::LeaseId{std::string(16, 'i')};
    lease.owner = {"ann", "s1"};
    lease.claims.push_back({resource(text, realm_), core::Mode::kExclusive, 0});
    const auto self = *host::identify(::getpid());
    lease.holds.front().pid = self.pid;
    lease.holds.front().pid_namespace = self.pid_namespace;
    lease.holds.front().start_ticks = self.start_ticks;
    lease.acquired_wall_ms = clock_.now().wall_ms;
    return lease;
  }

  realm::TestRepository repository_;
  realm::Environment env_ = repository_.env();
  SystemClock clock_;
  realm::Settings settings_;
  layout::LayoutEntry entry_;
  realm::Realm realm_;
  realm::Realm machine_;
};

TEST_F(DirLock, OptionsMustMakeSense) {
  entry_.options["stale_timeout"] = "30";
  EXPECT_TRUE(DirLockLayout::make(entry_, {realm_, settings_, env_, clock_}));
  for (const char* bad : {"0", "x", "-1", "", "1e3", "inf"}) {
    entry_.options["stale_timeout"] = bad;
    EXPECT_FALSE(DirLockLayout::make(entry_, {realm_, settings_, env_, clock_})) << bad;
  }
  entry_.options = {{"timeout", "3"}};
  EXPECT_FALSE(DirLockLayout::make(entry_, {realm_, settings_, env_, clock_}));
}

TEST_F(DirLock, ALockOnAFolderIsSeenFromWhatLiesInIt) {
  const LockRecord held = record(repository_.at("repo/src"));
  const std::string name = put(held);
  for (const char* wanted : {"src/deep/a.py", "src/a.py", "src", "src/", "src/**", "./"}) {
    SCOPED_TRACE(wanted);
    const auto seen = look(wanted);
    ASSERT_TRUE(seen) << seen.error().message;
    ASSERT_EQ(seen->sightings.size(), 1U);
    const core::ForeignLock& lock = seen->sightings[0].lock;
    EXPECT_EQ(lock.artefact, name);
    EXPECT_EQ(lock.path, at(name));
    ASSERT_EQ(lock.claims.size(), 1U);
    EXPECT_EQ(lock.claims[0].resource.text(), "src/");
    EXPECT_EQ(lock.claims[0].mode, core::Mode::kExclusive);
    EXPECT_EQ(lock.owner.agent, std::to_string(::getpid()) + "@" + held.hostname);
    EXPECT_EQ(lock.owner.session, held.start_time);
    EXPECT_EQ(lock.task, "auto-advance,implement");
    EXPECT_EQ(lock.since_wall_ms, *held.start_ms);
    EXPECT_EQ(lock.expires_wall_ms, *held.start_ms + kStaleTimeoutMs);
    EXPECT_EQ(seen->sightings[0].identity, held.identity());
    ASSERT_EQ(seen->sources.size(), 1U);
    EXPECT_TRUE(seen->sources[0].fresh);
  }
  EXPECT_TRUE(look("docs/a.py")->sightings.empty());
  EXPECT_FALSE(look("docs/a.py")->complete);
  EXPECT_TRUE(look("docs/")->complete);
  // The root covers everything.
  put(record(repository_.at("repo")));
  EXPECT_EQ(look("docs/a.py")->sightings[0].lock.claims[0].resource.text(), "./");
}

TEST_F(DirLock, WhatWasReadBeforeIsNotReadAgainUnlessItChanged) {
  put(record(repository_.at("repo")));
  const auto first = layout(realm_)->scan({});
  ASSERT_EQ(first->sources.size(), 1U);
  layout::Interest again;
  again.known = [&](const std::string& source, std::uint64_t stamp) {
    return source == first->sources[0].name && stamp == first->sources[0].stamp;
  };
  EXPECT_TRUE(layout(realm_)->scan(again)->sightings.empty());
  EXPECT_EQ(layout(realm_)->scan(again)->sources.size(), 1U);
  put(record(repository_.at("repo"), 1));
  EXPECT_EQ(layout(realm_)->scan(again)->sightings.size(), 1U);
}

TEST_F(DirLock, AnotherWorktreesFolderIsTheSameFolder) {
  repository_.git("repo", "worktree add ../other");
  put(record(repository_.at("other")));
  const auto seen = look("src/a.py");
  ASSERT_TRUE(seen) << seen.error().message;
  ASSERT_EQ(seen->sightings.size(), 1U);
  EXPECT_EQ(seen->sightings[0].lock.claims[0].resource.text(), "./");
  // And the main one's from there.
  fs::remove_all(at(""));
  repository_.folder("temp");
  put(record(repository_.at("repo/src")));
  realm_ = *realm::realm_of(repository_.at("other"), env_);
  ASSERT_EQ(look("src/a.py")->sightings.size(), 1U);
}

TEST_F(DirLock, LocksOfOtherRealmsAreNotItsBusiness) {
  repository_.init("repo/inner");
  put(record(repository_.at("plain")));
  put(record(repository_.at("repo/inner")));
  EXPECT_TRUE(layout(realm_)->scan({})->sightings.empty());
  const auto outside = layout(machine_)->scan({});
  ASSERT_EQ(outside->sightings.size(), 1U);
  EXPECT_EQ(outside->sightings[0].lock.claims[0].resource.text(), "dir:" + repository_.at("plain"));
  const std::vector<key::Resource> wanted = {resource("dir:" + repository_.at("plain"), machine_)};
  EXPECT_EQ(layout(machine_)->scan({&wanted, {}, {}})->sightings.size(), 1U);
  EXPECT_FALSE(key::parse("dir:/x", settings_.key_rules(realm_)));
}

TEST_F(DirLock, L1_ADeadHoldersFileBlocksNobodyAndStays) {
  LockRecord dead = record(repository_.at("repo"));
  dead.pid = 2'000'000'000;
  const std::string name = put(dead);
  const auto seen = look("a.py");
  ASSERT_TRUE(seen);
  EXPECT_TRUE(seen->sightings.empty());
  EXPECT_TRUE(seen->sources.empty());
  EXPECT_NE(std::ranges::find(seen->absent, name), seen->absent.end());
  EXPECT_TRUE(fs::exists(at(name)));
}

// It has expired by the clock, but it may be ours, so it is listed without claims.
TEST_F(DirLock, AnOldLockClaimsNothing) {
  LockRecord old = record(repository_.at("repo"), 21 * 60'000);
  old.hostname = "another";
  put(old);
  const auto stale = look("a.py");
  ASSERT_EQ(stale->sightings.size(), 1U);
  EXPECT_TRUE(stale->sightings[0].lock.claims.empty());
  EXPECT_EQ(stale->sightings[0].identity, old.identity());
  put(record(repository_.at("repo"), 24 * 3'600'000));
  const auto reused = look("a.py");
  ASSERT_EQ(reused->sightings.size(), 1U);
  EXPECT_TRUE(reused->sightings[0].lock.claims.empty());
  entry_.options["stale_timeout"] = "30";
  put(old);
  EXPECT_EQ(look("a.py")->sightings[0].lock.claims.size(), 1U);
}

TEST_F(DirLock, WhereADeadHoldersFileStandsANativeLeaseIsNotShown) {
  LockRecord dead = record(repository_.at("repo/src"));
  dead.pid = 2'000'000'000;
  put(dead);
  EXPECT_TRUE(layout(realm_)->artefacts(lease("src/")).names.empty());
  EXPECT_EQ(layout(realm_)->artefacts(lease("src/")).unmirrored, std::vector<std::string>{"src/"});
}

TEST_F(DirLock, I10_WhatCannotBeUnderstoodBlocksItsFolder) {
  const std::string name = lock_name(repository_.at("repo"));
  for (const std::string text : {"", "{", "{\"pid\":\"x\"}", "\xff\xfe"}) {
    put(name, text, true);
    const auto seen = look("a.py");
    ASSERT_FALSE(seen) << text;
    EXPECT_EQ(seen.error().code, Code::kStoreUnavailable);
    EXPECT_NE(seen.error().message.find(at(name)), std::string::npos);
    EXPECT_NE(seen.error().hint.find("layout ignore"), std::string::npos);
  }
  // A file that may be anybody's blocks nobody here, and is noted.
  fs::remove(at(name));
  put(lock_name("/somewhere/else"), "{", true);
  ASSERT_TRUE(look("src/"));
  EXPECT_EQ(look("src/")->notes.size(), 1U);
  put(name, "{", true);
  entry_.ignored = {at(name)};
  EXPECT_TRUE(look("a.py"));
}

TEST_F(DirLock, I10_ALinkInItsPlaceIsNotFollowed) {
  put("target", record_text(record(repository_.at("repo"))));
  fs::create_symlink(at("target"), at(lock_name(repository_.at("repo"))));
  EXPECT_EQ(look("a.py").error().code, Code::kStoreUnavailable);
  const auto removed = layout(realm_)->remove(lock_name(repository_.at("repo")),
                                              record(repository_.at("repo")).identity());
  EXPECT_EQ(*removed, Removed::kForeign);
  EXPECT_TRUE(fs::exists(at("target")));
}

TEST_F(DirLock, AVanishedFolderIsAnEmptyOne) {
  fs::remove_all(repository_.at("temp"));
  EXPECT_TRUE(look("a.py")->sightings.empty());
  EXPECT_TRUE(look("src/")->complete);
  const core::Lease mine = lease("src/");
  const std::string name = lock_name(repository_.at("repo/src"));
  const auto made = layout(realm_);
  EXPECT_EQ(made->prepare(mine, name).error().code, Code::kStoreUnavailable);
  EXPECT_EQ(*made->remove(name, "1@x"), Removed::kGone);
  EXPECT_FALSE(*made->is_prepared(mine.id, name));
  EXPECT_TRUE(made->discard(mine.id, name));
}

TEST_F(DirLock, OnlyOneFolderBoundToAProcessIsShown) {
  const auto made = layout(realm_);
  core::Lease mine = lease("src/");
  EXPECT_EQ(made->artefacts(mine).names,
            std::vector<std::string>{lock_name(repository_.at("repo/src"))});
  EXPECT_TRUE(made->artefacts(mine).unmirrored.empty());
  EXPECT_EQ(made->artefacts(lease("./")).names,
            std::vector<std::string>{lock_name(repository_.at("repo"))});
  const auto unshown = [&](const core::Lease& lease) {
    return made->artefacts(lease).names.empty() && !made->artefacts(lease).unmirrored.empty();
  };
  EXPECT_TRUE(unshown(lease("src/a.py")));
  EXPECT_TRUE(unshown(lease("src/**")));
  core::Lease two = lease("src/");
  two.claims.push_back(lease("docs/").claims[0]);
  EXPECT_TRUE(unshown(two));
  core::Lease shared = lease("src/");
  shared.claims[0].mode = core::Mode::kShared;
  EXPECT_TRUE(unshown(shared));
  core::Lease by_slot = lease("src/");
  by_slot.holds = {{.slot = 7, .pid_namespace = 0, .pid = 0, .start_ticks = 0}};
  EXPECT_TRUE(unshown(by_slot));
  core::Lease elsewhere = lease("src/");
  ++elsewhere.holds.front().pid_namespace;
  EXPECT_TRUE(unshown(elsewhere));
  // Taken through it: under the name it was taken by.
  mine.terms.layout = made->id();
  mine.terms.artefact = "agent-dir-x.lock";
  EXPECT_EQ(made->artefacts(mine).names, std::vector<std::string>{"agent-dir-x.lock"});
}

TEST_F(DirLock, AMachinesOwnFolderLockIsShownWhereItWasTaken) {
  core::Lease native = lease("src/");
  native.claims[0].resource = resource("dir:/x", machine_);
  EXPECT_TRUE(layout(machine_)->artefacts(native).names.empty());
}

TEST_F(DirLock, WhatACrashLeftPreparedIsRemovedAfterAMinute) {
  const auto made = layout(realm_);
  const core::Lease mine = lease("src/");
  const std::string name = lock_name(repository_.at("repo/src"));
  ASSERT_TRUE(made->prepare(mine, name));
  const std::string prepared = "." + name + "." + mine.id.text();
  const std::string others = "." + name + ".swp";
  put(others, "", true);
  ASSERT_TRUE(made->scan({}));
  ASSERT_TRUE(made->sweep(0));
  EXPECT_TRUE(fs::exists(at(prepared))) << "another repository may be about to publish it";
  fs::last_write_time(at(prepared), fs::file_time_type::clock::now() - std::chrono::minutes(2));
  ASSERT_TRUE(made->scan({}));
  EXPECT_FALSE(fs::exists(at(prepared)));
  EXPECT_TRUE(fs::exists(at(others))) << "not ours";
}

TEST_F(DirLock, OursAppearsWholeAndIsSeenAsOurs) {
  const auto made = layout(realm_);
  core::Lease mine = lease("src/");
  mine.terms.task = "a,b";
  const std::string name = lock_name(repository_.at("repo/src"));
  ASSERT_TRUE(made->prepare(mine, name));
  EXPECT_TRUE(*made->is_prepared(mine.id, name));
  EXPECT_FALSE(fs::exists(at(name)));
  EXPECT_EQ(*made->publish(mine, name, {}), Published::kDone);
  EXPECT_FALSE(*made->is_prepared(mine.id, name));
  LockRecord expected = record(repository_.at("repo/src"));
  expected.start_time = format_time(mine.acquired_wall_ms);
  expected.agents = {"a", "b"};
  std::ifstream stream(at(name));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), record_text(expected));
  const auto seen = look("src/a.py");
  ASSERT_EQ(seen->sightings.size(), 1U);
  EXPECT_EQ(seen->sightings[0].identity, made->identity(mine, name));
  EXPECT_TRUE(made->refresh(mine, name));
  EXPECT_EQ(*made->remove(name, "1@never"), Removed::kForeign);
  EXPECT_EQ(*made->remove(name, made->identity(mine, name)), Removed::kDone);
  EXPECT_EQ(*made->remove(name, made->identity(mine, name)), Removed::kGone);
  EXPECT_TRUE(fs::is_empty(repository_.at("temp")));
}

TEST_F(DirLock, I1_AnothersIsNeverReplaced) {
  const auto made = layout(realm_);
  const core::Lease mine = lease("./");
  LockRecord dead = record(repository_.at("repo"));
  dead.pid = 2'000'000'000;
  const std::string name = put(dead);
  ASSERT_TRUE(made->prepare(mine, name));
  EXPECT_EQ(*made->publish(mine, name, {}), Published::kTaken);
  EXPECT_EQ(*made->publish(mine, name, {{"1@x"}, {}}), Published::kTaken);
  EXPECT_EQ(*made->publish(mine, name, {{dead.identity()}, {}}), Published::kDone);
  EXPECT_EQ(*made->remove(name, ""), Removed::kDone);
  EXPECT_EQ(*made->remove(name, ""), Removed::kGone);
  ASSERT_TRUE(made->prepare(mine, name));
  ASSERT_TRUE(made->discard(mine.id, name));
  EXPECT_TRUE(fs::is_empty(repository_.at("temp")));
}

// The lease of a guard in one worktree, looked at by a command in another.
TEST_F(DirLock, A10_AnArtefactBelongsToTheWorktreeOfItsLease) {
  repository_.git("repo", "worktree add ../other");
  repository_.folder("other/docs");
  core::Lease guarded = lease("docs/");
  guarded.terms.layout = entry_.id();
  guarded.terms.artefact = lock_name(repository_.at("other/docs"));
  const auto here = layout(realm_);
  ASSERT_TRUE(here->prepare(guarded, guarded.terms.artefact));
  ASSERT_EQ(here->publish(guarded, guarded.terms.artefact, {}).value(), Published::kDone);
  EXPECT_NE(read_file(at(guarded.terms.artefact))
                .value_or("")
                .find("\"cwd\": \"" + repository_.at("other/docs") + "\""),
            std::string::npos);
}

TEST_F(DirLock, A10_ANativeLeaseStaysWhereItIsShown) {
  repository_.git("repo", "worktree add ../other");
  const realm::Realm other = *realm::realm_of(repository_.at("other"), env_);
  core::Lease native = lease("src/");
  const std::string there = lock_name(repository_.at("other/src"));
  EXPECT_EQ(layout(other)->artefacts(native).names, std::vector<std::string>{there});
  native.mirrored_at = {entry_.id() + '\0' + there};
  EXPECT_EQ(layout(realm_)->artefacts(native).names, std::vector<std::string>{there})
      << "seen from another worktree";
  native.mirrored_at = {entry_.id() + '\0' + lock_name("/somewhere/else")};
  EXPECT_EQ(layout(realm_)->artefacts(native).names,
            std::vector<std::string>{lock_name(repository_.at("repo/src"))});
}

}  // namespace
}  // namespace lockkeeper::dialect::dirlock
