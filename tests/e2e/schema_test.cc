// A store that an earlier version of the program wrote, with leases and waiters in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/text.h"
#include "host/process.h"
#include "kv/lmdb/lmdb_store.h"
#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;

std::string from_hex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

struct SavedRow {
  std::string key;
  std::string value;
};

// By the version that created them.
std::map<kv::Version, std::vector<SavedRow>> saved_rows() {
  std::map<kv::Version, std::vector<SavedRow>> rows;
  std::ifstream file(LOCKKEEPER_SCHEMA_1);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    kv::Version version = 0;
    std::string key, value;
    words >> version >> key >> value;
    rows[version].push_back({from_hex(key), from_hex(value)});
  }
  return rows;
}

class Schema : public testing::Test {
 protected:
  Schema() {
    const auto boot = host::boot_id();
    EXPECT_TRUE(boot);
    options_.folder = stage_.store();
    options_.create = true;
    options_.clock = &clock_;
    options_.boot_id = *boot;
    options_.schema_version = 1;
    const auto store = kv::LmdbStore::open(options_);
    EXPECT_TRUE(store) << store.error().message;
    for (const auto& [version, rows] : saved_rows()) {
      EXPECT_EQ(commit(**store, rows), version);
    }
  }

  static kv::Version commit(kv::Store& store, const std::vector<SavedRow>& rows) {
    const auto txn = store.begin(kv::Access::kWrite);
    EXPECT_TRUE(txn) << txn.error().message;
    for (const SavedRow& row : rows) EXPECT_TRUE((*txn)->put(row.key, row.value));
    const auto done = (*txn)->commit();
    EXPECT_TRUE(done) << done.error().message;
    return done->version;
  }

  const SystemClock clock_;
  kv::LmdbOptions options_;
  Stage stage_;
};

TEST_F(Schema, A1_F23_I2_L4_LeasesAndWaitersOfSchemaOneStayAndAreServed) {
  const Json list = stage_.list();
  EXPECT_EQ(list["leases"].size(), 4U) << list.dump(1);
  EXPECT_EQ(list["waiters"].size(), 2U) << list.dump(1);
  EXPECT_TRUE(std::filesystem::exists(stage_.store() + "/data.mdb.schema-1"));
  stage_.expect(0, "", {"doctor"});

  stage_.env["LOCKKEEPER_SESSION"] = "s1";
  stage_.expect(75, "ann", {"acquire", "lib/x.c"});
  const Answer again = stage_.expect(0, "ann", {"acquire", "src/", "--ttl", "none"});
  EXPECT_EQ(again.json()["outcome"], "renewed");
  // The first in the queue is next, and the second still waits for it.
  stage_.expect(0, "ann", {"release", "src/"});
  const Json after = stage_.list();
  ASSERT_EQ(after["waiters"].size(), 1U) << after.dump(1);
  EXPECT_EQ(after["waiters"][0]["agent"], "cat");
  EXPECT_THAT(stage_.expect(75, "ann", {"acquire", "src/a.c"}).out, HasSubstr("bob"));

  stage_.env["LOCKKEEPER_SESSION"] = "s5";
  const Answer told = stage_.as("eve", {"check", "other"});
  EXPECT_THAT(told.err, HasSubstr("urgent")) << "what was lost before is told now";
  EXPECT_THAT(told.err, HasSubstr("hello"));
}

TEST_F(Schema, F23_AProgramOfSchemaOneRefusesItAfterwards) {
  stage_.list();
  options_.create = false;
  const auto older = kv::LmdbStore::open(options_);
  ASSERT_FALSE(older);
  EXPECT_EQ(older.error().code, Code::kStoreUnavailable);
}

// packaging/keep-store has written them, one with each release.
std::vector<std::string> kept_stores() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(LOCKKEEPER_STORES)) {
    files.push_back(entry.path());
  }
  return files;
}

class KeptStore : public testing::TestWithParam<std::string> {};

TEST_P(KeptStore, A1_F23_WhatAnEarlierReleaseHasWrittenIsServed) {
  Stage stage;
  ASSERT_EQ(
      stage.finish(stage.command({"tar", "-xzf", GetParam(), "-C", stage.repo() + "/.git"})).status,
      0);
  const Json list = stage.list();
  EXPECT_EQ(list["leases"].size(), 2U) << list.dump(1);
  EXPECT_THAT(stage.expect(75, "cat", {"acquire", "src/a.c"}).out, HasSubstr("a rewrite"));
  stage.expect(75, "cat", {"acquire", "docs/x.md"});
  stage.expect(75, "cat", {"acquire", "lib/x.c"});
  stage.expect(0, "cat", {"acquire", "lib/x.c", "--mode", "shared"});
  stage.expect(0, "cat", {"acquire", "gone.c"});
  EXPECT_THAT(stage.as("ann", {"check", "other"}).err, HasSubstr("hello"));
  EXPECT_THAT(stage.as("eve", {"check", "other"}).err, HasSubstr("urgent"));
  stage.expect(0, "ann", {"release", "--all"});
  stage.expect(0, "cat", {"acquire", "src/a.c"});
  stage.expect(0, "", {"doctor"});
}

INSTANTIATE_TEST_SUITE_P(Releases, KeptStore, testing::ValuesIn(kept_stores()),
                         [](const auto& store) {
                           std::string name = std::filesystem::path(store.param).filename();
                           for (char& c : name)
                             c = is_ascii_digit(c) || is_ascii_letter(c) ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace lockkeeper::stage
