#include "dialect/dirlock/lock_file.h"

#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/clock.h"
#include "base/test_folder.h"
#include "host/file_ops.h"
#include "realm/test_repository.h"

namespace lockkeeper::dialect::dirlock {
namespace {

namespace fs = std::filesystem;

LockRecord sample() {
  LockRecord record;
  record.pid = 12345;
  record.cwd = "/Users/gileck/Projects/agents-copy/app-template-ai";
  record.start_time = "2026-02-08T10:30:00.000Z";
  record.hostname = "MacBook-Pro.local";
  record.agents = {"auto-advance", "product-dev"};
  return record;
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

TEST(LockFile, TheFolderIsWhereNodeLooks) {
  const auto folder = [](std::map<std::string, std::string> env) {
    return temp_folder(realm::environment_of(std::move(env)));
  };
  EXPECT_EQ(folder({}), "/tmp");
  EXPECT_EQ(folder({{"TEMP", "/c"}}), "/c");
  EXPECT_EQ(folder({{"TMP", "/b"}, {"TEMP", "/c"}}), "/b");
  EXPECT_EQ(folder({{"TMPDIR", "/a/"}, {"TMP", "/b"}}), "/a");
  EXPECT_EQ(folder({{"TMPDIR", ""}, {"TMP", "/b"}}), "/b");
  EXPECT_EQ(folder({{"TMPDIR", "/"}}), "/");
  EXPECT_EQ(folder({{"TMPDIR", "/a//"}}), "/a/");  // as node: one
}

// echo -n "/Users/…/app-template-ai" | shasum -a 256
TEST(LockFile, TheNameIsTheHashOfTheFolder) {
  const std::string name = lock_name(sample().cwd);
  EXPECT_EQ(name,
            "agent-dir-bffd4e1aa2c45e16a9f5ba604d316f8c68ffe90d2a6d9f6571e9de1b83d16497.lock");
  EXPECT_TRUE(is_lock_name(name));
  EXPECT_FALSE(is_lock_name("agent-dir-a1b2.lock"));
  EXPECT_FALSE(is_lock_name(name + "x"));
  EXPECT_FALSE(is_lock_name("." + name));
}

TEST(LockFile, TheContentIsAsJavaScriptPrintsIt) {
  EXPECT_EQ(record_text(sample()),
            "{\n"
            "  \"pid\": 12345,\n"
            "  \"cwd\": \"/Users/gileck/Projects/agents-copy/app-template-ai\",\n"
            "  \"startTime\": \"2026-02-08T10:30:00.000Z\",\n"
            "  \"hostname\": \"MacBook-Pro.local\",\n"
            "  \"agents\": [\n"
            "    \"auto-advance\",\n"
            "    \"product-dev\"\n"
            "  ]\n"
            "}");
  LockRecord odd = sample();
  odd.cwd = "/a\"b\\c\n\x01é";
  odd.agents.clear();
  const std::string text = record_text(odd);
  EXPECT_NE(text.find("\"/a\\\"b\\\\c\\n\\u0001é\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"agents\": []"), std::string::npos) << text;
}

TEST(LockFile, WhatIsWrittenIsRead) {
  const auto read = parse_record(record_text(sample()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->pid, 12345);
  EXPECT_EQ(read->cwd, sample().cwd);
  EXPECT_EQ(read->start_time, sample().start_time);
  EXPECT_EQ(read->start_ms, *parse_time(sample().start_time));
  EXPECT_EQ(read->hostname, sample().hostname);
  EXPECT_EQ(read->agents, sample().agents);
  EXPECT_EQ(read->identity(), "12345@2026-02-08T10:30:00.000Z");
}

TEST(LockFile, I10_WhatMakesNoSenseIsNotARecord) {
  const std::string deep(30'000, '[');
  for (const std::string text : {"",
                                 " ",
                                 "{",
                                 "[]",
                                 "null",
                                 "\"x\"",
                                 "12",
                                 "{}",
                                 "{\"pid\":1}",
                                 "{\"cwd\":\"/a\"}",
                                 "{\"pid\":\"1\",\"cwd\":\"/a\"}",
                                 "{\"pid\":0,\"cwd\":\"/a\"}",
                                 "{\"pid\":-5,\"cwd\":\"/a\"}",
                                 "{\"pid\":1.5,\"cwd\":\"/a\"}",
                                 "{\"pid\":99999999999999999999,\"cwd\":\"/a\"}",
                                 "{\"pid\":18446744073709551615,\"cwd\":\"/a\"}",
                                 "{\"pid\":4294967297,\"cwd\":\"/a\"}",
                                 "{\"pid\":null,\"cwd\":\"/a\"}",
                                 "{\"pid\":1,\"cwd\":\"a\"}",
                                 "{\"pid\":1,\"cwd\":7}",
                                 "{\"pid\":1,\"cwd\":\"/\xff\"}",
                                 "\xef\xbb\xbf\xff",
                                 "{\"pid\":1,\"cwd\":\"/a\"}x"}) {
    EXPECT_FALSE(parse_record(text)) << text;
  }
  EXPECT_FALSE(parse_record(deep));
}

TEST(LockFile, WhatIsMissingOrMoreIsPassedOver) {
  const auto bare = parse_record(R"({"pid":7,"cwd":"/a"})");
  ASSERT_TRUE(bare);
  EXPECT_FALSE(bare->start_ms);
  EXPECT_EQ(bare->hostname, "");
  EXPECT_TRUE(bare->agents.empty());
  const auto odd = parse_record(
      R"({"pid":7,"cwd":"/a","startTime":5,"hostname":[],"agents":["x",3,null],"more":{}})");
  ASSERT_TRUE(odd);
  EXPECT_FALSE(odd->start_ms);
  EXPECT_EQ(odd->agents, std::vector<std::string>{"x"});
  // Another zone is a time; none is not.
  EXPECT_EQ(
      parse_record(R"({"pid":7,"cwd":"/a","startTime":"2026-02-08T12:30:00+02:00"})")->start_ms,
      *parse_time("2026-02-08T10:30:00Z"));
  EXPECT_FALSE(parse_record(R"({"pid":7,"cwd":"/a","startTime":"2026-02-08 12:30"})")->start_ms);
}

class Place : public testing::Test {
 protected:
  Folder open() const { return std::move(*Folder::open(folder_.path(), "")); }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  TestFolder folder_;
  const std::string name_ = lock_name(sample().cwd);
};

TEST_F(Place, ReadsWhatIsThere) {
  EXPECT_FALSE(*read_lock(open(), name_));
  write(path(name_), record_text(sample()));
  const auto found = read_lock(open(), name_);
  ASSERT_TRUE(found && *found);
  EXPECT_TRUE((*found)->record);
  const auto now = (*found)->stamp.mtime_ms;
  EXPECT_TRUE((*found)->young(now + 100));
  EXPECT_FALSE((*found)->young(now + kYoungMs));
  EXPECT_FALSE((*found)->young(now - 3'600'000));
  LockRecord other = sample();
  other.cwd = "/elsewhere";
  write(path(name_), record_text(other));
  EXPECT_FALSE((*read_lock(open(), name_))->record);
  EXPECT_NE((*read_lock(open(), name_))->trouble.find("does not belong"), std::string::npos);
}

TEST_F(Place, I10_NoSymlinkFolderPipeOrHugeFileIsRead) {
  write(path("target"), record_text(sample()));
  fs::create_symlink(path("target"), path(name_));
  EXPECT_EQ(read_lock(open(), name_).error().code, Code::kStoreUnavailable);
  EXPECT_EQ(*clear_lock(folder_.path(), name_, record_text(sample())), Cleared::kChanged);
  EXPECT_TRUE(fs::exists(path("target")));
  fs::remove(path(name_));
  fs::create_directory(path(name_));
  EXPECT_EQ(read_lock(open(), name_).error().code, Code::kStoreUnavailable);
  fs::remove(path(name_));
  write(path(name_), std::string(kLockBytesMax + 1, ' '));
  EXPECT_EQ(read_lock(open(), name_).error().code, Code::kStoreUnavailable);
}

TEST_F(Place, ClearsOnlyWhatWasJudged) {
  const std::string bytes = record_text(sample());
  EXPECT_EQ(*clear_lock(folder_.path(), name_, bytes), Cleared::kGone);
  EXPECT_EQ(*clear_lock(path("nowhere"), name_, bytes), Cleared::kGone);
  write(path(name_), bytes);
  EXPECT_EQ(*clear_lock(folder_.path(), name_, bytes + " "), Cleared::kChanged);
  EXPECT_EQ(*clear_lock(folder_.path(), name_, bytes.substr(1)), Cleared::kChanged);
  EXPECT_TRUE(fs::exists(path(name_)));
  EXPECT_EQ(*clear_lock(folder_.path(), name_, bytes), Cleared::kDone);
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

// The hole of the original: two that judged one file, and the second removes the first's new lock.
TEST_F(Place, I1_OfManyWhoClearOneLockExactlyOneDoes) {
  const std::string old = record_text(sample());
  for (int round = 0; round < 200; ++round) {
    write(path(name_), old);
    std::atomic<int> cleared = 0;
    std::atomic<int> made = 0;
    std::vector<std::thread> stealers;
    for (int i = 0; i < 4; ++i) {
      stealers.emplace_back([&, i] {
        const auto done = clear_lock(folder_.path(), name_, old);
        ASSERT_TRUE(done) << done.error().message;
        if (*done != Cleared::kDone) return;
        ++cleared;
        LockRecord mine = sample();
        mine.pid = 100 + i;
        const Folder folder = open();
        if (host::write_new(folder, name_, record_text(mine))) ++made;
      });
    }
    for (std::thread& stealer : stealers) stealer.join();
    ASSERT_EQ(cleared, 1) << round;
    ASSERT_EQ(made, 1) << round;
    ASSERT_TRUE(fs::exists(path(name_)));
    fs::remove(path(name_));
  }
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

}  // namespace
}  // namespace lockkeeper::dialect::dirlock
