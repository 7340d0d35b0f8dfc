#include "kv/etcd/copy.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/random.h"
#include "kv/etcd/guards.h"

namespace lockkeeper::kv::etcd {
namespace {

using std::chrono::steady_clock;

Copy::Change put(const std::string& key, const std::string& value, Version created) {
  return {key, value, created};
}

Copy::Change erased(const std::string& key) {
  return {key, std::nullopt, 0};
}

bool apply(Copy& copy, Version version, std::vector<Copy::Change> changes) {
  return copy.apply(version, changes);
}

// "key=value@created/modified …"
std::string show(const Page& page) {
  std::string text;
  for (const Row& row : page.rows) {
    text += (text.empty() ? "" : " ") + std::string(row.key) + "=" + std::string(row.value) + "@" +
            std::to_string(row.created) + "/" + std::to_string(row.modified);
  }
  return text;
}

std::string rows(const Copy::View& view, const Range& range = {"a", "z"}, bool forward = true,
                 std::size_t most = SIZE_MAX) {
  return show(view.rows(range, forward, most));
}

std::string created(const Copy::View& view, bool forward = true, Reader::Created when = {}) {
  return show(view.created({"e", "f"}, when, forward));
}

class EtcdCopy : public testing::Test {
 protected:
  EtcdCopy() : copy_(std::make_shared<Copy>(3, 10)) {
    copy_->load({"a", "1", 5, 5});
    copy_->load({"c", "2", 4, 8});
    copy_->set_in_step(true);
  }
  const std::shared_ptr<Copy> copy_;
};

TEST_F(EtcdCopy, AViewStaysAsItIs) {
  const auto before = copy_->view(0);
  EXPECT_EQ(before->version(), 10U);
  ASSERT_TRUE(apply(*copy_, 11, {put("a", "3", 5), put("b", "new", 11)}));
  const auto between = copy_->view(11);
  ASSERT_TRUE(apply(*copy_, 13, {erased("a"), erased("c")}));
  const auto after = copy_->view(13);
  EXPECT_EQ(rows(*before), "a=1@5/5 c=2@4/8");
  EXPECT_EQ(rows(*between), "a=3@5/11 b=new@11/11 c=2@4/8");
  EXPECT_EQ(rows(*after), "b=new@11/11");
  EXPECT_EQ(before->get("a")->value, "1");
  EXPECT_EQ(before->get("b"), std::nullopt);
  EXPECT_EQ(after->get("a"), std::nullopt);
  EXPECT_FALSE(after->same_as(11));
  copy_->advance(20);
  EXPECT_EQ(copy_->view(0)->version(), 20U);
  EXPECT_TRUE(copy_->view(0)->same_as(13));
}

TEST_F(EtcdCopy, ARangeIsReadInPagesBothWays) {
  for (char c = 'd'; c < 'j'; ++c) {
    const Version version = 20 + static_cast<Version>(c);
    ASSERT_TRUE(apply(*copy_, version, {put(std::string(1, c), "", version)}));
  }
  const auto view = copy_->view(0);
  const Page first = view->rows({"a", "z"}, true, 3);
  EXPECT_EQ(first.rows.size(), 3U);
  EXPECT_TRUE(first.more);
  EXPECT_FALSE(view->rows({"a", "z"}, true, 8).more);
  EXPECT_EQ(rows(*view, {"c", "e"}), "c=2@4/8 d=@120/120");
  EXPECT_EQ(rows(*view, {"a", "e"}, false, 2), "d=@120/120 c=2@4/8");
  EXPECT_TRUE(view->rows({"a", "e"}, false, 2).more);
  EXPECT_FALSE(view->rows({"a", "e"}, false, 3).more);
  EXPECT_EQ(rows(*view, {"k", "z"}), "");
  EXPECT_EQ(rows(*view, {"z", "a"}, false), "");
}

TEST_F(EtcdCopy, RowsAreReadInTheOrderOfTheirCreation) {
  ASSERT_TRUE(apply(*copy_, 11, {put("e2", "", 11), put("e9", "", 11)}));
  ASSERT_TRUE(apply(*copy_, 12, {put("e1", "", 12), put("x", "", 12)}));
  const auto before = copy_->view(0);
  ASSERT_TRUE(apply(*copy_, 13, {erased("e2"), put("e1", "again", 12)}));
  ASSERT_TRUE(apply(*copy_, 14, {put("e2", "anew", 14)}));
  const auto after = copy_->view(0);
  EXPECT_EQ(created(*before), "e2=@11/11 e9=@11/11 e1=@12/12");
  EXPECT_EQ(created(*before, false), "e1=@12/12 e9=@11/11 e2=@11/11");
  EXPECT_EQ(created(*after), "e9=@11/11 e1=again@12/13 e2=anew@14/14");
  EXPECT_EQ(created(*after, true, {12, 0}), "e1=again@12/13 e2=anew@14/14");
  EXPECT_EQ(created(*after, false, {0, 12}), "e1=again@12/13 e9=@11/11");
  EXPECT_EQ(created(*after, true, {15, 0}), "");
  EXPECT_EQ(show(after->created({"e1", "e3"}, {}, true)), "e1=again@12/13 e2=anew@14/14");
}

TEST_F(EtcdCopy, APageInOrderOfCreationEndsWithAWholeCommit) {
  std::vector<Copy::Change> many;
  for (int i = 0; i < 300; ++i) many.push_back(put("e" + std::to_string(1000 + i), "", 11));
  ASSERT_TRUE(copy_->apply(11, many));
  ASSERT_TRUE(apply(*copy_, 12, {put("e0", "", 12)}));
  const auto view = copy_->view(0);
  const Page first = view->created({"e", "f"}, {}, true);
  EXPECT_EQ(first.rows.size(), 300U);
  EXPECT_TRUE(first.more);
  const Page rest = view->created({"e", "f"}, {12, 0}, true);
  EXPECT_EQ(show(rest), "e0=@12/12");
  EXPECT_FALSE(rest.more);
}

TEST_F(EtcdCopy, ItKeepsWhatAViewNeedsAndNothingElse) {
  const std::size_t before = copy_->bytes();
  auto view = copy_->view(0);
  Version version = 11;
  for (; version < 2'000; ++version) {
    ASSERT_TRUE(apply(*copy_, version, {put("a", std::string(100, 'v'), 5)}));
  }
  ASSERT_TRUE(apply(*copy_, version, {erased("a"), put("b", "1", version)}));
  EXPECT_GT(copy_->bytes(), before + 100'000);
  EXPECT_EQ(view->get("a")->value, "1");
  view.reset();
  // It forgets a part at a time.
  while (copy_->bytes() > before) {
    const std::size_t kept = copy_->bytes();
    copy_->view(0).reset();
    ASSERT_LT(copy_->bytes(), kept);
  }
  EXPECT_EQ(copy_->bytes(), before);
  EXPECT_EQ(rows(*copy_->view(0)), "b=1@2000/2000 c=2@4/8");
}

TEST_F(EtcdCopy, WhatDoesNotFollowIsNoticed) {
  const auto fresh = [] {
    auto copy = std::make_shared<Copy>(3, 10);
    copy->load({"a", "1", 5, 5});
    return copy;
  };
  EXPECT_FALSE(apply(*fresh(), 11, {put("a", "2", 11)}));  // nobody has erased it
  EXPECT_FALSE(apply(*fresh(), 11, {put("a", "2", 9)}));   // erased and put again
  EXPECT_FALSE(apply(*fresh(), 11, {put("b", "2", 9)}));   // put before
  EXPECT_FALSE(apply(*fresh(), 11, {erased("b")}));
  EXPECT_TRUE(apply(*fresh(), 11, {put("a", "2", 5), put("b", "", 11)}));
  EXPECT_TRUE(apply(*fresh(), 11, {erased("a")}));
}

// Of what it writes itself, a process knows neither which rows are new nor which were there.
std::vector<Copy::Change> own(std::vector<Copy::Change> changes) {
  for (Copy::Change& change : changes) change.created = 0;
  return changes;
}

TEST_F(EtcdCopy, WhatThisProcessHasCommittedIsThereAtOnce) {
  const std::vector<Copy::Change> told = {put("a", "3", 5), put("b", "new", 11), erased("c")};
  auto known = own(told);
  known.push_back(erased("d"));  // was not there: the watch tells nothing of it
  copy_->commit(11, known);
  EXPECT_EQ(rows(*copy_->view(11)), "a=3@5/11 b=new@11/11");
  const std::size_t bytes = copy_->bytes();
  EXPECT_TRUE(apply(*copy_, 11, told));  // what the watch tells of it later
  copy_->commit(11, known);
  EXPECT_EQ(rows(*copy_->view(11)), "a=3@5/11 b=new@11/11");
  EXPECT_EQ(copy_->bytes(), bytes);
  EXPECT_TRUE(apply(*copy_, 12, {erased("b")}));
  EXPECT_EQ(rows(*copy_->view(12)), "a=3@5/11");
}

TEST_F(EtcdCopy, WhatThisProcessHasCommittedWaitsForWhatIsBeforeIt) {
  copy_->commit(13, own({put("c", "13", 0)}));
  copy_->commit(12, own({put("a", "12", 0)}));
  EXPECT_EQ(copy_->view(11), nullptr);
  EXPECT_TRUE(apply(*copy_, 11, {erased("a")}));
  EXPECT_EQ(rows(*copy_->view(13)), "a=12@12/12 c=13@4/13");
  copy_->commit(16, own({put("a", "16", 0)}));
  copy_->advance(14);
  EXPECT_EQ(copy_->view(15), nullptr);
  copy_->advance(15);
  EXPECT_EQ(rows(*copy_->view(16)), "a=16@12/16 c=13@4/13");
}

TEST_F(EtcdCopy, TheWatchMayTellSoonerWhatThisProcessHasCommitted) {
  copy_->commit(12, own({put("a", "12", 0)}));
  EXPECT_TRUE(apply(*copy_, 12, {put("a", "12", 5), put("b", "", 12)}));  // 11: of other keys
  EXPECT_EQ(copy_->version(), 12U);
  EXPECT_TRUE(apply(*copy_, 13, {erased("a")}));
  EXPECT_EQ(rows(*copy_->view(13)), "b=@12/12 c=2@4/8");
}

// If the watch tells nothing for long, no more is kept than is worth it.
TEST_F(EtcdCopy, L8_NotAllThatWaitsIsKept) {
  for (Version version = 20; version < 2'020; ++version) copy_->commit(version, {});
  copy_->advance(19);
  EXPECT_EQ(copy_->version(), 19U) << "the first one was dropped";
  copy_->advance(1'900);
  EXPECT_EQ(copy_->version(), 2'019U);
}

TEST_F(EtcdCopy, ThereIsAViewOnlyInStepAndOfWhatIsThere) {
  EXPECT_EQ(copy_->view(11), nullptr);
  copy_->set_in_step(false);
  EXPECT_EQ(copy_->view(0), nullptr);
  EXPECT_FALSE(copy_->reach(10, steady_clock::now()));
  copy_->set_in_step(true);
  EXPECT_TRUE(copy_->reach(10, steady_clock::now()));
  EXPECT_FALSE(copy_->reach(11, steady_clock::now()));
  copy_->note_late(11);
  EXPECT_TRUE(copy_->is_late());
  const auto far = steady_clock::now() + std::chrono::hours(1);
  std::thread waits([&] { EXPECT_TRUE(copy_->reach(12, far)); });
  copy_->advance(12);
  waits.join();
  EXPECT_FALSE(copy_->is_late());
  std::thread gives_up([&] { EXPECT_FALSE(copy_->reach(13, far)); });
  copy_->set_in_step(false);
  gives_up.join();
}

TEST_F(EtcdCopy, GuardsHoldInItAsTheyDoInACommit) {
  Guards sound;
  sound.point("a", 5);
  sound.point("b", 0);
  sound.empty_range("d", "z");
  sound.uncreated_range("a", "d", 10);
  EXPECT_TRUE(sound.hold_in(*copy_->view(0)));
  const auto broken_by = [&](Copy::Change change) {
    const auto copy = std::make_shared<Copy>(3, 10);
    copy->load({"a", "1", 5, 5});
    copy->load({"c", "2", 4, 8});
    copy->set_in_step(true);
    EXPECT_TRUE(apply(*copy, 11, {std::move(change)}));
    return !sound.hold_in(*copy->view(0));
  };
  EXPECT_TRUE(broken_by(put("a", "1", 5)));
  EXPECT_TRUE(broken_by(erased("a")));
  EXPECT_TRUE(broken_by(put("b", "", 11)));
  EXPECT_TRUE(broken_by(put("bb", "", 11)));
  EXPECT_TRUE(broken_by(put("e", "", 11)));
  EXPECT_FALSE(broken_by(put("c", "3", 4)));
  EXPECT_FALSE(broken_by(put("z", "", 11)));
}

// Random changes; every view that is kept shows what a plain map had at its time.
TEST(EtcdCopyRandom, EveryViewIsAsAPlainMapWasThen) {
  SeededRandom random(7);
  const auto copy = std::make_shared<Copy>(1, 1);
  copy->set_in_step(true);
  std::map<std::string, Version> plain;  // key to created
  struct Kept {
    std::unique_ptr<Copy::View> view;
    std::map<std::string, Version> plain;
  };
  std::vector<Kept> kept;
  for (Version version = 2; version < 3'000; ++version) {
    std::map<std::string, Copy::Change> changes;
    for (std::uint64_t i = 0; i <= random_below(random, 3); ++i) {
      const std::string key = "k" + std::to_string(random_below(random, 12));
      if (changes.contains(key)) continue;
      const bool there = plain.contains(key);
      if (there && random_below(random, 2) == 0) {
        changes[key] = erased(key);
        plain.erase(key);
      } else {
        if (!there) plain[key] = version;
        changes[key] = put(key, "v", plain[key]);
      }
    }
    std::vector<Copy::Change> list;
    for (auto& [key, change] : changes) list.push_back(std::move(change));
    if (random_below(random, 2) == 0) copy->commit(version, own(list));
    ASSERT_TRUE(copy->apply(version, list));
    if (random_below(random, 3) == 0) kept.push_back({copy->view(version), plain});
    if (kept.size() < 8) continue;
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(random_below(random, kept.size())));
    for (const Kept& each : kept) {
      std::map<std::string, Version> seen;
      for (const Row& row : each.view->rows({"k", "l"}, true, SIZE_MAX).rows) {
        seen[std::string(row.key)] = row.created;
      }
      ASSERT_EQ(seen, each.plain) << version;
      ASSERT_EQ(each.view->created({"k", "l"}, {}, true).rows.size(), each.plain.size());
    }
  }
}

}  // namespace
}  // namespace lockkeeper::kv::etcd
