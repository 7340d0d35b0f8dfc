// The store as its users see it: rows, versions, processes. Damage is in damage_test.cc.
#include "kv/lmdb/lmdb_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "kv/lmdb/files.h"
#include "kv/lmdb/testing.h"

namespace lockkeeper::kv {
namespace {

using ::testing::ElementsAre;
using testing::get_row;
using ::testing::HasSubstr;
using testing::join;
using testing::join_stopped;
using testing::Line;
using testing::must;
using testing::open_store;
using testing::put_row;
using testing::spawn;
using testing::StoreFolder;

std::vector<std::string> keys(Txn& txn, const Range& range) {
  std::vector<std::string> found;
  must(txn.scan(range, [&](const Row& row) {
    found.emplace_back(row.key);
    return true;
  }));
  return found;
}

TEST(LmdbStoreTest, RowsKeepTheirCreateVersion) {
  StoreFolder place;
  auto store = open_store(place.options());
  const Version first = put_row(*store, "a", "1");
  const Version second = put_row(*store, "a", "2");
  EXPECT_EQ(second, first + 1);
  auto txn = must(store->begin(Access::kWrite));
  auto row = must(txn->get("a"));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->created, first);
  EXPECT_EQ(row->modified, second);
  must(txn->put("a", "3"));
  row = must(txn->get("a"));
  EXPECT_EQ(row->created, first);
  EXPECT_EQ(row->modified, 0U);
  must(txn->erase("a"));
  must(txn->put("a", "4"));
  row = must(txn->get("a"));
  EXPECT_EQ(row->created, first);  // erased and put by one transaction: overwritten
  must(txn->erase("a"));
  EXPECT_EQ(must(txn->commit()).version, second + 1);
  txn.reset();
  const Version again = put_row(*store, "a", "5");
  txn = must(store->begin(Access::kRead));
  EXPECT_EQ(must(txn->get("a"))->created, again);
}

TEST(LmdbStoreTest, ScansSkipTheLedgerInBothDirections) {
  StoreFolder place;
  auto store = open_store(place.options());
  auto txn = must(store->begin(Access::kWrite));
  must(txn->append("e", "event"));
  must(txn->put("a", ""));
  must(txn->put("f", ""));
  EXPECT_THAT(keys(*txn, {"", "\xff"}), ElementsAre("a", "f")) << "appended rows come later";
  const Version version = must(txn->commit()).version;
  txn.reset();
  txn = must(store->begin(Access::kRead));
  EXPECT_EQ(keys(*txn, {"", "\xff"}).size(), 3U);
  std::vector<std::string> back;
  must(txn->scan_back({"b", "\xff"}, [&](const Row& row) {
    back.emplace_back(row.value);
    EXPECT_EQ(row.created, version);
    return true;
  }));
  EXPECT_THAT(back, ElementsAre("", "event"));
  EXPECT_TRUE(keys(*txn, {"e\xff", "f"}).empty());
}

TEST(LmdbStoreTest, ReadsInsideAVisitDoNotDisturbTheScan) {
  StoreFolder place;
  auto store = open_store(place.options());
  for (const char* key : {"a", "b", "c", "d"}) put_row(*store, key, key);
  auto txn = must(store->begin(Access::kRead));
  std::string seen;
  must(txn->scan({"a", "z"}, [&](const Row& row) {
    seen += row.value;
    EXPECT_EQ(must(txn->get("d"))->value, "d");
    EXPECT_EQ(keys(*txn, {"b", "d"}).size(), 2U);
    return true;
  }));
  EXPECT_EQ(seen, "abcd");
}

TEST(LmdbStoreTest, ExplicitGuardsConflictAndNothingIsWritten) {
  StoreFolder place;
  auto store = open_store(place.options());
  const Version version = put_row(*store, "a", "1");
  auto txn = must(store->begin(Access::kWrite));
  must(txn->guard_absent("a"));
  must(txn->put("b", ""));
  EXPECT_EQ(must(txn->commit()).fate, Fate::kConflict);
  txn.reset();
  EXPECT_EQ(get_row(*store, "b"), "(none)");
  txn = must(store->begin(Access::kWrite));
  must(txn->guard_absent("b"));
  must(txn->guard_empty({"b", "c"}));
  must(txn->guard_unchanged("a", version));
  must(txn->put("b", ""));
  EXPECT_EQ(must(txn->commit()).fate, Fate::kCommitted);
}

TEST(LmdbStoreTest, L8_LimitsAreNamedAndNothingIsWritten) {
  StoreFolder place;
  auto store = open_store(place.options());
  auto txn = must(store->begin(Access::kWrite));
  EXPECT_EQ(txn->put(std::string(kKeyBytesMax + 1, 'k'), "").error().code, Code::kLimitExceeded);
  EXPECT_EQ(txn->put("k", std::string(kValueBytesMax + 1, 'v')).error().code, Code::kLimitExceeded);
  EXPECT_EQ(txn->append(std::string(kKeyBytesMax - 9, 'k'), "").error().code, Code::kLimitExceeded);
  must(txn->put(std::string(kKeyBytesMax, 'k'), std::string(kValueBytesMax, 'v')));
  must(txn->append(std::string(kKeyBytesMax - 10, 'k'), "tail"));
  must(txn->commit());
  txn.reset();
  EXPECT_EQ(get_row(*store, std::string(kKeyBytesMax, 'k')).size(), kValueBytesMax);
  EXPECT_EQ(must(store->verify()).rows, 2U);
}

// The map begins with 1 MiB; the second process is open while the first lets it grow.
TEST(LmdbStoreTest, MapGrowsByItselfAndOthersNotice) {
  StoreFolder place;
  LmdbOptions options = place.options();
  options.map_bytes = 1 << 20;
  auto store = open_store(options);
  Line opened;
  Line grown;
  const pid_t other = spawn([&] {
    auto mine = open_store(options);
    if (get_row(*mine, "absent") != "(none)") return 1;
    opened.say();
    grown.hear();
    for (int i = 0; i < 100; ++i) {
      if (get_row(*mine, "key" + std::to_string(i)).size() != 100'000) return 2;
    }
    put_row(*mine, "mine", "1");
    return 0;
  });
  opened.hear();
  for (int i = 0; i < 100; ++i) {
    put_row(*store, "key" + std::to_string(i), std::string(100'000, 'v'));
  }
  grown.say();
  EXPECT_EQ(join(other), 0);
  EXPECT_EQ(get_row(*store, "mine"), "1");
  EXPECT_EQ(must(store->verify()).rows, 101U);
}

TEST(LmdbStoreTest, TwoStoresOfOneProcessShareTheFolder) {
  StoreFolder place;
  auto one = open_store(place.options());
  auto two = open_store(place.options());
  put_row(*one, "a", "1");
  EXPECT_EQ(get_row(*two, "a"), "1");
  one.reset();
  put_row(*two, "a", "2");
  EXPECT_EQ(get_row(*two, "a"), "2");
}

TEST(LmdbStoreTest, I1_ThreadsCountWithoutLoss) {
  StoreFolder place;
  LmdbOptions options = place.options();
  options.durability = Durability::kProcess;
  auto store = open_store(options);
  put_row(*store, "n", "0");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 100; ++n) {
        auto txn = must(store->begin(Access::kWrite));
        const int value = std::stoi(std::string(must(txn->get("n"))->value));
        must(txn->put("n", std::to_string(value + 1)));
        must(txn->commit());
        txn.reset();
        get_row(*store, "n");
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(get_row(*store, "n"), "400");
}

TEST(LmdbStoreTest, ForkedChildUsesTheInheritedStore) {
  StoreFolder place;
  auto store = open_store(place.options());
  put_row(*store, "a", "parent");
  auto open_txn = must(store->begin(Access::kWrite));  // the fork happens inside it
  must(open_txn->put("a", "unfinished"));
  Line go;
  const pid_t child = spawn([&] {
    if (open_txn->commit()) return 1;  // not this process's to commit
    open_txn.reset();
    go.hear();
    put_row(*store, "b", "child");
    return get_row(*store, "a") == "finished" ? 0 : 2;
  });
  must(open_txn->put("a", "finished"));
  must(open_txn->commit());
  open_txn.reset();
  go.say();
  EXPECT_EQ(join(child), 0);
  EXPECT_EQ(get_row(*store, "b"), "child");
  EXPECT_TRUE(store->verify());
}

TEST(LmdbStoreTest, F5_L7_StoppedInsideATransactionIsNamedAndRecovers) {
  StoreFolder place;
  LmdbOptions options = place.options();
  options.patience_ms = 200;
  auto store = open_store(options);
  for (const Access access : {Access::kRead, Access::kWrite}) {
    const pid_t child = spawn([&] {
      auto mine = open_store(options);
      auto txn = must(mine->begin(access));
      ::raise(SIGSTOP);
      return 0;
    });
    join_stopped(child);
    const auto refused = store->begin(Access::kWrite);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kStoreBusy);
    EXPECT_THAT(refused.error().message, HasSubstr("pid " + std::to_string(child) + " ("));
    ::kill(child, SIGKILL);
    join(child);
    put_row(*store, "a", "after");
  }
}

struct Tally {
  std::atomic<std::uint64_t> acknowledged[3];
};

// Writers keep two rows equal and count; they are killed at any moment. Whatever was acknowledged
// is there afterwards, and the rows are never unequal.
TEST(LmdbStoreTest, F2_I5_KillSoakLosesNothing) {
  StoreFolder place;
  LmdbOptions options = place.options();
  options.durability = Durability::kProcess;
  options.patience_ms = 20'000;
  auto store = open_store(options);
  void* memory =
      ::mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* tally = new (memory) Tally{};
  const auto work = [&](int who) {
    auto mine = open_store(options);
    const std::string key = "w" + std::to_string(who);
    for (;;) {
      auto txn = must(mine->begin(Access::kWrite));
      const auto left = must(txn->get(key + "l"));
      const auto right = must(txn->get(key + "r"));
      if (left.has_value() != right.has_value()) return 1;
      if (left && left->value != right->value) return 2;
      const std::uint64_t next = left ? std::stoull(std::string(left->value)) + 1 : 1;
      must(txn->put(key + "l", std::to_string(next)));
      must(txn->append("e", std::string(300, 'e')));
      must(txn->put(key + "r", std::to_string(next)));
      must(txn->commit());
      tally->acknowledged[who] = next;
    }
  };
  unsigned seed = 12345;
  for (int round = 0; round < 100; ++round) {
    pid_t children[3];
    for (int i = 0; i < 3; ++i) children[i] = spawn([&, i] { return work(i); });
    for (const pid_t child : children) {
      seed = seed * 1'103'515'245 + 12'345;
      ::usleep(500 + (seed >> 16) % 4000);
      ::kill(child, SIGKILL);
      ASSERT_EQ(join(child), 1000 + SIGKILL) << "round " << round;
    }
  }
  for (int i = 0; i < 3; ++i) {
    const std::string key = "w" + std::to_string(i);
    EXPECT_EQ(get_row(*store, key + "l"), get_row(*store, key + "r"));
    EXPECT_GE(std::stoull("0" + get_row(*store, key + "l")), tally->acknowledged[i]);
  }
  EXPECT_TRUE(store->verify());
  ::munmap(memory, sizeof(Tally));
}

TEST(LmdbStoreTest, AbsentStoreIsNotFoundAndNothingIsCreated) {
  StoreFolder place;
  const auto absent = LmdbStore::open(place.options(false));
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Code::kNotFound);
  EXPECT_FALSE(internal::identify(place.folder.file("store")));
}

TEST(LmdbStoreTest, FilesHaveTheModesThatWereAsked) {
  StoreFolder place;
  LmdbOptions options = place.options();
  options.folder_mode = 02770;
  options.file_mode = 0660;
  put_row(*open_store(options), "a", "1");
  struct stat st{};
  ASSERT_EQ(::stat(place.folder.file("store").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 02770U);
  for (const char* name : {"gate", "data.mdb", "epoch"}) {
    ASSERT_EQ(::stat(place.file(name).c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 0660U) << name;
  }
}

TEST(LmdbStoreTest, RootCreatesForTheOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "giving files away needs root";
  StoreFolder place;
  LmdbOptions options = place.options();
  options.uid = 12345;
  options.gid = 54321;
  put_row(*open_store(options), "a", "1");
  struct stat st{};
  for (const char* name : {"", "gate", "data.mdb", "epoch"}) {
    ASSERT_EQ(::stat(place.file(name).c_str(), &st), 0);
    EXPECT_EQ(st.st_uid, 12345U) << name;
    EXPECT_EQ(st.st_gid, 54321U) << name;
  }
}

TEST(LmdbStoreTest, F19_AnotherUsersStoreIsAClearError) {
  if (::geteuid() != 0) GTEST_SKIP() << "acting as another user needs root";
  StoreFolder place;
  ASSERT_EQ(::chmod(place.folder.path().c_str(), 0755), 0);
  put_row(*open_store(place.options()), "a", "1");
  EXPECT_EQ(join(spawn([&] {
              if (::setgid(65534) != 0 || ::setuid(65534) != 0) return 3;
              const auto refused = LmdbStore::open(place.options());
              if (refused) return 1;
              return refused.error().code == Code::kStoreUnavailable ? 0 : 2;
            })),
            0);
}

TEST(LmdbStoreTest, F14_ReadOnlyMountIsReadButNotWritten) {
  StoreFolder place;
  put_row(*open_store(place.options()), "a", "1");
  const pid_t child = spawn([&] {
    const std::string& at = place.folder.path();
    if (::unshare(CLONE_NEWNS) != 0) return 77;
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
    if (::mount(at.c_str(), at.c_str(), nullptr, MS_BIND, nullptr) != 0) return 77;
    if (::mount(nullptr, at.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
      return 77;
    }
    auto store = open_store(place.options(false));
    if (get_row(*store, "a") != "1") return 1;
    const auto refused = store->begin(Access::kWrite);
    if (refused || refused.error().code != Code::kStoreUnavailable) return 2;
    LmdbOptions elsewhere = place.options();
    elsewhere.folder = place.folder.file("new");
    const auto unmade = LmdbStore::open(elsewhere);
    return unmade || unmade.error().code != Code::kStoreUnavailable ? 3 : 0;
  });
  const int status = join(child);
  if (status == 77) GTEST_SKIP() << "mounting needs privileges that this process does not have";
  EXPECT_EQ(status, 0);
}

class OnAFullDisk : public ::testing::TestWithParam<Durability> {};
INSTANTIATE_TEST_SUITE_P(Lmdb, OnAFullDisk,
                         ::testing::Values(Durability::kFull, Durability::kProcess),
                         [](const auto& tested) {
                           return tested.param == Durability::kFull ? "full" : "process";
                         });

// A small filesystem is filled to the brim; then space comes back.
TEST_P(OnAFullDisk, F13_RefusesGrantsAllowsReleasesAndRecovers) {
  StoreFolder place;
  const pid_t child = spawn([&] {
    const std::string at = place.folder.file("small");
    if (::mkdir(at.c_str(), 0700) != 0 || ::unshare(CLONE_NEWNS) != 0) return 77;
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
    if (::mount("tmpfs", at.c_str(), "tmpfs", 0, "size=6m") != 0) return 77;
    LmdbOptions options = place.options();
    options.folder = at + "/store";
    options.durability = GetParam();
    auto store = open_store(options);
    const auto put = [&](int i) -> Result<CommitResult> {
      auto txn = must(store->begin(Access::kWrite));
      must(txn->put("row" + std::to_string(i), std::string(1500, 'v')));
      return txn->commit();
    };
    int rows = 0;
    Result<CommitResult> last;
    while ((last = put(rows))) ++rows;
    if (last.error().code != Code::kNoSpace) return 1;
    if (rows < 100) return 2;
    if (get_row(*store, "row" + std::to_string(rows)) != "(none)") return 3;
    // Nothing left at all, for anybody.
    const Fd filler(::open((at + "/filler").c_str(), O_CREAT | O_WRONLY, 0600));
    const std::string block(4096, 'f');
    while (::write(filler.get(), block.data(), block.size()) > 0) {
    }
    if (put(rows)) return 4;
    for (int i = 0; i < rows; ++i) {
      auto txn = must(store->begin(Access::kWrite));
      must(txn->erase("row" + std::to_string(i)));
      must(txn->append("e", std::string(200, 'e')));
      if (!txn->commit()) return 5;
    }
    if (!put(rows)) return 6;  // by itself: the pages of the erased rows are free
    if (::unlink((at + "/filler").c_str()) != 0) return 7;
    for (int i = 0; i < rows / 2; ++i) {
      if (!put(i)) return 8;
    }
    return store->verify() ? 0 : 9;
  });
  const int status = join(child);
  if (status == 77) GTEST_SKIP() << "mounting needs privileges that this process does not have";
  EXPECT_EQ(status, 0);
}

TEST(LmdbStoreTest, NothingIsInheritedByWhatWeExecute) {
  StoreFolder place;
  auto store = open_store(place.options());
  put_row(*store, "a", "1");
  int seen = 0;
  for (int fd = 0; fd < 256; ++fd) {
    std::error_code ignored;
    const auto target =
        std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), ignored).string();
    if (!target.starts_with(place.folder.path())) continue;
    ++seen;
    EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0) << target;
  }
  EXPECT_GE(seen, 3);
}

// How much of a file this process has mapped into its memory.
std::uint64_t resident_kib(const std::string& file) {
  std::ifstream maps("/proc/self/smaps");
  bool here = false;
  std::uint64_t kib = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find('-') < line.find(':')) here = line.ends_with(" " + file);
    if (here && line.starts_with("Rss:")) kib += std::stoull(line.substr(4));
  }
  return kib;
}

