// What happens to a store behind our back: files lost, cut, swapped, rolled back; boots, restores,
// other schemas. Flipped bits and the doctor are in doctor_test.cc.
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/test_folder.h"
#include "kv/lmdb/damage_testing.h"
#include "kv/lmdb/env.h"
#include "kv/lmdb/epoch.h"

namespace lockkeeper::kv {
namespace {

namespace fs = std::filesystem;
using testing::DamageTest;
using testing::fence;
using testing::fill;
using testing::get_row;
using ::testing::HasSubstr;
using testing::join;
using testing::key_of;
using testing::must;
using testing::open_store;
using testing::overwrite;
using testing::put_row;
using testing::slurp;
using testing::spawn;
using testing::StoreFolder;
using testing::value_of;

TEST_F(DamageTest, F15_EmptiedIsLostStateNotNew) {
  make();
  ASSERT_EQ(::truncate(place_.file("data.mdb").c_str(), 0), 0);
  expect_corrupt("no longer known");
  EXPECT_EQ(expect_repaired().kept_rows, 0U);
}

// A row that was read is the caller's, whatever happens to the file.
TEST_F(DamageTest, F16_I10_RowsOutliveTheFileThatTheyWereReadFrom) {
  make();
  auto store = open_store(place_.options());
  auto txn = must(store->begin(Access::kRead));
  const auto got = must(txn->get(key_of(7)));
  int visits = 0;
  const auto done = txn->scan(prefix_range("row/"), [&](const Row& row) {
    ++visits;
    EXPECT_EQ(::truncate(place_.file("data.mdb").c_str(), 0), 0);
    EXPECT_EQ(row.key, key_of(0));
    EXPECT_EQ(row.value, value_of(0));
    return true;
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kStoreCorrupt) << done.error().message;
  EXPECT_EQ(visits, 1);
  EXPECT_EQ(got->key, key_of(7));
  EXPECT_EQ(got->value, value_of(7));
  txn.reset();
  EXPECT_FALSE(store->begin(Access::kRead));
}

// It crashed one time in a thousand: the file was cut between two steps of a reader.
TEST_F(DamageTest, F16_I10_OverwrittenAtAnyMomentOfAReaderOrWriterIsAnError) {
  for (int round = 0; round < 150; ++round) {
    SCOPED_TRACE(round);
    StoreFolder place;
    auto store = open_store(place.options());
    fill(*store, 50);
    std::atomic<int> passes = 0;
    std::thread user([&] {
      for (;; ++passes) {
        auto txn = store->begin(passes % 4 == 3 ? Access::kWrite : Access::kRead);
        if (!txn) break;
        std::string all;
        const auto seen = (*txn)->scan(prefix_range("row/"), [&](const Row& row) {
          all.append(row.key).append(row.value);
          return true;
        });
        if (!seen) break;
        if (passes % 4 == 3 && !((*txn)->put(key_of(3), value_of(3)) && (*txn)->commit())) break;
      }
    });
    while (passes < 4) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(round * 3));
    overwrite(place.file("data.mdb"), std::string(65'536, 'x'));
    user.join();
    const auto after = store->begin(Access::kRead);
    ASSERT_FALSE(after);
    EXPECT_EQ(after.error().code, Code::kStoreCorrupt) << after.error().message;
  }
}

TEST_F(DamageTest, F15_DeletedIsLostStateNotNew) {
  make();
  fs::remove(place_.file("data.mdb"));
  expect_corrupt("no longer known");
  EXPECT_EQ(expect_repaired().kept_rows, 0U);
}

TEST_F(DamageTest, F15_I10_DeletedFolderInALivingRepositoryIsLostState) {
  make();
  fs::remove_all(place_.folder.file("store"));
  expect_corrupt("no longer known");
  // Under another parent, which is what a new clone is, it is a new store, with fences above.
  LmdbOptions clone = place_.options();
  fs::create_directory(place_.folder.file("clone"));
  clone.folder = place_.folder.file("clone/store");
  auto store = open_store(clone);
  EXPECT_EQ(get_row(*store, "last"), "(none)");
  EXPECT_GT(fence(*store, put_row(*store, "a", "1")), last_fence_);
}

// Two at once need two seats at the gate. The second one's is opened by a name that is gone.
TEST_F(DamageTest, A14_F15_I10_DeletedWhileAnotherReadsIsLostStateNotANewStore) {
  make();
  auto store = open_store(place_.options());
  const auto first = must(store->begin(Access::kRead));
  fs::remove_all(place_.folder.file("store"));
  const auto second = store->begin(Access::kRead);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kStoreCorrupt) << second.error().message;
  EXPECT_THAT(second.error().message, HasSubstr("no longer known"));
}

TEST_F(DamageTest, F15_TruncatedToHalfKeepsWhatIsReadable) {
  make();
  // Cut inside the pages in use, not in the reserve behind them.
  const std::string image = slurp(place_.file("data.mdb"));
  const auto used = image.find_last_not_of('\0') / 2 / 4096 * 4096;
  ASSERT_EQ(::truncate(place_.file("data.mdb").c_str(), static_cast<off_t>(used)), 0);
  expect_corrupt("truncated");
  const RepairReport report = expect_repaired();
  EXPECT_LT(report.kept_rows, 201U);
  ASSERT_EQ(report.kept_files.size(), 1U);
  EXPECT_THAT(report.kept_files[0], HasSubstr("data.mdb.bad-"));
  EXPECT_TRUE(fs::exists(report.kept_files[0]));
}

TEST_F(DamageTest, F15_ForeignFilesAreRefused) {
  make();
  const std::string good = slurp(place_.file("data.mdb"));
  overwrite(place_.file("data.mdb"), std::string(100'000, 'x'));
  expect_corrupt("not a lock store");
  overwrite(place_.file("data.mdb"), "short");
  expect_corrupt("not a lock store");
  std::string one_meta = good;
  one_meta.replace(0, 4096, std::string(4096, '\0'));
  overwrite(place_.file("data.mdb"), one_meta);
  expect_corrupt("meta page 0");
  EXPECT_GE(expect_repaired().kept_rows, 200U);
}

TEST_F(DamageTest, F15_AnotherStoresDataFileIsRefused) {
  make();
  StoreFolder other;
  put_row(*open_store(other.options()), "a", "1");
  overwrite(place_.file("data.mdb"), slurp(other.file("data.mdb")));
  const auto opened = LmdbStore::open(place_.options());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kStoreCorrupt);
}

// One bit in the older meta page's transaction number makes it the newer one: the last commit, and
// with it a lease, would be gone without a trace.
TEST_F(DamageTest, F16_I10_AnOlderMetaPageThatClaimsToBeNewerIsRefused) {
  make();
  std::string image = slurp(place_.file("data.mdb"));
  const auto txn_id = [&](std::size_t meta) -> unsigned char& {
    return reinterpret_cast<unsigned char&>(image[meta * 4096 + 144]);
  };
  const std::size_t older = txn_id(0) < txn_id(1) ? 0 : 1;
  txn_id(older) |= 0x40;
  overwrite(place_.file("data.mdb"), image);
  expect_corrupt("newest commit");
  expect_repaired();
}

// A count of rows that no file could hold must not pass for a big store, which is not scanned.
TEST_F(DamageTest, F16_I10_AnImpossibleCountOfRowsIsRefused) {
  make();
  std::string image = slurp(place_.file("data.mdb"));
  for (const std::size_t meta : {std::size_t{0}, std::size_t{1}})
    image[meta * 4096 + 88 + 32 + 7] |= 0x40;
  overwrite(place_.file("data.mdb"), image);
  expect_corrupt("meta pages are damaged");
  expect_repaired();
}

TEST_F(DamageTest, F16_I10_ATransactionThatOutgrowsItsFileIsDamage) {
  const TestFolder folder;
  const auto env = internal::Env::open(folder.path() + "/data.mdb", {.map_bytes = 1U << 24});
  ASSERT_TRUE(env.has_value()) << env.error().message;
  EXPECT_EQ((*env)->error(MDB_TXN_FULL, "write").code, Code::kStoreCorrupt);
  EXPECT_EQ((*env)->error(MDB_MAP_FULL, "write").code, Code::kLimitExceeded);
}

TEST_F(DamageTest, F15_RolledBackIsRefused) {
  make();
  const std::string old = slurp(place_.file("data.mdb"));
  put_row(*open_store(place_.options()), "later", "1");
  overwrite(place_.file("data.mdb"), old);
  expect_corrupt("rolled back");
  EXPECT_EQ(expect_repaired().kept_rows, 201U);
}

TEST_F(DamageTest, F15_RolledBackUnderARunningProcessIsRefused) {
  make();
  auto store = open_store(place_.options());
  const std::string old = slurp(place_.file("data.mdb"));
  put_row(*store, "later", "1");
  ::usleep(20'000);  // let the file's time move on
  overwrite(place_.file("data.mdb"), old);
  for (const Access access : {Access::kRead, Access::kWrite}) {
    const auto begun = store->begin(access);
    ASSERT_FALSE(begun);
    EXPECT_EQ(begun.error().code, Code::kStoreCorrupt) << begun.error().message;
    EXPECT_THAT(begun.error().message, HasSubstr("rolled back"));
  }
}

TEST_F(DamageTest, F15_CutShortUnderARunningProcessIsAnErrorNotASignal) {
  make();
  EXPECT_EQ(join(spawn([&] {
              auto store = open_store(place_.options());
              if (get_row(*store, "last") != "2") return 1;
              if (::truncate(place_.file("data.mdb").c_str(), 0) != 0) return 2;
              for (const Access access : {Access::kRead, Access::kWrite}) {
                const auto begun = store->begin(access);
                if (begun || begun.error().code != Code::kStoreCorrupt) return 3;
              }
              return 0;
            })),
            0);
}

TEST_F(DamageTest, F15_ReplacedUnderARunningProcessIsOpenedAgain) {
  make();
  const LmdbOptions options = place_.options();
  auto store = open_store(options);
  EXPECT_EQ(get_row(*store, "last"), "2");
  fs::rename(place_.folder.file("store"), place_.folder.file("old"));
  EXPECT_EQ(store->begin(Access::kRead).error().code, Code::kStoreCorrupt) << "deleted is not new";
  fs::copy(place_.folder.file("old"), place_.folder.file("store"), fs::copy_options::recursive);
  EXPECT_EQ(get_row(*store, "last"), "2");
  EXPECT_GT(store->epoch().id, last_epoch_) << "a copy is another life";
  EXPECT_GT(fence(*store, put_row(*store, "last", "3")), last_fence_);
}

TEST_F(DamageTest, I3_RestoredFromAnOldCopyNeverRepeatsAFence) {
  make();
  fs::copy(place_.folder.file("store"), place_.folder.file("backup"), fs::copy_options::recursive);
  std::int64_t highest = 0;
  {
    auto store = open_store(place_.options());
    for (int i = 0; i < 50; ++i) highest = fence(*store, put_row(*store, "n", "x"));
  }
  fs::remove_all(place_.folder.file("store"));
  fs::rename(place_.folder.file("backup"), place_.folder.file("store"));
  auto store = open_store(place_.options());
  EXPECT_EQ(get_row(*store, "n"), "(none)");
  EXPECT_GT(fence(*store, put_row(*store, "n", "y")), highest);
  EXPECT_LT(fence(*store, put_row(*store, "n", "z")), std::int64_t{1} << 53);
}

// Its copy of the epoch lies where the store was before.
TEST_F(DamageTest, I3_MovedAndThenMadeAnewNeverRepeatsAFence) {
  make();
  LmdbOptions moved = place_.options();
  moved.folder = place_.folder.file("moved/store");
  moved.epoch_copy = place_.folder.file("copy-of-moved");
  fs::create_directory(place_.folder.file("moved"));
  fs::rename(place_.folder.file("store"), moved.folder);
  std::int64_t highest = 0;
  {
    auto store = open_store(moved);
    EXPECT_EQ(store->epoch().id, last_epoch_) << "moving it is no loss";
    for (int i = 0; i < 50; ++i) highest = fence(*store, put_row(*store, "n", "x"));
  }
  EXPECT_GT(highest, last_fence_);
  EXPECT_TRUE(fs::exists(moved.epoch_copy));
  fs::remove_all(place_.folder.file("moved"));
  fs::create_directory(place_.folder.file("aside"));  // another inode for the next one
  fs::create_directory(place_.folder.file("moved"));
  auto store = open_store(moved);
  EXPECT_GT(fence(*store, put_row(*store, "n", "y")), highest);
}

TEST_F(DamageTest, I3_F12_TornEpochFileIsTakenFromItsCopy) {
  make();
  const std::string text = slurp(place_.file("epoch"));
  for (const std::size_t keep : {std::size_t{0}, std::size_t{10}, text.size() - 1}) {
    overwrite(place_.file("epoch"), std::string_view(text).substr(0, keep));
    auto store = open_store(place_.options());
    EXPECT_EQ(store->epoch().id, last_epoch_);
    EXPECT_EQ(get_row(*store, "last"), "2");
    const std::int64_t next = fence(*store, put_row(*store, "other", "3"));
    EXPECT_GT(next, last_fence_);
    last_fence_ = next;
  }
  fs::remove(place_.file("epoch"));
  EXPECT_EQ(open_store(place_.options())->epoch().id, last_epoch_);
}

TEST_F(DamageTest, I3_F12_BothEpochFilesLostIsLostState) {
  make();
  fs::remove(place_.file("epoch"));
  fs::remove(place_.folder.file("epoch-copy"));
  expect_corrupt("no longer known");
  EXPECT_EQ(expect_repaired().kept_rows, 201U);
}

TEST_F(DamageTest, I3_F12_OlderEpochFileDoesNotBringBackOldFences) {
  make();
  const std::string old = slurp(place_.file("epoch"));
  LmdbOptions reboot = place_.options();
  reboot.boot_id = "boot-2";
  std::int64_t highest = 0;
  {
    auto store = open_store(reboot);
    highest = fence(*store, put_row(*store, "n", "x"));
  }
  overwrite(place_.file("epoch"), old);
  auto store = open_store(reboot);
  EXPECT_GT(fence(*store, put_row(*store, "n", "y")), highest);
}

TEST_F(DamageTest, F11_I3_I5_RebootUnderFullKeepsRowsAndBeginsAnEpoch) {
  make();
  LmdbOptions reboot = place_.options();
  reboot.boot_id = "boot-2";
  place_.clock.value.mono_ms = 77;
  auto store = open_store(reboot);
  EXPECT_EQ(store->epoch().id, last_epoch_ + 1);
  EXPECT_EQ(store->epoch().start_mono_ms, 77);
  EXPECT_FALSE(store->recreated_after_reboot());
  EXPECT_EQ(get_row(*store, "last"), "2");
  EXPECT_GT(fence(*store, put_row(*store, "last", "3")), last_fence_);
}

TEST_F(DamageTest, F11_I3_RebootWithTheClockTurnedBackStillRaisesFences) {
  make();
  LmdbOptions reboot = place_.options();
  reboot.boot_id = "boot-2";
  place_.clock.value.wall_ms = 1000;
  auto store = open_store(reboot);
  EXPECT_GT(fence(*store, put_row(*store, "last", "3")), last_fence_);
}

TEST_F(DamageTest, F11_RebootUnderProcessBeginsAnewAndReportsTheOldRows) {
  LmdbOptions options = place_.options();
  options.durability = Durability::kProcess;
  std::int64_t highest = 0;
  Version version = 0;
  {
    auto store = open_store(options);
    EXPECT_EQ(store->durability(), Durability::kProcess);
    version = put_row(*store, "lease", "mine");
    highest = fence(*store, version);
  }
  options.on_reboot = [](Txn& before, Txn& txn) -> Result<void> {
    const auto row = must(before.get("lease"));
    return txn.append("e", "reboot " + std::string(row->value));
  };
  for (int boot = 2; boot <= 6; ++boot) {
    options.boot_id = "boot-" + std::to_string(boot);
    place_.clock.value.wall_ms += 60'000;
    auto store = open_store(options);
    EXPECT_TRUE(store->recreated_after_reboot());
    EXPECT_EQ(get_row(*store, "lease"), "(none)");
    auto txn = must(store->begin(Access::kRead));
    std::string event;
    must(txn->scan(prefix_range("e"), [&](const Row& row) {
      event = row.value;
      EXPECT_GT(row.created, version);
      return true;
    }));
    txn.reset();
    EXPECT_EQ(event, "reboot mine");
    version = put_row(*store, "lease", "mine");
    EXPECT_GT(fence(*store, version), highest);
    highest = fence(*store, version);
  }
  int asides = 0;
  for (const auto& entry : fs::directory_iterator(place_.folder.file("store"))) {
    if (entry.path().filename().string().starts_with("data.mdb.reboot-")) ++asides;
  }
  EXPECT_EQ(asides, 2);
}

// Killed at any point of its creation, a store can be created by the next one.
TEST_F(DamageTest, F1_CreationInterruptedAnywhereIsFinishedByTheNext) {
  for (int i = 0; i < 40; ++i) {
    fs::remove_all(place_.folder.file("store"));
    fs::remove(place_.folder.file("epoch-copy"));
    const pid_t child = spawn([&] {
      put_row(*open_store(place_.options()), "a", "1");
      return 0;
    });
    ::usleep(static_cast<useconds_t>(i) * 40);
    ::kill(child, SIGKILL);
    join(child);
    auto store = open_store(place_.options());
    put_row(*store, "b", "1");
    EXPECT_TRUE(store->verify());
  }
}

TEST_F(DamageTest, DurabilityIsTheStoresOwnAndChangesOnlyOnDemand) {
  make();
  LmdbOptions fast = place_.options();
  fast.durability = Durability::kProcess;
  auto store = open_store(fast);
  EXPECT_EQ(store->durability(), Durability::kFull) << "asking for less does not weaken it";
  auto other = open_store(place_.options());
  must(store->set_durability(Durability::kProcess));
  EXPECT_EQ(store->durability(), Durability::kProcess);
  put_row(*other, "last", "3");
  EXPECT_EQ(other->durability(), Durability::kProcess) << "it holds for everybody";
  must(store->set_durability(Durability::kFull));
  EXPECT_EQ(get_row(*store, "last"), "3");
  store.reset();
  other.reset();
  LmdbOptions reboot = place_.options();
  reboot.boot_id = "boot-2";
  EXPECT_EQ(get_row(*open_store(reboot), "last"), "3");
}

TEST_F(DamageTest, F23_NewerSchemaIsRefusedAndNothingChanges) {
  LmdbOptions newer = place_.options();
  newer.schema_version = 7;
  put_row(*open_store(newer), "a", "1");
  const std::string before = slurp(place_.file("data.mdb"));
  const auto refused = LmdbStore::open(place_.options());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kStoreUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("schema 7"));
  EXPECT_THAT(refused.error().message, HasSubstr("schema 1"));
  EXPECT_EQ(slurp(place_.file("data.mdb")), before);
  EXPECT_EQ(get_row(*open_store(newer), "a"), "1");
}

TEST_F(DamageTest, F23_OlderSchemaIsMigratedAfterACopyAndRunningOldBinariesAreRefused) {
  make();
  auto old = open_store(place_.options());
  LmdbOptions newer = place_.options();
  newer.schema_version = 2;
  EXPECT_EQ(LmdbStore::open(newer).error().code, Code::kStoreUnavailable) << "no migration given";
  newer.migrate = [](std::uint32_t from, Txn& txn) -> Result<void> {
    EXPECT_EQ(from, 1U);
    return txn.put("migrated", "yes");
  };
  auto store = open_store(newer);
  EXPECT_EQ(get_row(*store, "migrated"), "yes");
  EXPECT_EQ(get_row(*store, "last"), "2");
  EXPECT_TRUE(fs::exists(place_.file("data.mdb.schema-1")));
  EXPECT_EQ(old->begin(Access::kWrite).error().code, Code::kStoreUnavailable);
  EXPECT_TRUE(store->verify());
}

TEST_F(DamageTest, F23_FailedMigrationChangesNothing) {
  make();
  LmdbOptions newer = place_.options();
  newer.schema_version = 2;
  newer.migrate = [](std::uint32_t, Txn& txn) -> Result<void> {
    must(txn.put("migrated", "half"));
    return fail(Code::kFailed, "no");
  };
  EXPECT_FALSE(LmdbStore::open(newer));
  EXPECT_EQ(get_row(*open_store(place_.options()), "migrated"), "(none)");
}

TEST_F(DamageTest, F19_AnotherTimeNamespaceIsRefused) {
  make();
  auto record = internal::read_epoch(slurp(place_.file("epoch")));
  ASSERT_TRUE(record);
  if (record->time_namespace == 0) GTEST_SKIP() << "this kernel has no time namespaces";
  record->time_namespace += 1;
  overwrite(place_.file("epoch"), internal::write_epoch(*record));
  const auto refused = LmdbStore::open(place_.options());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kStoreUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("time namespace"));
}

}  // namespace
}  // namespace lockkeeper::kv
