// F23: old and new programs on one store. A newer program is played by the store's own code, told
// that it knows a later schema; the shipped program is the older one, or the newer one of a store
// whose schema it cannot bring up to date. Refused by name, nothing changed, nothing lost (I5,
// I10).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "base/clock.h"
#include "chaos/faults/fault_stage.h"
#include "host/process.h"
#include "kv/lmdb/lmdb_store.h"

namespace lockkeeper::faults {
namespace {

namespace fs = std::filesystem;
using stage::eventually;
using stage::read_text;
using testing::AnyOf;
using testing::HasSubstr;

class F23Versions : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    stage_.set_durability(GetParam());
    fence_ = stage_.expect(0, "ann", {"acquire", "a"}).fence();
  }

  // The store as a program with this schema opens it; it knows how to migrate.
  Result<std::unique_ptr<kv::LmdbStore>> open_with(std::uint32_t schema) {
    kv::LmdbOptions options;
    options.folder = stage_.store();
    options.epoch_copy = stage_.epoch_copy();
    options.clock = &clock_;
    const auto boot = host::boot_id();
    if (!boot) return fail(boot.error());
    options.boot_id = *boot;
    options.schema_version = schema;
    options.migrate = [](std::uint32_t, kv::Txn& txn) { return txn.put("zz/new", "row"); };
    return kv::LmdbStore::open(options);
  }

  void expect_refused(const std::string& schema) {
    const std::string before = read_text(stage_.data());
    for (const Words& words : std::vector<Words>{{"acquire", "b"},
                                                 {"check", "a"},
                                                 {"release", "--all"},
                                                 {"list"},
                                                 {"purge"},
                                                 {"run", "b", "--", "true"}}) {
      const Answer refused = stage_.as("bob", words);
      EXPECT_EQ(refused.status, 69) << words[0] << "\n" << refused.all();
      EXPECT_THAT(refused.all(), HasSubstr("schema " + schema)) << words[0];
    }
    EXPECT_EQ(stage_.json("", {"doctor"}).status, 69);
    EXPECT_NE(stage_.json("", {"doctor", "--repair"}).status, 0) << "would throw away its rows";
    EXPECT_TRUE(read_text(stage_.data()) == before)
        << "a program that does not know it wrote to it";
  }

  InMemory in_memory_;
  FaultStage stage_;
  const SystemClock clock_;
  std::uint64_t fence_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Durability, F23Versions, testing::Values("full", "process"),
                         [](const auto& of) { return std::string(of.param); });

TEST_P(F23Versions, F23_I5_I10_ANewerStoreIsRefusedByNameAndKept) {
  {
    const auto newer = open_with(7);
    ASSERT_TRUE(newer) << newer.error().message;
  }
  expect_refused("7");
  const auto again = open_with(7);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE((*again)->verify());
}

// The shipped program waits, renews and follows while a newer one comes and migrates the store.
TEST_P(F23Versions, F23_I1_I10_RunningProgramsAreRefusedFromTheMigrationOn) {
  Process waiter = stage_.start("bob", {"acquire", "a", "--wait", "--json"});
  ASSERT_TRUE(stage_.queue_grows_to(1));
  Process run = stage_.start("cat", {"run", "--ttl", "1s", "job", "--", "sleep", "600"});
  ASSERT_TRUE(eventually([&] { return stage_.list()["leases"].size() == 2; }));
  const auto newer = open_with(9);
  ASSERT_TRUE(newer) << newer.error().message;
  // It sees within a renewal or two that it can no longer tell whether it holds anything.
  EXPECT_THAT(run.wait(), AnyOf(69, 79)) << run.err();
  EXPECT_THAT(run.err(), HasSubstr("schema 9"));
  expect_refused("9");
  if (!waiter.running()) {
    EXPECT_EQ(waiter.wait(), 69) << waiter.err();
  }
  EXPECT_TRUE((*newer)->verify());
}

// Back to the older program: its store was kept before the migration, and fences go on (I3).
TEST_P(F23Versions, F23_I3_DowngradeByTheCopyThatWasKept) {
  ASSERT_TRUE(open_with(3));
  const std::string kept = stage_.data() + ".schema-2";
  ASSERT_TRUE(fs::exists(kept));
  expect_refused("3");
  fs::copy_file(kept, stage_.data(), fs::copy_options::overwrite_existing);
  // What the newer one may have granted is gone with it: lost state until somebody says so.
  const Answer refused = stage_.json("bob", {"acquire", "b"});
  EXPECT_EQ(code_of(refused), "store_corrupt") << refused.all();
  stage_.expect(0, "", {"doctor", "--repair"});
  stage_.expect(75, "bob", {"acquire", "a"});
  EXPECT_GT(stage_.expect(0, "bob", {"acquire", "b"}).fence(), fence_) << "I3";
  stage_.expect(0, "", {"doctor"});
}

// This program knows no way from a schema that was never released.
TEST_P(F23Versions, F23_I5_I10_AnOlderStoreThatCannotBeMigratedIsRefusedByName) {
  fs::remove_all(stage_.store());
  fs::remove(stage_.epoch_copy());
  {
    kv::LmdbOptions options;
    options.folder = stage_.store();
    options.clock = &clock_;
    options.boot_id = *host::boot_id();
    options.create = true;
    options.schema_version = 0;
    options.durability =
        GetParam() == std::string("full") ? kv::Durability::kFull : kv::Durability::kProcess;
    const auto old = kv::LmdbStore::open(options);
    ASSERT_TRUE(old) << old.error().message;
    auto txn = (*old)->begin(kv::Access::kWrite);
    ASSERT_TRUE(txn && (*txn)->put("zz/old", "row") && (*txn)->commit());
  }
  const std::string before = read_text(stage_.data());
  const Answer refused = stage_.expect(69, "bob", {"acquire", "b"});
  EXPECT_THAT(refused.out, HasSubstr("schema 0"));
  EXPECT_TRUE(read_text(stage_.data()) == before);
}

}  // namespace
}  // namespace lockkeeper::faults