// A hook of a coding agent is such a process.
TEST(LmdbStoreTest, AProcessThatAsksOneQuestionHasLittleOfALargeStoreInItsMemory) {
  constexpr std::uint32_t kRows = 100'000;
  constexpr std::uint32_t kRowsAtOnce = 100;
  StoreFolder place;
  LmdbOptions options = place.options();
  options.durability = Durability::kProcess;
  const auto scattered = [](std::uint32_t n) { return std::to_string(n * 2'654'435'761U); };
  {
    const auto store = open_store(options);
    const std::string value(700, 'x');
    for (std::uint32_t first = 0; first < kRows; first += kRowsAtOnce) {
      auto txn = must(store->begin(Access::kWrite));
      for (std::uint32_t i = 0; i < kRowsAtOnce; ++i) must(txn->put(scattered(first + i), value));
      must(txn->commit());
    }
    EXPECT_GT(resident_kib(place.file("data.mdb")), 16'384U) << "it is large";
  }
  const auto store = open_store(options);
  for (std::uint32_t n = 0; n < 5; ++n) put_row(*store, scattered(n * 10'007), "changed");
  EXPECT_LT(resident_kib(place.file("data.mdb")), 2'048U);
}

TEST(LmdbStoreTest, F20_NetworkFilesystemsAreRefused) {
  EXPECT_STREQ(internal::refused_filesystem(0x6969), "NFS");
  EXPECT_STREQ(internal::refused_filesystem(0xff534d42), "CIFS");
  EXPECT_STREQ(internal::refused_filesystem(0xffffffffff534d42), "CIFS") << "sign-extended f_type";
  EXPECT_STREQ(internal::refused_filesystem(0x65735546), "FUSE");
  EXPECT_STREQ(internal::refused_filesystem(0x01021997), "9p");
  EXPECT_EQ(internal::refused_filesystem(0xef53), nullptr) << "ext4";
  EXPECT_EQ(internal::refused_filesystem(0x01021994), nullptr) << "tmpfs";
}

}  // namespace
}  // namespace lockkeeper::kv
