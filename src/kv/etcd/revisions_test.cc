#include "kv/etcd/revisions.h"

#include <gtest/gtest.h>

#include <deque>

namespace lockkeeper::kv::etcd {
namespace {

using Next = Revisions::Next;

constexpr std::size_t kMost = 1 << 20;

// A message of a watch, with what its parts point to.
class Message {
 public:
  explicit Message(Version header = 0) { response_.header.revision = header; }
  Message& put(const std::string& key, const std::string& value, Version created,
               Version modified) {
    return add(key, value, created, modified, false);
  }
  Message& erased(const std::string& key, Version modified) {
    return add(key, "", 0, modified, true);
  }
  Message& fragment() {
    response_.fragment = true;
    return *this;
  }
  Message& created() {
    response_.created = true;
    return *this;
  }
  Message& canceled(Version compacted) {
    response_.canceled = true;
    response_.compact_revision = compacted;
    return *this;
  }
  const WatchResponse& get() const { return response_; }

 private:
  Message& add(const std::string& key, const std::string& value, Version created, Version modified,
               bool gone) {
    texts_.push_back(key);
    const std::string_view kept_key = texts_.back();
    texts_.push_back(value);
    response_.events.push_back({gone, {kept_key, texts_.back(), created, modified, 0}});
    return *this;
  }
  std::deque<std::string> texts_;
  WatchResponse response_;
};

class EtcdRevisions : public testing::Test {
 protected:
  EtcdRevisions() {
    copy_->load({"a", "1", 5, 5});
    EXPECT_EQ(hear(Message(10).created()), Next::kGoOn);
  }
  Next hear(const Message& message) { return revisions_.hear(message.get()); }
  // "a=1 b=2", of the newest view.
  std::string rows() {
    std::string text;
    const auto view = copy_->view(0);
    if (view == nullptr) return "no view";
    for (const Row& row : view->rows({"a", "z"}, true, SIZE_MAX).rows) {
      text += (text.empty() ? "" : " ") + std::string(row.key) + "=" + std::string(row.value);
    }
    return text;
  }
  const Keys keys_{"/p/"};
  const std::shared_ptr<Copy> copy_ = std::make_shared<Copy>(3, 10);
  Revisions revisions_{keys_, copy_, kMost};
};

TEST_F(EtcdRevisions, EventsMoveTheCopyOn) {
  EXPECT_EQ(hear(Message(11).put("/p/row/b", "2", 11, 11).erased("/p/row/a", 11)), Next::kGoOn);
  EXPECT_EQ(rows(), "b=2");
  EXPECT_EQ(copy_->version(), 11U);
  EXPECT_EQ(hear(Message(14).put("/p/row/b", "3", 11, 12).put("/p/row/c", "", 14, 14)),
            Next::kGoOn);
  EXPECT_EQ(rows(), "b=3 c=");
  EXPECT_EQ(copy_->version(), 14U);
}

TEST_F(EtcdRevisions, OnlyAMessageWithoutEventsSaysThatNothingIsMissing) {
  // The header is newer than the events: a member that catches up sends some at a time.
  EXPECT_EQ(hear(Message(90).put("/p/row/b", "2", 11, 11)), Next::kGoOn);
  EXPECT_EQ(copy_->version(), 11U);
  EXPECT_EQ(hear(Message(20)), Next::kGoOn);
  EXPECT_EQ(copy_->version(), 20U);
  EXPECT_EQ(hear(Message(15)), Next::kGoOn);
  EXPECT_EQ(copy_->version(), 20U);
}

TEST_F(EtcdRevisions, AMessageThatItsWatchWasCreatedSaysNothingOfWhatIsMissing) {
  const auto copy = std::make_shared<Copy>(3, 10);
  Revisions revisions(keys_, copy, kMost);
  EXPECT_EQ(copy->view(0), nullptr);
  EXPECT_EQ(revisions.hear(Message(50).created().get()), Next::kGoOn);
  ASSERT_NE(copy->view(0), nullptr);
  EXPECT_EQ(copy->version(), 10U);
}

TEST_F(EtcdRevisions, NoHalfOfARevisionIsShown) {
  EXPECT_EQ(hear(Message(11).put("/p/row/b", "2", 11, 11).fragment()), Next::kGoOn);
  EXPECT_EQ(rows(), "a=1");
  EXPECT_EQ(copy_->version(), 10U);
  EXPECT_EQ(hear(Message(11).erased("/p/row/a", 11).fragment()), Next::kGoOn);
  EXPECT_EQ(rows(), "a=1");
  EXPECT_EQ(hear(Message(11).put("/p/row/c", "3", 11, 11).put("/p/row/b", "4", 11, 12)),
            Next::kGoOn);
  EXPECT_EQ(rows(), "b=4 c=3");
  EXPECT_EQ(copy_->version(), 12U);
}

TEST_F(EtcdRevisions, WhatTheCopyHasIsNotAppliedAgain) {
  EXPECT_EQ(hear(Message(11).put("/p/row/b", "2", 11, 11)), Next::kGoOn);
  EXPECT_EQ(hear(Message(12).put("/p/row/b", "2", 11, 11).erased("/p/row/b", 12)), Next::kGoOn);
  EXPECT_EQ(rows(), "a=1");
}

TEST_F(EtcdRevisions, RevisionsOfOtherRowsCountAsWell) {
  EXPECT_EQ(hear(Message(11).put("/p/lane/1/1", "r1", 4, 11)), Next::kGoOn);
  EXPECT_EQ(copy_->version(), 11U);
  EXPECT_EQ(rows(), "a=1");
}

TEST_F(EtcdRevisions, WhatWasMissedIsNoticed) {
  EXPECT_EQ(hear(Message(12).put("/p/row/b", "2", 11, 12)), Next::kReload);
  EXPECT_EQ(hear(Message(12).erased("/p/row/c", 12)), Next::kReload);
}

TEST_F(EtcdRevisions, EventsOutOfOrderAreNotBelieved) {
  EXPECT_EQ(hear(Message(12).put("/p/row/b", "2", 12, 12).put("/p/row/c", "2", 11, 11)),
            Next::kReload);
}

TEST_F(EtcdRevisions, ANewEpochAndACompactionNeedAnotherCopy) {
  EXPECT_EQ(hear(Message(11).put("/p/epoch", "1 2 1000", 3, 11)), Next::kReload);
  EXPECT_EQ(hear(Message().canceled(400)), Next::kReload);
  EXPECT_EQ(hear(Message().canceled(0)), Next::kAgain);
}

TEST_F(EtcdRevisions, AMemberThatIsBehindIsNotFollowed) {
  const auto copy = std::make_shared<Copy>(3, 10);
  Revisions revisions(keys_, copy, kMost);
  EXPECT_EQ(revisions.hear(Message(9).created().get()), Next::kAgain);
  EXPECT_EQ(copy->view(0), nullptr);
  EXPECT_EQ(revisions.hear(Message(12).get()), Next::kAgain);
}

TEST_F(EtcdRevisions, MoreThanTheLimitIsTooLarge) {
  const std::string large(kMost / 2, 'v');
  EXPECT_EQ(hear(Message(11).put("/p/row/b", large, 11, 11)), Next::kGoOn);
  EXPECT_EQ(hear(Message(12).put("/p/row/c", large, 12, 12)), Next::kTooLarge);
  EXPECT_EQ(hear(Message(13).put("/p/row/d", large, 13, 13).fragment()), Next::kGoOn);
  EXPECT_EQ(hear(Message(13).put("/p/row/e", large, 13, 13).fragment()), Next::kTooLarge);
}

}  // namespace
}  // namespace lockkeeper::kv::etcd
