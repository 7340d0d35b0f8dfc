#include "cli/verbs/recover_data.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "cli/verbs/recover_view.h"
#include "realm/settings_testing.h"
#include "snapshot/site/realm_keeper.h"
#include "snapshot/tree.h"

namespace lockkeeper::cli {
namespace {

using snapshot::Version;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t kNow = 1'768'663'800'000;
const snapshot::Who kAnn{"claude-code", "0f3e4d5c-6b7a-4899-a0b1-c2d3e4f50617"};
const snapshot::Who kBob{"codex", "1a2b3c4d-5e6f-4071-8293-a4b5c6d7e8f9"};

class RecoverData : public realm::SettingsFiles {
 protected:
  RecoverData() { std::filesystem::create_directories(realm.store_folder); }
  Version keep(const std::string& content, std::int64_t at, const snapshot::Who& writer = {}) {
    auto vault = snapshot::Vault::open(snapshot::place_of(realm, loaded()), {});
    EXPECT_TRUE(vault);
    Version version;
    version.worktree = root_;
    version.tree = std::string(snapshot::kMainTree);
    version.path = "a.c";
    version.writer = writer;
    version.content = snapshot::content_id(content);
    version.size = content.size();
    EXPECT_TRUE(vault->add(version, content, at));
    return version;
  }
  Recovery recovery() {
    auto loaded_now = Recovery::load(realm, loaded());
    EXPECT_TRUE(loaded_now) << loaded_now.error().message;
    return std::move(*loaded_now);
  }
  KeptFile file() const { return {realm.root, "a.c"}; }

  std::string root_ = realm.root;
};

TEST_F(RecoverData, G2_TheOrderIsThatOfKeepingWhateverTheClockSaid) {
  keep("older", kNow, kAnn);
  const Version newer = keep("newer", kNow - 3'600'000, kAnn);
  const auto chosen = recovery().choose(file(), "", true);
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->id, newer.id);
}

TEST_F(RecoverData, TwoVersionsWithOneIdAreOne) {
  const Version one = keep("same", kNow, kAnn);
  keep("other", kNow, kAnn);
  EXPECT_EQ(keep("same", kNow, kAnn).id, one.id);
  EXPECT_TRUE(recovery().choose(file(), one.id, true));
  EXPECT_EQ(recovery().choose(file(), "", true)->id, one.id);
}

TEST_F(RecoverData, G2_ARepositoryThatWasMovedKeepsItsVersions) {
  root_ = "/where/it/was";
  keep("work", kNow, kAnn);
  const auto chosen = recovery().choose(file(), "", true);
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->worktree, realm.root);
}

TEST_F(RecoverData, G2_NothingOlderStandsInForWhatIsNotKept) {
  const Version older = keep("older", kNow, kAnn);
  auto vault = snapshot::Vault::open(snapshot::place_of(realm, loaded()), {});
  Version secret;
  secret.worktree = realm.root;
  secret.path = "a.c";
  secret.writer = kAnn;
  secret.content = snapshot::content_id("secret");
  secret.content_is = snapshot::Content::kSecret;
  ASSERT_TRUE(vault->add(secret, std::nullopt, kNow + 1));
  for (const bool only_lost : {false, true}) {
    const auto chosen = recovery().choose(file(), "", only_lost);
    ASSERT_FALSE(chosen);
    EXPECT_THAT(chosen.error().message, AllOf(HasSubstr("only the hash"), HasSubstr("only_hash")));
    EXPECT_THAT(chosen.error().hint, HasSubstr(older.id.substr(0, 8)));
  }
}

TEST_F(RecoverData, G2_WhatWasRemovedIsNotSaidToBeNotLost) {
  const snapshot::Limits limits{.bytes = 1U << 20};
  const auto add = [&](const std::string& path, const std::string& content, snapshot::Kind kind,
                       const snapshot::Who& writer) {
    auto vault = snapshot::Vault::open(snapshot::place_of(realm, loaded()), limits);
    ASSERT_TRUE(vault);
    Version version;
    version.worktree = realm.root;
    version.path = path;
    version.kind = kind;
    version.why = snapshot::Why::kAfter;
    version.writer = writer;
    version.content = content.empty() ? "" : snapshot::content_id(content);
    version.size = content.size();
    ASSERT_TRUE(vault->add(
        version, content.empty() ? std::nullopt : std::optional<std::string_view>(content), kNow));
  };
  add("a.c", "work", snapshot::Kind::kFile, kAnn);
  unsigned seed = 1;
  const auto fill = [&](int files) {
    for (int i = 0; i < files; ++i) {
      std::string noise;
      while (noise.size() < 150'000) noise += std::to_string(seed = seed * 1103515245 + 12345);
      add("b.c", noise, snapshot::Kind::kFile, kBob);
    }
  };
  fill(2);
  add("a.c", "", snapshot::Kind::kGone, kBob);
  ASSERT_EQ(recovery().choose(file(), "", true)->writer, kAnn);
  while (recovery().versions_of(file()).size() == 2) fill(1);
  const auto chosen = recovery().choose(file(), "", true);
  ASSERT_FALSE(chosen);
  EXPECT_THAT(chosen.error().message, HasSubstr("what was lost of a.c is no longer kept"));
  const auto never = recovery().choose({realm.root, "never.c"}, "", true);
  EXPECT_THAT(never.error().message, HasSubstr("no longer kept"));
}

TEST_F(RecoverData, WhatItsWriterRemovedMayBeElsewhere) {
  keep("work", kNow, kAnn);
  auto vault = snapshot::Vault::open(snapshot::place_of(realm, loaded()), {});
  Version gone;
  gone.worktree = realm.root;
  gone.path = "a.c";
  gone.kind = snapshot::Kind::kGone;
  gone.why = snapshot::Why::kAfter;
  gone.writer = kAnn;
  ASSERT_TRUE(vault->add(gone, std::nullopt, kNow + 1));
  const auto chosen = recovery().choose(file(), "", true);
  ASSERT_FALSE(chosen);
  EXPECT_THAT(chosen.error().message, HasSubstr("a.c was removed or renamed by claude-code"));
}

TEST_F(RecoverData, ALossIsReadableInEightyColumns) {
  keep("work", kNow, kAnn);
  keep("other", kNow + 1,
       {"an-agent-with-a-very-long-name-that-says-what-it-is-for", kBob.session});
  keep("third", kNow + 2, kBob);
  repo.write("r/a.c", "third");
  Recovery all = recovery();
  std::string text;
  for (const Line& line : loss_lines(all.losses(), realm.root, kNow + 1'000, 80)) {
    std::string plain;
    for (const Span& span : line) plain += span.text;
    EXPECT_LE(width(plain), 80U) << plain;
    text += plain + "\n";
  }
  const std::string id = all.losses().back().version.id.substr(0, 8);
  EXPECT_THAT(text, AllOf(HasSubstr("a.c@" + id), HasSubstr("claude-code (session 0f3e4d"),
                          HasSubstr("codex (session 1a2b3c")));
}

}  // namespace
}  // namespace lockkeeper::cli
