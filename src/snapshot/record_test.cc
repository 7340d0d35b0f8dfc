#include "snapshot/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace lockkeeper::snapshot {
namespace {

using testing::ElementsAre;

Version version_of(const std::string& path) {
  Version version;
  version.at_wall_ms = 1'768'663'800'000;
  version.worktree = "/r";
  version.path = path;
  version.writer = {"claude-code", "s1"};
  version.by = {"codex", "s2/x"};
  version.why = Why::kDestroyed;
  version.mode = 0755;
  version.content = std::string(40, 'a');
  version.size = 12;
  version.mark = {12, 3, 4, 5};
  return version;
}

std::vector<std::string> paths_in(std::string_view bytes, Scanned* scanned = nullptr) {
  std::vector<std::string> paths;
  const Scanned found = each_version(bytes, [&](Version&& version) {
    paths.push_back(version.path);
    return true;
  });
  if (scanned != nullptr) *scanned = found;
  return paths;
}

TEST(Record, EveryFieldComesBack) {
  Version wrote = version_of("src/a.c");
  const std::string bytes = encode_version(wrote);
  EXPECT_EQ(wrote.id.size(), 16U);
  std::vector<Version> read;
  each_version(bytes, [&](Version&& version) {
    read.push_back(std::move(version));
    return true;
  });
  ASSERT_EQ(read.size(), 1U);
  const Version& one = read.front();
  EXPECT_EQ(one.id, wrote.id);
  EXPECT_EQ(one.at_wall_ms, wrote.at_wall_ms);
  EXPECT_EQ(one.worktree, "/r");
  EXPECT_EQ(one.path, "src/a.c");
  EXPECT_EQ(one.writer, wrote.writer);
  EXPECT_EQ(one.by, wrote.by);
  EXPECT_EQ(one.why, Why::kDestroyed);
  EXPECT_EQ(one.kind, Kind::kFile);
  EXPECT_EQ(one.content_is, Content::kKept);
  EXPECT_EQ(one.mode, 0755U);
  EXPECT_EQ(one.content, wrote.content);
  EXPECT_EQ(one.size, 12U);
  EXPECT_EQ(one.mark, wrote.mark);
}

TEST(Record, ATornOneHidesOnlyItself) {
  Version a = version_of("a"), b = version_of("b"), c = version_of("c");
  const std::string first = encode_version(a), torn = encode_version(b), last = encode_version(c);
  for (std::size_t cut = 0; cut < torn.size(); ++cut) {
    Scanned scanned;
    EXPECT_THAT(paths_in(first + torn.substr(0, cut) + last, &scanned), ElementsAre("a", "c"));
    EXPECT_EQ(scanned.torn_bytes, cut);
    EXPECT_THAT(paths_in(first + torn.substr(0, cut)), ElementsAre("a"));
  }
}

TEST(Record, AFlippedBitHidesOnlyItsRecord) {
  Version a = version_of("a"), b = version_of("b");
  const std::string first = encode_version(a), second = encode_version(b);
  for (std::size_t at = 0; at < first.size(); ++at) {
    std::string bytes = first + second;
    bytes[at] = static_cast<char>(bytes[at] ^ 4);
    EXPECT_THAT(paths_in(bytes), ElementsAre("b")) << at;
  }
}

TEST(Record, AReaderThatHasEnoughStops) {
  Version a = version_of("a"), b = version_of("b");
  std::size_t seen = 0;
  each_version(encode_version(a) + encode_version(b), [&](Version&&) {
    ++seen;
    return false;
  });
  EXPECT_EQ(seen, 1U);
}

TEST(Record, ANameThatIsTooLongIsNotWritten) {
  Version version = version_of(std::string(kRecordBytesMax, 'x'));
  EXPECT_EQ(encode_version(version), "");
}

TEST(Record, ASessionAndItsSubagentsAreOneParty) {
  EXPECT_TRUE(same_party({"a", "s"}, {"a", "s/x"}));
  EXPECT_FALSE(same_party({"a", "s"}, {"a", "s2"}));
  EXPECT_FALSE(same_party({"a", "s"}, {"b", "s"}));
}

}  // namespace
}  // namespace lockkeeper::snapshot
