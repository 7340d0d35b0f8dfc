// Messages to a holder: told once, kept until read, bounded, and nobody else's.
#include "core/message.h"

#include <gmock/gmock.h>

#include "core/foreign.h"
#include "core/testing.h"

namespace lockkeeper::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const Owner kAnnOne{"ann", "one"};
const Owner kAnnTwo{"ann", "two"};
const Owner kAll{};

class Messages : public OnBothFlavours {
 protected:
  std::uint64_t post(const Owner& from, const Owner& to, std::string text) {
    Message message;
    message.from = from;
    message.to = to;
    message.type = "request";
    message.text = std::move(text);
    auto id = realm_.run([&](Table& table) { return post_message(table.state(), message); });
    EXPECT_TRUE(id) << (id ? "" : id.error().message);
    return id.value_or(0);
  }
  static std::vector<std::string> texts(const std::vector<Message>& messages) {
    std::vector<std::string> texts;
    for (const Message& message : messages) texts.push_back(message.text);
    return texts;
  }
  std::vector<std::string> box(const Owner& owner, bool unread_only = false) {
    auto found =
        realm_.run([&](Table& table) { return messages_for(table.state(), owner, unread_only); });
    EXPECT_TRUE(found);
    return texts(*found);
  }
  std::vector<std::string> told(const Owner& owner) {
    const auto untold = realm_.run([&](Table& table) { return has_untold(table.state(), owner); });
    auto told = realm_.run([&](Table& table) { return take_untold(table.state(), owner); });
    EXPECT_TRUE(untold && told);
    EXPECT_EQ(*untold, !told->messages.empty());
    return texts(told->messages);
  }
  bool read(const Owner& owner, std::uint64_t id) {
    const auto done = realm_.run([&](Table& table) { return mark_read(table.state(), owner, id); });
    EXPECT_TRUE(done);
    return *done;
  }
};
LOCKKEEPER_ON_BOTH_FLAVOURS(Messages);

TEST_P(Messages, AreToldOnceAndUnreadUntilRead) {
  const std::uint64_t id = post(kBob, kAnn, "may I have a.c?");
  EXPECT_THAT(told(kAnn), ElementsAre("may I have a.c?"));
  EXPECT_THAT(told(kAnn), IsEmpty());
  EXPECT_THAT(box(kAnn, true), ElementsAre("may I have a.c?"));
  EXPECT_TRUE(read(kAnn, id));
  EXPECT_TRUE(read(kAnn, id));  // again: nothing more
  EXPECT_THAT(box(kAnn, true), IsEmpty());
  EXPECT_THAT(box(kAnn), ElementsAre("may I have a.c?"));
}

TEST_P(Messages, WhatWasReadIsNotTold) {
  EXPECT_TRUE(read(kAnn, post(kBob, kAnn, "old")));
  EXPECT_THAT(told(kAnn), IsEmpty());
}

TEST_P(Messages, EachSessionIsToldAndOneReadsForAll) {
  const std::uint64_t id = post(kBob, kAnn, "to all of ann");
  EXPECT_THAT(told(kAnnOne), ElementsAre("to all of ann"));
  EXPECT_THAT(told(kAnnTwo), ElementsAre("to all of ann"));
  EXPECT_TRUE(read(kAnnTwo, id));
  EXPECT_THAT(box(kAnnOne, true), IsEmpty());
  EXPECT_THAT(told({"ann", "three"}), IsEmpty());
}

TEST_P(Messages, M13_ToOnesOwnNameAreForItsOtherSessions) {
  post(kAnnOne, kAnn, "who is there?");
  EXPECT_THAT(told(kAnnOne), IsEmpty()) << "it does not come back";
  EXPECT_THAT(box(kAnnOne, true), IsEmpty());
  EXPECT_THAT(told(kAnnTwo), ElementsAre("who is there?"));
  EXPECT_THAT(box(kAnnTwo, true), ElementsAre("who is there?"));
}

TEST_P(Messages, NeverReachAnotherAgentOrSession) {
  const std::uint64_t id = post(kBob, kAnnOne, "to one");
  for (const Owner& other : {kBob, kCat, kAnn, kAnnTwo}) {
    EXPECT_THAT(told(other), IsEmpty()) << other.agent;
    EXPECT_THAT(box(other), IsEmpty()) << other.agent;
    EXPECT_FALSE(read(other, id)) << other.agent;
  }
  EXPECT_THAT(box(kAnnOne, true), ElementsAre("to one"));
}

TEST_P(Messages, ToEverybodyAreReadByEachForItself) {
  const std::uint64_t id = post(kBob, kAll, "rebase, please");
  EXPECT_THAT(told(kBob), IsEmpty());  // its sender
  EXPECT_THAT(box(kBob, true), IsEmpty());
  EXPECT_THAT(told(kAnn), ElementsAre("rebase, please"));
  EXPECT_TRUE(read(kAnn, id));
  EXPECT_THAT(box(kAnn, true), IsEmpty());
  EXPECT_THAT(box(kCat, true), ElementsAre("rebase, please"));
  EXPECT_THAT(told(kCat), ElementsAre("rebase, please"));
  EXPECT_THAT(told(kCat), IsEmpty());
}

TEST_P(Messages, ToEverybodyAreToldForADayAndListedAfterwards) {
  post(kBob, kAll, "long ago");
  const std::size_t rows = realm_.rows().size();
  realm_.pass(kToldToAllMs + 1);
  EXPECT_THAT(told(kAnn), IsEmpty());
  EXPECT_EQ(realm_.rows().size(), rows - 1);  // nobody looks for it any more
  EXPECT_THAT(box(kAnn, true), ElementsAre("long ago"));
}

