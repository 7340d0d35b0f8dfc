// No entry of another is ever lost, whatever comes between our steps, our death included.
#include "dialect/coordmcp/shared_file.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/test_folder.h"

namespace lockkeeper::dialect::coordmcp {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using Verdict = SharedFile::Verdict;

class SharedFileTest : public testing::TestWithParam<bool> {
 protected:
  SharedFileTest() : at_(*Folder::open(folder_.path(), "")) {}

  SharedFile shared() {
    SharedFile file(at_, "p.json", Shape::kProject, clock_);
    if (!GetParam()) file.without_leases();
    return file;
  }
  static Entry entry(const std::string& key, const std::string& agent) {
    Entry entry;
    entry.key = key;
    entry.locked_by = agent;
    entry.locked_at = LocalTime{1'705'746'600, 5};
    return entry;
  }
  static SharedFile::Change put(const std::string& key) {
    return [key](LockFile& file) {
      if (file.find(key) != nullptr) return Verdict::kAsItIs;
      file.put(entry(key, "ours"), Shape::kProject);
      return Verdict::kWrite;
    };
  }
  std::string path() const { return folder_.file("p.json"); }
  void write(const std::string& text) const { std::ofstream(path()) << text; }
  std::vector<std::string> keys() {
    const auto file = SharedFile(at_, "p.json", Shape::kProject, clock_).read();
    EXPECT_TRUE(file) << (file ? "" : file.error().message);
    std::vector<std::string> keys;
    if (!file || !*file) return keys;
    for (const Entry& each : (*file)->entries()) keys.push_back(each.key);
    return keys;
  }
  std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const auto& each : fs::directory_iterator(folder_.path())) {
      const std::string name = each.path().filename();
      if (name != "p.json" && name != ".p.json.lockkeeper-lock" &&
          name != ".p.json.lockkeeper-gone") {
        names.push_back(name);
      }
    }
    return names;
  }
  // As CoordMCP does it: the whole file, a fixed name beside it, a rename.
  void foreign_put(const std::string& key) const {
    std::string text;
    {
      std::ifstream in(path());
      text.assign(std::istreambuf_iterator<char>(in), {});
    }
    auto file = text.empty() ? LockFile() : LockFile::parse(text, path()).value_or(LockFile());
    file.put(entry(key, "foreign"), Shape::kProject);
    {
      std::ofstream out(folder_.file("p.tmp"));
      out << file.text(Shape::kProject, {});
    }
    ASSERT_EQ(::rename(folder_.file("p.tmp").c_str(), path().c_str()), 0);
  }

  TestFolder folder_;
  SystemClock clock_;
  Folder at_;
};
INSTANTIATE_TEST_SUITE_P(Leases, SharedFileTest, testing::Bool(),
                         [](const auto& leases) { return leases.param ? "with" : "without"; });

TEST_P(SharedFileTest, IsMadeChangedAndLeftAlone) {
  EXPECT_EQ(*shared().update(put("a")), Verdict::kWrite);
  EXPECT_EQ(*shared().update(put("b")), Verdict::kWrite);
  const auto before = fs::last_write_time(path());
  EXPECT_EQ(*shared().update(put("a")), Verdict::kAsItIs);
  EXPECT_EQ(fs::last_write_time(path()), before);
  EXPECT_THAT(keys(), ElementsAre("a", "b"));
  EXPECT_THAT(left(), ElementsAre());
}

TEST_P(SharedFileTest, AWriteBetweenReadingAndWritingIsMerged) {
  ASSERT_TRUE(shared().update(put("first")));
  int calls = 0;
  const auto done = shared().update([&](LockFile& file) {
    if (++calls == 1) foreign_put("between");
    return put("ours")(file);
  });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(calls, 2);
  EXPECT_THAT(keys(), IsSupersetOf({"first", "between", "ours"}));
  EXPECT_THAT(left(), ElementsAre());
}

TEST_P(SharedFileTest, AFileThatAppearsOrGoesMeanwhileIsSeen) {
  int calls = 0;
  ASSERT_TRUE(shared().update([&](LockFile& file) {
    if (++calls == 1) foreign_put("appeared");
    return put("ours")(file);
  }));
  EXPECT_THAT(keys(), IsSupersetOf({"appeared", "ours"}));
  calls = 0;
  ASSERT_TRUE(shared().update([&](LockFile& file) {
    if (++calls == 1) fs::remove(path());
    return put("second")(file);
  }));
  EXPECT_THAT(keys(), testing::Contains("second"));
  EXPECT_THAT(left(), ElementsAre());
}

TEST_P(SharedFileTest, WhoTookOursMeanwhileKeepsIt) {
  ASSERT_TRUE(shared().update(put("first")));
  int calls = 0;
  const auto done = shared().update([&](LockFile& file) {
    if (++calls == 1) foreign_put("k");
    const Entry* const there = file.find("k");
    if (there != nullptr && there->locked_by != "ours") return Verdict::kTaken;
    file.put(entry("k", "ours"), Shape::kProject);
    // The first answer is made on what was read before.
    return Verdict::kWrite;
  });
  ASSERT_TRUE(done);
  EXPECT_EQ(*done, Verdict::kTaken);
  EXPECT_EQ((*shared().read())->find("k")->locked_by, "foreign");
}

