// A store that was damaged from outside: nothing is granted (I10), the doctor explains, and told to
// it repairs, keeping the leases it can read and the bad files aside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "host/process.h"
#include "kv/lmdb/lmdb_store.h"
#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;

constexpr std::size_t kPage = 4096;

class Doctor : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 40; ++i) {
      const Answer held = stage_.expect(0, "ann", {"acquire", "src/file" + std::to_string(i)});
      fence_ = held.fence();
    }
  }

  std::string data() const { return stage_.store() + "/data.mdb"; }

  void expect_refused() {
    const Answer answer = stage_.expect(69, "bob", {"acquire", "elsewhere"});
    EXPECT_EQ(answer.json()["error"]["code"], "store_corrupt") << answer.out;
    EXPECT_THAT(answer.json()["error"]["hint"].get<std::string>(), HasSubstr("doctor"));
    EXPECT_EQ(stage_.json("bob", {"check", "elsewhere"}).status, 69) << "fails open";
    const Answer doctor = stage_.json("", {"doctor"});
    EXPECT_EQ(doctor.status, 69) << doctor.all();
    EXPECT_EQ(doctor.json()["healthy"], false);
  }

  // Repairs, and the table works again with greater fences. Gives how many of the leases are left.
  std::size_t expect_repaired() {
    const Answer repaired = stage_.json("", {"doctor", "--repair"});
    EXPECT_EQ(repaired.status, 0) << repaired.all();
    EXPECT_EQ(stage_.expect(0, "", {"doctor"}).json()["healthy"], true);
    const std::size_t left = stage_.list()["leases"].size();
    EXPECT_GT(stage_.expect(0, "bob", {"acquire", "elsewhere"}).fence(), fence_) << "I3";
    std::size_t aside = 0;
    const Json report = repaired.json();
    for (const Json& file : report["repair"]["kept_files"]) {
      EXPECT_TRUE(exists(file.get<std::string>())) << file;
      ++aside;
    }
    EXPECT_GT(aside, 0U) << repaired.out;
    return left;
  }

  Stage stage_;
  std::uint64_t fence_ = 0;
};

TEST_F(Doctor, TellsThatNothingCanBeKeptForRecovery) {
  std::filesystem::create_directories(stage_.path("elsewhere"));
  std::filesystem::create_directory_symlink(stage_.path("elsewhere"),
                                            stage_.store() + "/snapshots");
  const Answer doctor = stage_.json("", {"doctor"});
  EXPECT_NE(doctor.status, 0) << doctor.all();
  EXPECT_EQ(doctor.json()["healthy"], false);
  EXPECT_THAT(doctor.out, HasSubstr("what agents change cannot be kept"));
  std::filesystem::remove(stage_.store() + "/snapshots");
  EXPECT_EQ(stage_.expect(0, "", {"doctor"}).json()["healthy"], true);
}

// The case is folded when a name is typed, so an older lease has a name that nobody types any more.
TEST_F(Doctor, NamesLeasesThatAreOlderThanIgnorecase) {
  stage_.expect(0, "ann", {"acquire", "Src/A.c", "docs/**/*.MD"});
  stage_.expect(0, "", {"doctor"});
  stage_.git("repo", {"config", "core.ignorecase", "true"});
  const Answer told = stage_.as("", {"doctor"});
  EXPECT_EQ(told.status, 78) << told.all();
  EXPECT_THAT(told.out, HasSubstr("Src/A.c, held by ann, is now called src/a.c"));
  EXPECT_THAT(told.out, HasSubstr("docs/**/*.MD, held by ann, is now called docs/**/*.md"));
  EXPECT_THAT(told.out, HasSubstr("release --lease"));
  stage_.expect(0, "ann", {"release", "--all"});
  stage_.expect(0, "ann", {"acquire", "Src/A.c"});
  stage_.expect(75, "bob", {"acquire", "src/a.c"});
  stage_.expect(0, "", {"doctor"});
}

TEST_F(Doctor, A16_AHealthyStoreIsLeftAloneAndARepairAnywayKeepsEverything) {
  EXPECT_EQ(stage_.expect(0, "", {"doctor"}).json()["healthy"], true);
  const auto is_copy = [](const auto& entry) {
    return entry.path().string().find(".bad-") != std::string::npos;
  };
  const auto copies = [&] {
    const std::filesystem::directory_iterator all(stage_.store());
    return std::count_if(begin(all), end(all), is_copy);
  };
  stage_.expect(0, "", {"doctor", "--repair"});
  EXPECT_EQ(copies(), 0);
  for (int i = 0; i < 5; ++i) stage_.expect(0, "", {"doctor", "--repair", "--force"});
  EXPECT_LE(copies(), 3);
  stage_.expect(64, "", {"doctor", "--force"});
  EXPECT_EQ(stage_.list()["leases"].size(), 40U);
  stage_.expect(75, "bob", {"acquire", "src/file7"});
  EXPECT_GT(stage_.expect(0, "bob", {"acquire", "elsewhere"}).fence(), fence_) << "I3";
}

TEST_F(Doctor, F15_I10_AnEmptiedStoreIsLostStateNotANewOne) {
  std::filesystem::resize_file(data(), 0);
  expect_refused();
  EXPECT_EQ(expect_repaired(), 0U);
}

