#include "core/rows.h"

#include <gtest/gtest.h>

#include "core/testing.h"

namespace lockkeeper::core {
namespace {

bool in(const kv::Range& range, const std::string& key) {
  return range.from <= key && key < range.to;
}

std::string claim_row(std::string_view text, std::uint64_t ticket = 1) {
  return claim_key(Holding::kLease, Mode::kExclusive, key::Place(resource(text)),
                   make_id({"ann", ""}, ticket), 0);
}

TEST(Rows, AClaimOnALongPathFitsAKey) {
  std::string path;
  for (int i = 0; i < 10; ++i) path += std::string(60, static_cast<char>('a' + i)) + "/";
  EXPECT_LE(claim_row(path + "file").size(), kv::kKeyBytesMax);
}

TEST(Rows, TheRangeOfAPlaceHoldsItAndTheOneBelowHoldsItsSubtree) {
  const auto exact = exactly_at(Holding::kLease, Mode::kExclusive, "/\1src");
  kv::Range below;
  set_claim_range(below, Holding::kLease, Mode::kExclusive, "/\1src", true);
  for (const char* text : {"src", "src/", "src/*.h", "src/**"}) {
    EXPECT_TRUE(in(exact, claim_row(text))) << text;
    EXPECT_TRUE(in(below, claim_row(text))) << text;
  }
  for (const char* text : {"src/a", "src/a/b/c", "src/ /x", "src/\xc3\xa4/"}) {
    EXPECT_FALSE(in(exact, claim_row(text))) << text;
    EXPECT_TRUE(in(below, claim_row(text))) << text;
  }
  for (const char* text : {"srca", "sr", "src.h", "./", "**/src", "a/src", "db:schema:src"}) {
    EXPECT_FALSE(in(below, claim_row(text))) << text;
  }
}

TEST(Rows, ModesAndHoldingsLieApart) {
  const key::Place place(resource("a"));
  const LeaseId id = make_id({"ann", ""}, 1);
  kv::Range range;
  set_claim_range(range, Holding::kLease, Mode::kExclusive, "/", true);
  EXPECT_TRUE(in(range, claim_key(Holding::kLease, Mode::kExclusive, place, id, 0)));
  EXPECT_FALSE(in(range, claim_key(Holding::kLease, Mode::kShared, place, id, 0)));
  EXPECT_FALSE(in(range, claim_key(Holding::kWaiter, Mode::kExclusive, place, id, 0)));
  for (const Mode mode : {Mode::kShared, Mode::kExclusive}) {
    const std::string key = claim_key(Holding::kWaiter, mode, place, id, 0);
    EXPECT_TRUE(in(all_waiter_claims(), key));
    EXPECT_EQ(mode_in_claim_key(key), mode);
    EXPECT_FALSE(in(all_waiter_claims(), claim_key(Holding::kLease, mode, place, id, 0)));
    EXPECT_EQ(mode_in_claim_key(claim_key(Holding::kLease, mode, place, id, 0)), mode);
  }
}

TEST(Rows, AClaimsKeyKnowsItsLease) {
  const LeaseId id = make_id({"ann", "s"}, 0x0102030405060708U);
  for (const std::uint16_t slot : {std::uint16_t{0}, std::uint16_t{0xffff}}) {
    const std::string key =
        claim_key(Holding::kLease, Mode::kShared, key::Place(resource("a/b")), id, slot);
    EXPECT_EQ(id_in_claim_key(key), id);
  }
}

TEST(Rows, AnOwnersLeasesLieTogetherNewestLast) {
  const Owner ann{"ann", "s"};
  const LeaseId first = make_id(ann, 1);
  const LeaseId second = make_id(ann, 0x100);
  EXPECT_LT(first, second);
  EXPECT_TRUE(first.bytes.starts_with(owner_tag(ann)));
  EXPECT_TRUE(lease_key(first).starts_with(counter_key(ann)));
  EXPECT_NE(owner_tag(ann), owner_tag({"ann", ""}));
  EXPECT_EQ(counter_key(ann), counter_key({"ann", "other"}));  // the quota is the agent's
}

TEST(Rows, AnIdHasATextAndOnlyAnIdHas) {
  const LeaseId id = make_id({"ann", ""}, 7);
  EXPECT_EQ(id.text().size(), 32U);
  EXPECT_EQ(LeaseId::from_text(id.text()), id);
  for (const char* text :
       {"", "xyz", "00", "0123456789abcdef0123456789abcde", "0123456789abcdef0123456789abcdeg",
        "0123456789abcdef0123456789abcdef00"}) {
    EXPECT_FALSE(LeaseId::from_text(text)) << text;
  }
}

TEST(Rows, AnIdIsItsBytesAndNoMoreThanSixteen) {
  const LeaseId id = make_id({"ann", ""}, 7);
  EXPECT_EQ(id.bytes.size(), IdBytes::kMax);
  EXPECT_FALSE(id.empty());
  EXPECT_TRUE(LeaseId().empty());
  const std::string longer = std::string(id.bytes) + "x";
  EXPECT_EQ(LeaseId{longer}, id);
  EXPECT_LT(LeaseId{std::string("ab")}, LeaseId{std::string("ab\0", 3)});  // as strings compare
  EXPECT_LT(LeaseId{std::string("a\x7f")}, LeaseId{std::string("a\x80")});
  EXPECT_NE(LeaseId{std::string(15, '\0')}, LeaseId{std::string(16, '\0')});
}

TEST(Rows, DueRowsAreOrderedByEpochThenTime) {
  const std::string early = due_key(1, 5, Due::kLease, "z");
  const std::string late = due_key(1, 1'000, Due::kHandoff, "a");
  const std::string endless = due_key(1, kNoEnd, Due::kLease, "a");
  const std::string next_epoch = due_key(2, 0, Due::kLease, "a");
  EXPECT_GT(early, late);  // the earliest last
  EXPECT_GT(late, endless);
  EXPECT_GT(endless, next_epoch);
  const auto read = read_due_key(late);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->epoch, 1U);
  EXPECT_EQ(read->mono_ms, 1'000);
  EXPECT_EQ(read->what, Due::kHandoff);
  EXPECT_EQ(read->subject, "a");
  EXPECT_FALSE(read_due_key("f"));
  EXPECT_FALSE(read_due_key("x" + late.substr(1)));
  std::string odd = late;
  odd[17] = '?';
  EXPECT_FALSE(read_due_key(odd));
}

class LongPaths : public OnBothFlavours {};
LOCKKEEPER_ON_BOTH_FLAVOURS(LongPaths);

TEST_P(LongPaths, I1ConflictExactlyAsShortOnesDo) {
  std::string deep;
  for (int i = 0; i < 10; ++i) deep += std::string(60, static_cast<char>('a' + i)) + "/";
  const Owner ann{"ann", ""};
  const Owner bob{"bob", ""};
  realm_.granted(ann, {x(deep + "file")});
  for (const std::string& text :
       {deep + "file", deep, deep + "*", deep + "file/below", std::string(60, 'a') + "/",
        std::string("./"), std::string("**/file")}) {
    EXPECT_EQ(realm_.outcome(realm_.ask(bob, {x(text)})), Outcome::kHeld) << text;
  }
  for (const std::string& text : {deep + "other", deep + "file2/", deep + "*.h"}) {
    EXPECT_EQ(realm_.outcome(realm_.ask(bob, {x(text)})), Outcome::kGranted) << text;
  }
  EXPECT_EQ(realm_.release(ann, {deep + "file"})->released.size(), 1U);
  EXPECT_EQ(realm_.outcome(realm_.ask(bob, {x(deep + "file")})), Outcome::kGranted);
}

}  // namespace
}  // namespace lockkeeper::core