TEST_P(SharedFileTest, I10WhatCannotBeParsedIsNeverReplaced) {
  write("{\"locks\": {");
  const auto done = shared().update(put("a"));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kStoreUnavailable);
  EXPECT_THAT(done.error().message, HasSubstr(path()));
  EXPECT_EQ(read_file(path()).value_or(""), "{\"locks\": {");
  // Also where it breaks under our hands.
  write("{}");
  const auto later = shared().update([&](LockFile& file) {
    fs::remove(path());
    write("broken");
    return put("a")(file);
  });
  ASSERT_FALSE(later);
  EXPECT_EQ(read_file(path()).value_or(""), "broken");
  EXPECT_THAT(left(), ElementsAre());
}

TEST_P(SharedFileTest, WhatIsHalfWrittenIsReadAgain) {
  write("{\"locks\": {");
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    write(R"({"locks": {"x": {}}})");
  });
  EXPECT_THAT(keys(), ElementsAre("x"));
  later.join();
}

// A process that read the file before we removed our entry, and writes it after, brings it back.
TEST_P(SharedFileTest, AGhostOfOursCountsForNobodyAndGoes) {
  ASSERT_TRUE(shared().update(put("ours")));
  const std::string before = read_file(path()).value_or("");
  const std::string identity = (*shared().read())->find("ours")->identity();
  const auto take_out = [](LockFile& file) {
    return file.erase("ours") ? Verdict::kWrite : Verdict::kAsItIs;
  };
  ASSERT_TRUE(shared().update(take_out, {{{"ours", identity}}, {}}));
  write(before);
  EXPECT_THAT(keys(), ElementsAre());
  EXPECT_THAT(read_file(path()).value_or(""), testing::Not(HasSubstr("ours\"")));
  // Another entry of that name is not a ghost, nor is the same one if it is wanted again.
  Entry other = entry("ours", "ours");
  other.locked_at->micros = 6;
  ASSERT_TRUE(shared().update([&](LockFile& file) {
    file.put(other, Shape::kProject);
    return Verdict::kWrite;
  }));
  EXPECT_THAT(keys(), ElementsAre("ours"));
  ASSERT_TRUE(shared().update(take_out));
  ASSERT_TRUE(shared().update(put("ours"), {{}, {{"ours", identity}}}));
  EXPECT_THAT(keys(), ElementsAre("ours"));
}

// A process of ours that dies at every step of its work, with a foreign write in between.
TEST_P(SharedFileTest, F1KilledAtAnyMomentNothingOfOthersIsLost) {
  int killed = 0;
  for (int round = 0; round < 120; ++round) {
    const std::string foreign = "foreign" + std::to_string(round);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int calls = 0;
      static_cast<void>(shared().update([&](LockFile& file) {
        if (++calls == 1) foreign_put(foreign);
        file.put(entry("ours" + std::to_string(round), "ours"), Shape::kProject);
        return Verdict::kWrite;
      }));
      ::_exit(0);
    }
    ::usleep(static_cast<useconds_t>(round * 17 % 1500));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) ++killed;
    const std::vector<std::string> now = keys();  // repairs
    // The foreign write was done or it was not; once done it stays.
    static std::vector<std::string> seen;
    if (round == 0) seen.clear();
    EXPECT_THAT(now, IsSupersetOf(seen)) << round;
    seen.clear();
    for (const std::string& name : now) {
      if (name.starts_with("foreign")) seen.push_back(name);
    }
    for (const std::string& name : left()) {
      EXPECT_EQ(name.find("note"), std::string::npos) << name;
    }
  }
  EXPECT_GT(killed, 10);
}

// One foreign process and three of our threads write in a tight loop.
TEST_P(SharedFileTest, InATightLoopNoForeignEntryIsLost) {
  if (!GetParam()) GTEST_SKIP() << "without leases a reader may see what is about to be merged";
  constexpr int kForeign = 300;
  ASSERT_TRUE(shared().update(put("start")));
  std::atomic<bool> stop = false;
  std::vector<std::thread> ours;
  std::atomic<int> changes = 0;
  for (int i = 0; i < 2; ++i) {
    ours.emplace_back([&, i] {
      for (int n = 0; !stop; ++n) {
        const std::string key = "ours" + std::to_string(i);
        const auto began = std::chrono::steady_clock::now();
        const auto done = shared().update([&](LockFile& file) {
          if (!file.erase(key)) file.put(entry(key, "ours"), Shape::kProject);
          return Verdict::kWrite;
        });
        // On a slow machine the other one writes for longer than we wait. Nothing was done then.
        if (!done && done.error().code == Code::kStoreBusy) continue;
        ASSERT_TRUE(done) << done.error().message;
        ++changes;
        // As long as it took, so that the other one finds a gap however slow this machine is.
        std::this_thread::sleep_for((std::chrono::steady_clock::now() - began) * (n % 3));
      }
    });
  }
  for (int i = 0; i < kForeign; ++i) foreign_put("f" + std::to_string(i));
  stop = true;
  for (std::thread& thread : ours) thread.join();
  const std::vector<std::string> now = keys();
  for (int i = 0; i < kForeign; ++i) {
    EXPECT_THAT(now, testing::Contains("f" + std::to_string(i)));
  }
  EXPECT_GT(changes.load(), 20);
}

}  // namespace
}  // namespace lockkeeper::dialect::coordmcp