TEST_P(Messages, L8TheNewestHundredAreKept) {
  realm_.auditing = false;
  for (int i = 0; i < 105; ++i) post(kBob, kAnn, std::to_string(i));
  const std::vector<std::string> kept = box(kAnn);
  ASSERT_THAT(kept, SizeIs(kMessagesKept));
  EXPECT_EQ(kept.front(), "5");
  EXPECT_EQ(kept.back(), "104");
  EXPECT_THAT(realm_.rows(), SizeIs(2 * kMessagesKept));
  // Ten at a time, oldest first, until all are told.
  for (std::size_t i = 0; i < kMessagesKept / kToldAtOnce; ++i) {
    const std::vector<std::string> now = told(kAnn);
    ASSERT_THAT(now, SizeIs(kToldAtOnce));
    EXPECT_EQ(now.front(), std::to_string(5 + i * kToldAtOnce));
  }
  EXPECT_THAT(told(kAnn), IsEmpty());
}

TEST_P(Messages, KeepTheirOrderWhereTheClockGoesBack) {
  post(kBob, kAnn, "first");
  realm_.set_wall(1);
  const auto both = realm_.run([&](Table& table) -> Result<bool> {
    Message message;
    message.to = kAnn;
    for (const char* const text : {"second", "third"}) {
      message.text = text;
      LK_CHECK(post_message(table.state(), message));
    }
    return true;
  });
  ASSERT_TRUE(both);
  EXPECT_THAT(box(kAnn), ElementsAre("first", "second", "third"));
}

TEST_P(Messages, L8TooLongTextsAndNamesAreNamed) {
  Message message;
  message.to = kAnn;
  message.text = std::string(4'097, 'x');
  auto posted = realm_.run([&](Table& table) { return post_message(table.state(), message); });
  ASSERT_FALSE(posted);
  EXPECT_EQ(posted.error().code, Code::kLimitExceeded);
  EXPECT_THAT(posted.error().message, HasSubstr("4097 bytes; the limit is 4096"));
  message.text = "short";
  message.project = std::string(257, 'p');
  posted = realm_.run([&](Table& table) { return post_message(table.state(), message); });
  ASSERT_FALSE(posted);
  EXPECT_EQ(posted.error().code, Code::kLimitExceeded);
  EXPECT_THAT(realm_.rows(), IsEmpty());
}

TEST_P(Messages, WhatAnAgentSentIsFoundInEveryBox) {
  const std::uint64_t id = post(kAnn, kBob, "to bob");
  post(kAnnOne, kAll, "to all");
  post(kBob, kCat, "not hers");
  EXPECT_TRUE(read(kBob, id));
  const auto sent = realm_.run([&](Table& table) { return messages_from(table.state(), kAnn); });
  ASSERT_TRUE(sent);
  EXPECT_THAT(texts(*sent), ElementsAre("to bob", "to all"));
  EXPECT_TRUE(sent->front().read);
}

TEST_P(Messages, IdsAreTextsAndBack) {
  Message message;
  message.id = 0x0123456789abcdefU;
  EXPECT_EQ(message.id_text(), "0123456789abcdef");
  EXPECT_EQ(Message::id_from_text("0123456789abcdef"), message.id);
  for (const char* const bad : {"", "12", "0123456789abcdeg", "0123456789abcdef0"}) {
    EXPECT_EQ(Message::id_from_text(bad), std::nullopt) << bad;
  }
}

TEST_P(Messages, I10ADamagedOneIsAnError) {
  post(kBob, kAnn, "whole");
  for (const auto& [key, value] : realm_.rows()) {
    realm_.auditing = false;
    const auto broken = realm_.run([&](Table& table) -> Result<bool> {
      LK_CHECK(table.state().txn().put(key, value + "x"));
      return true;
    });
    ASSERT_TRUE(broken);
    const auto looked = realm_.run([&](Table& table) -> Result<bool> {
      LK_CHECK(messages_for(table.state(), kAnn, false));
      return has_untold(table.state(), kAnn);
    });
    ASSERT_FALSE(looked);
    EXPECT_EQ(looked.error().code, Code::kStoreCorrupt);
  }
}

// Another tool's names may be of any length: its lock must be seen all the same.
TEST_P(Messages, AForeignConflictWithALongNameIsTold) {
  realm_.granted(kAnn, {x("a.c")});
  ForeignLock lock;
  lock.layout = "mkdir-12345678";
  lock.artefact = "files/a.c";
  lock.path = "/" + std::string(5'000, 'p');
  lock.claims = {x("a.c")};
  lock.owner = {"somebody", "s"};
  const auto placed = realm_.run([&](Table& table) { return place_foreign(table, lock); });
  ASSERT_TRUE(placed) << placed.error().message;
  EXPECT_THAT(*placed, SizeIs(1));
  EXPECT_THAT(told(kAnn), ElementsAre(HasSubstr("foreign_conflict: somebody took a.c")));
}

// Its key is cut: it must be found by its name all the same, or its end is never noticed.
TEST_P(Messages, AForeignLockWithALongNameIsFoundByItsSource) {
  ForeignLock lock;
  lock.layout = "coordmcp-12345678";
  lock.artefact = "locks.json#" + std::string(600, 'n');
  lock.path = "/locks.json";
  lock.claims = {x("a.c")};
  lock.owner = {"somebody", "s"};
  ASSERT_TRUE(realm_.run([&](Table& table) { return place_foreign(table, lock); }));
  const auto found = realm_.run(
      [&](Table& table) { return all_known_foreign(table.state(), lock.layout, "locks.json"); });
  ASSERT_TRUE(found);
  EXPECT_THAT(*found, SizeIs(1));
}

}  // namespace
}  // namespace lockkeeper::core
