#include "kv/etcd/seen.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/test_folder.h"

namespace lockkeeper::kv::etcd {
namespace {

constexpr std::uint64_t kCluster = 5;

Header at(Version revision, std::uint64_t cluster = kCluster) {
  return {cluster, 1, revision};
}

class EtcdSeen : public testing::Test {
 protected:
  std::unique_ptr<Seen> open() {
    auto seen = Seen::open(path_);
    EXPECT_TRUE(seen.has_value()) << seen.error().message;
    return std::move(*seen);
  }
  TestFolder folder_;
  const std::string path_ = folder_.file("seen");
  const EpochRow one_{1, 1, 0};
  const EpochRow two_{1, 2, 1000};
};

template <class T>
void expect_corrupt(const Result<T>& result) {
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Code::kStoreCorrupt);
  EXPECT_NE(result.error().hint.find("doctor --repair"), std::string::npos);
}

TEST_F(EtcdSeen, WhatWasSeenIsRememberedAndPrivate) {
  {
    const auto seen = open();
    EXPECT_TRUE(seen->saw_epoch(at(10), one_, 0));
    EXPECT_TRUE(seen->saw(at(12), 10));
    EXPECT_TRUE(seen->saw(at(11), 10));  // an answer that was overtaken
    EXPECT_EQ(seen->floor(), 12U);
  }
  struct stat info{};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  const auto state = open()->state();
  EXPECT_EQ(state.revision, 12U);
  EXPECT_EQ(state.cluster, kCluster);
  EXPECT_EQ(state.epoch.id, 1U);
}

TEST_F(EtcdSeen, I3AnOlderStateIsRefused) {
  const auto seen = open();
  ASSERT_TRUE(seen->saw_epoch(at(10), one_, 0));
  expect_corrupt(seen->saw(at(9), 10));
  expect_corrupt(seen->saw(at(20, kCluster + 1), 10));
  const auto again = open();
  expect_corrupt(again->saw_epoch(at(9), one_, again->floor()));
  expect_corrupt(again->saw_epoch(at(20, kCluster + 1), one_, again->floor()));
  expect_corrupt(again->saw_epoch(at(20), std::nullopt, again->floor()));
  EXPECT_TRUE(again->saw_epoch(at(10), one_, again->floor()));
}

TEST_F(EtcdSeen, I3ANewEpochIsBelievedAndAnOlderOneNot) {
  const auto seen = open();
  ASSERT_TRUE(seen->saw_epoch(at(1000), one_, 0));
  EXPECT_TRUE(seen->saw_epoch(at(5, kCluster + 1), two_, 1000));
  EXPECT_EQ(seen->floor(), 5U);
  EXPECT_TRUE(seen->saw(at(6, kCluster + 1), 5));
  expect_corrupt(seen->saw_epoch(at(2000, kCluster + 1), one_, 5));
}

TEST_F(EtcdSeen, ADamagedFileIsNotBelieved) {
  {
    const auto seen = open();
    ASSERT_TRUE(seen->saw_epoch(at(10), one_, 0));
  }
  auto text = read_file(path_).value();
  text[text.find("10")] = '9';
  ASSERT_TRUE(replace_file_durably(path_, text));
  expect_corrupt(Seen::open(path_));
  const auto forgotten = Seen::open(path_, true);
  ASSERT_TRUE(forgotten.has_value());
  EXPECT_EQ((*forgotten)->floor(), 0U);
}

TEST_F(EtcdSeen, WithoutAFileNothingOutlivesTheProcess) {
  const auto seen = Seen::open("");
  ASSERT_TRUE(seen.has_value());
  EXPECT_TRUE((*seen)->saw_epoch(at(10), one_, 0));
  expect_corrupt((*seen)->saw(at(9), 10));
}

}  // namespace
}  // namespace lockkeeper::kv::etcd
