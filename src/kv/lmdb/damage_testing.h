// For the tests of damage: a store with known rows, and what must be true of it afterwards.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/fd.h"
#include "kv/lmdb/doctor.h"
#include "kv/lmdb/testing.h"

namespace lockkeeper::kv::testing {

inline std::string slurp(const std::string& path) {
  return must(read_file(path, SIZE_MAX));
}

// Overwrites the file in place, as a careless tool would.
inline void overwrite(const std::string& path, std::string_view bytes) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  ASSERT_TRUE(fd);
  ASSERT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
}

inline std::string value_of(int i) {
  return "value-" + std::to_string(i) + std::string(40, 'v');
}
inline std::string key_of(int i) {
  return "row/" + std::to_string(i);
}

inline void fill(Store& store, int rows) {
  auto txn = must(store.begin(Access::kWrite));
  for (int i = 0; i < rows; ++i) must(txn->put(key_of(i), value_of(i)));
  must(txn->commit());
}

inline std::int64_t fence(LmdbStore& store, Version version) {
  return static_cast<std::int64_t>(version) + store.epoch().fence_offset;
}

class DamageTest : public ::testing::Test {
 protected:
  // A closed store with 200 rows.
  void make() {
    auto store = open_store(place_.options());
    fill(*store, 200);
    put_row(*store, "last", "1");
    last_fence_ = fence(*store, put_row(*store, "last", "2"));
    last_epoch_ = store->epoch().id;
  }

  void expect_corrupt(const std::string& words) {
    for (const bool create : {false, true}) {
      const auto opened = LmdbStore::open(place_.options(create));
      ASSERT_FALSE(opened);
      EXPECT_EQ(opened.error().code, Code::kStoreCorrupt) << opened.error().message;
      EXPECT_THAT(opened.error().message, ::testing::HasSubstr(words));
    }
  }

  // Repaired, it grants again, above all fences that it ever gave.
  RepairReport expect_repaired() {
    const auto before = must(inspect(place_.options()));
    EXPECT_TRUE(before.exists);
    EXPECT_FALSE(before.healthy);
    RepairReport report = must(repair(place_.options()));
    const auto after = must(inspect(place_.options()));
    EXPECT_TRUE(after.healthy) << (after.findings.empty() ? "" : after.findings[0].what);
    auto store = open_store(place_.options(false));
    EXPECT_GT(store->epoch().id, last_epoch_);
    EXPECT_GT(fence(*store, put_row(*store, "new", "1")), last_fence_);
    EXPECT_TRUE(store->verify());
    return report;
  }

  InMemory in_memory_;
  StoreFolder place_;
  std::int64_t last_fence_ = 0;
  std::uint64_t last_epoch_ = 0;
};

}  // namespace lockkeeper::kv::testing
