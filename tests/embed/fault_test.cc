// The store taken away, damaged, full; the wall clock stepped: under a lease that is held.
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "embed/scene.h"

namespace lockkeeper::stage {
namespace {

using testing::AnyOf;
using namespace std::chrono_literals;

using Fault = EmbedTest;

// Fails closed, and the holder is told.
void expect_lost(const Lease& lease, const std::atomic<int>& told) {
  EXPECT_FALSE(lease.is_current()) << "what cannot be told is not current";
  EXPECT_TRUE(eventually([&] { return told.load() == 1; }));
  EXPECT_TRUE(lease.lost());
}

TEST_F(Fault, F15_I7_I10_AStoreDeletedUnderTheHolder) {
  const Realm mine = realm();
  std::atomic<int> told = 0;
  const Lease lease = granted(mine, {"a"}, {.ttl = 3s, .on_lost = [&](auto&) { ++told; }});
  // In one step: whoever looks meanwhile must not make a file in a folder that is half gone.
  std::filesystem::rename(stage_.store(), stage_.path("gone"));
  std::filesystem::remove_all(stage_.path("gone"));
  const auto current = lease.check();
  ASSERT_FALSE(current);
  EXPECT_THAT(current.error().code,
              AnyOf(Code::kStoreCorrupt, Code::kStoreUnavailable, Code::kLost));
  expect_lost(lease, told);
  for (const Realm& asking : {realm(), realm()}) {
    const Acquired failed = asking.acquire({"b"});
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.refusal(), nullptr) << "broken is not busy";
  }
}

TEST_F(Fault, F16_I7_I10_AStoreDamagedUnderTheHolder) {
  const Realm mine = realm();
  std::atomic<int> told = 0;
  const Lease lease = granted(mine, {"a"}, {.ttl = 3s, .on_lost = [&](auto&) { ++told; }});
  const std::string data = stage_.store() + "/data.mdb";
  const auto bytes = std::filesystem::file_size(data);
  std::fstream(data, std::ios::in | std::ios::out | std::ios::binary) << std::string(bytes, '\x5a');
  expect_lost(lease, told);
  const Acquired failed = mine.acquire({"b"});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.refusal(), nullptr);
}

TEST_F(Fault, F13_I10_AFullDiskRefusesGrantsAndReleaseStillWorks) {
  const std::string disk = stage_.path("disk");
  std::filesystem::create_directories(disk);
  if (::geteuid() != 0 || ::mount("none", disk.c_str(), "tmpfs", 0, "size=2m") != 0) {
    GTEST_SKIP() << "needs root, to mount a small tmpfs";
  }
  {
    auto mine = Realm::open({.path = stage_.repo(), .store = "lmdb:" + disk + "/store"});
    ASSERT_TRUE(mine);
    std::optional<Lease> lease = granted(*mine, {"first"});
    std::ofstream filler(disk + "/filler", std::ios::binary);
    while (filler.write(std::string(4096, 'x').c_str(), 4096).flush()) continue;
    std::optional<Error> full;
    std::vector<Lease> leases;
    for (int i = 0; i < 20'000 && !full; ++i) {
      auto acquired = mine->acquire({"f" + std::to_string(i)});
      if (acquired) {
        leases.push_back(*std::move(acquired));
      } else {
        full = acquired.error();
      }
    }
    ASSERT_TRUE(full);
    EXPECT_EQ(full->code, Code::kNoSpace) << full->message;
    EXPECT_TRUE(lease->is_current());
    EXPECT_TRUE(lease->release());
    filler.close();
    std::filesystem::remove(disk + "/filler");
    EXPECT_TRUE(mine->acquire({"again"})) << "it recovers by itself";
  }
  EXPECT_EQ(::umount2(disk.c_str(), MNT_DETACH), 0);
}

TEST_F(Fault, F8_I6_I7_StepsOfTheWallClockChangeNothing) {
  if (*LOCKKEEPER_SANITIZED != '\0') GTEST_SKIP() << "a sanitizer must be preloaded first itself";
  const std::string step = stage_.path("step");
  stage_.env["WALL_CLOCK_STEP"] = step;
  stage_.env["LD_PRELOAD"] = LOCKKEEPER_WALL_CLOCK;
  write_text(step, "0");
  Process stepped = holder("hold", "a", 6s);
  stage_.env.erase("LD_PRELOAD");
  expect_says(stepped, "granted");
  constexpr const char* kSteps[] = {"3600", "-3600", "315360000", "-315360000", "0"};
  int number = 0;
  for (const char* seconds : kSteps) {
    write_text(step, seconds);
    pause_ms(1500);
    EXPECT_EQ(act(stepped, ++number), "ok") << seconds;
    EXPECT_FALSE(realm().acquire({"a"})) << seconds;
  }
  EXPECT_EQ(stepped.out().find("told"), std::string::npos) << stepped.out();
}

}  // namespace
}  // namespace lockkeeper::stage