TEST_F(Doctor, F15_I10_ADeletedStoreIsLostStateNotANewOne) {
  std::filesystem::remove(data());
  expect_refused();
  const Answer repaired = stage_.json("", {"doctor", "--repair"});
  EXPECT_EQ(repaired.status, 0) << repaired.all();
  EXPECT_GT(stage_.expect(0, "bob", {"acquire", "elsewhere"}).fence(), fence_) << "I3";
}

TEST_F(Doctor, SaysWhatIsMissingAndWhatARepairForgets) {
  std::filesystem::remove_all(stage_.store());
  EXPECT_THAT(stage_.as("bob", {"acquire", "elsewhere"}).err,
              HasSubstr("what is held is no longer known: the store's files were deleted"));
  const Answer told = stage_.as("", {"doctor"});
  EXPECT_EQ(told.status, 69) << told.all();
  EXPECT_EQ(told.out.find("ok      store"), std::string::npos) << told.out;
  EXPECT_THAT(told.out, HasSubstr("note    store: " + stage_.store() + "/epoch: missing"));
  EXPECT_THAT(stage_.as("", {"doctor", "--repair"}).out,
              HasSubstr("note    repair: everything that was held is forgotten"));
  EXPECT_EQ(stage_.as("", {"doctor", "--repair", "--force"}).out.find("forgotten"),
            std::string::npos);
}

TEST_F(Doctor, F15_I10_ATruncatedStoreIsRefusedWithoutACrash) {
  std::filesystem::resize_file(data(), kPage * 3);
  expect_refused();
  expect_repaired();
}

TEST_F(Doctor, F15_I3_ARestoredOldCopyIsNoticed) {
  const std::string copy = stage_.path("copy");
  std::filesystem::copy_file(data(), copy);
  const Answer later = stage_.expect(0, "ann", {"acquire", "late"});
  fence_ = later.fence();
  std::filesystem::copy_file(copy, data(), std::filesystem::copy_options::overwrite_existing);
  expect_refused();
  EXPECT_GE(expect_repaired(), 40U);
}

// Every page in turn gets a few flipped bits. Whatever happens, no process dies of a signal, and
// what is granted nevertheless does not touch what ann holds.
TEST_F(Doctor, F16_I10_FlippedBitsAreDetectedOrHarmless) {
  const std::string whole = read_text(data());
  std::size_t refused = 0;
  for (std::size_t page = 0; page < 12 && (page + 1) * kPage <= whole.size(); ++page) {
    SCOPED_TRACE("page " + std::to_string(page));
    std::string bad = whole;
    for (const std::size_t at : {40U, 700U, 2100U, 4000U}) {
      bad[page * kPage + at] = static_cast<char>(bad[page * kPage + at] ^ 0x55);
    }
    write_text(data(), bad);
    const Answer check = stage_.json("bob", {"check", "src/file7"});
    EXPECT_THAT(check.status, testing::AnyOf(69, 75)) << check.all();
    if (check.status == 69) ++refused;
    EXPECT_LT(stage_.json("", {"doctor"}).status, 126);
    write_text(data(), whole);
  }
  EXPECT_GT(refused, 0U) << "no page that mattered was touched";
  stage_.expect(75, "bob", {"check", "src/file7"});
  stage_.expect(0, "", {"doctor"});
}

TEST_F(Doctor, F16_ARepairAfterFlippedBitsKeepsWhatCanBeRead) {
  // A value of one lease: its name is in the file as text.
  std::string bad = read_text(data());
  std::size_t flipped = 0;
  for (std::size_t at = bad.find("src/file7"); at != std::string::npos;
       at = bad.find("src/file7", at + 1)) {
    bad[at] = 'X';
    ++flipped;
  }
  ASSERT_GT(flipped, 0U);
  write_text(data(), bad);
  const Answer doctor = stage_.json("", {"doctor"});
  EXPECT_EQ(doctor.status, 69) << doctor.all();
  const std::size_t left = expect_repaired();
  EXPECT_GE(left, 35U);
  EXPECT_LE(left, 40U);
  stage_.expect(75, "bob", {"acquire", "src/file30"});
}

// A newer program is played by the store's own code, told that it knows a later schema.
TEST_F(Doctor, F23_AStoreOfANewerSchemaIsRefusedAndKept) {
  const SystemClock clock;
  const auto boot = host::boot_id();
  ASSERT_TRUE(boot);
  kv::LmdbOptions options;
  options.folder = stage_.store();
  options.clock = &clock;
  options.boot_id = *boot;
  options.schema_version = 999;
  options.migrate = [](std::uint32_t, kv::Txn&) -> Result<void> { return {}; };
  {
    const auto newer = kv::LmdbStore::open(options);
    ASSERT_TRUE(newer) << newer.error().message;
  }
  for (const Words& words : std::vector<Words>{{"acquire", "elsewhere"}, {"check", "src/file7"}}) {
    const Answer refused = stage_.expect(69, "bob", words);
    EXPECT_THAT(refused.out, HasSubstr("999"));
  }
  EXPECT_EQ(stage_.json("", {"doctor"}).status, 69);
  // Repairing would throw away what a newer program wrote.
  EXPECT_NE(stage_.json("", {"doctor", "--repair"}).status, 0);
  EXPECT_TRUE(kv::LmdbStore::open(options)) << "the newer program can no longer read it";
}

}  // namespace
}  // namespace lockkeeper::stage
