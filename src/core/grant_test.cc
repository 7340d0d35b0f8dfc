// Rules 1 to 4: what is granted, renewed, refused and released.
#include <gmock/gmock.h>

#include "core/testing.h"

namespace lockkeeper::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class Rule01 : public OnBothFlavours {};
class Rule02 : public OnBothFlavours {};
class Rule03 : public OnBothFlavours {};
class Rule04 : public OnBothFlavours {};
LOCKKEEPER_ON_BOTH_FLAVOURS(Rule01);
LOCKKEEPER_ON_BOTH_FLAVOURS(Rule02);
LOCKKEEPER_ON_BOTH_FLAVOURS(Rule03);
LOCKKEEPER_ON_BOTH_FLAVOURS(Rule04);

// --- rule 1: the whole, in one commit, or nothing ------------------------------------------------

TEST_P(Rule01, ASetOfResourcesWithModesIsOneLease) {
  const Lease lease = realm_.granted(kAnn, {x("b.c"), s("src/"), x("api:GET /v1/users")});
  EXPECT_EQ(realm_.leases().size(), 1U);
  EXPECT_EQ(lease.claims.size(), 3U);
  EXPECT_GT(lease.fence(), 0U);
  EXPECT_EQ(realm_.lease(lease.id).fence(), lease.fence());
}

TEST_P(Rule01, I2OneConflictAmongSeveralGrantsNothing) {
  realm_.granted(kAnn, {x("b")});
  const auto before = realm_.rows();
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a"), x("b"), x("c")})), Outcome::kHeld);
  EXPECT_EQ(agents(realm_.leases()), std::vector<std::string>{"ann"});
  // The refusal is remembered in the history and nowhere else.
  for (const auto& [key, value] : realm_.rows()) {
    if (!before.contains(key)) {
      EXPECT_NE(std::string("efg").find(key[0]), std::string::npos);
    }
  }
  EXPECT_EQ(realm_.outcome(realm_.ask(kCat, {x("a")})), Outcome::kGranted);
}

TEST_P(Rule01, SeveralLeasesOfOneOwnerInOneCommit) {
  const auto both = realm_.run([](Table& table) -> Result<std::vector<LeaseId>> {
    LK_ASSIGN(const AcquireReply one, table.acquire(Realm::ask(kAnn, {x("a")})));
    LK_ASSIGN(const AcquireReply two, table.acquire(Realm::ask(kAnn, {x("b")})));
    return std::vector{one.lease.id, two.lease.id};
  });
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_NE(both->front(), both->back());
  EXPECT_EQ(realm_.leases().size(), 2U);
}

TEST_P(Rule01, I2AWaiterHoldsNothingUntilItHoldsAll) {
  realm_.granted(kAnn, {x("a")});
  realm_.granted(kAnn, {x("b")});
  const Lease waiting = realm_.queued(kBob, {x("a"), x("b"), x("c")});
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  EXPECT_FALSE(realm_.holds(waiting.id));
  ASSERT_TRUE(realm_.release(kAnn, {"b"}));
  EXPECT_TRUE(realm_.holds(waiting.id));
  EXPECT_EQ(realm_.lease(waiting.id).claims.size(), 3U);
}

TEST_P(Rule01, DuplicatesInOneRequestAreOneClaimInTheStrongerMode) {
  const Lease lease = realm_.granted(kAnn, {s("a"), x("a"), s("a"), x("b"), x("b")});
  ASSERT_EQ(lease.claims.size(), 2U);
  EXPECT_EQ(lease.claims[0], x("a"));
  EXPECT_EQ(lease.claims[1], x("b"));
}

TEST_P(Rule01, AFileAndAPatternOfTheSameTextAreTwoClaims) {
  const key::Resource file = resource("app/[ab]", key::Syntax::kLiteral);
  const key::Resource glob = resource("app/[ab]", key::Syntax::kGlob);
  ASSERT_EQ(file.text(), glob.text());
  ASSERT_FALSE(file == glob);
  const Lease lease = realm_.granted(kAnn, {{file, Mode::kExclusive},
                                            {glob, Mode::kExclusive},
                                            {file, Mode::kShared},
                                            {glob, Mode::kShared}});
  ASSERT_EQ(lease.claims.size(), 2U);
  EXPECT_EQ(lease.claims[0].mode, Mode::kExclusive);
  EXPECT_EQ(lease.claims[1].mode, Mode::kExclusive);
}

TEST_P(Rule01, NothingAndNobodyAreRefused) {
  EXPECT_EQ(realm_.acquire(realm_.ask(kAnn, {})).error().code, Code::kInvalidInput);
  EXPECT_EQ(realm_.acquire(realm_.ask({"", ""}, {x("a")})).error().code, Code::kInvalidInput);
  EXPECT_TRUE(realm_.rows().empty());
}

// --- rule 2: granted at once ---------------------------------------------------------------------

TEST_P(Rule02, I1TheCompatibilityMatrix) {
  struct Row {
    Claim held;
    Claim asked;
    bool fits;
  };
  const std::vector<Row> matrix = {{s("a"), s("a"), true},
                                   {s("a"), x("a"), false},
                                   {x("a"), s("a"), false},
                                   {x("a"), x("a"), false},
                                   {x("a"), x("b"), true},
                                   {x("a/"), x("a/b"), false},
                                   {x("a/b"), x("a/"), false},
                                   {s("a/"), s("a/b"), true},
                                   {s("a/"), x("a/b"), false},
                                   {x("a/b"), s("a/"), false},
                                   {x("a"), x("a/b"), false},
                                   {x("a/"), x("ab"), true},
                                   {x("./"), x("z/y"), false},
                                   {s("z"), x("./"), false},
                                   {x("**/*.h"), x("q/w.h"), false},
                                   {x("q/w.h"), x("**/*.h"), false},
                                   {x("**/*.h"), x("q/w.c"), true},
                                   {x("src/*/a"), x("src/b/*"), false},
                                   {x("a/*.c"), x("a/*.h"), true},
                                   {x("a/"), x("**/z"), false},
                                   {x("db:schema:t"), x("api:GET /t"), true}};
  for (const Row& row : matrix) {
    Realm realm(GetParam());
    realm.granted(kAnn, {row.held});
    EXPECT_EQ(realm.outcome(realm.ask(kBob, {row.asked})) == Outcome::kGranted, row.fits)
        << row.held.resource.text() << " then " << row.asked.resource.text();
  }
}

TEST_P(Rule02, TwoSessionsOfOneAgentExcludeEachOther) {
  realm_.granted({"ann", "1"}, {x("a")});
  EXPECT_EQ(realm_.outcome(realm_.ask({"ann", "2"}, {x("a")})), Outcome::kHeld);
  EXPECT_EQ(realm_.outcome(realm_.ask({"ann", ""}, {x("a")})), Outcome::kHeld);
}

TEST_P(Rule02, OwnLeasesNeverConflict) {
  realm_.granted(kAnn, {x("src/")});
  realm_.granted(kAnn, {x("src/a"), x("b")});
  realm_.granted(kAnn, {s("src/**/*.h")});
  EXPECT_EQ(realm_.leases().size(), 3U);
}

TEST_P(Rule02, L4NoBargingPastAWaiterThoughTheResourceIsFree) {
  realm_.granted(kAnn, {x("a")});
  const Lease waiting = realm_.queued(kBob, {x("a"), x("b")});
  // b itself is free; bob waits for it all the same.
  const auto reply = realm_.acquire(realm_.ask(kCat, {x("b")}));
  EXPECT_EQ(reply->outcome, Outcome::kHeld);
  EXPECT_THAT(holders(*reply), ElementsAre("waiter bob: b"));
  EXPECT_EQ(reply->conflicts[0].holder.id, waiting.id);
  // A newcomer that is compatible with the waiter is let in.
  EXPECT_EQ(realm_.outcome(realm_.ask(kCat, {x("c")})), Outcome::kGranted);
}

TEST_P(Rule02, L4SharedDoesNotBargePastAnExclusiveWaiter) {
  realm_.granted(kAnn, {s("a")});
  realm_.queued(kBob, {x("a")});
  EXPECT_EQ(realm_.outcome(realm_.ask(kCat, {s("a")})), Outcome::kHeld);
}

TEST_P(Rule02, L4SharedPassesASharedWaiter) {
  realm_.granted(kAnn, {x("a")});
  realm_.queued(kBob, {x("a"), s("b")});
  EXPECT_EQ(realm_.outcome(realm_.ask(kCat, {s("b")})), Outcome::kGranted);
  EXPECT_EQ(realm_.outcome(realm_.ask(kCat, {x("b")})), Outcome::kHeld);
}

TEST_P(Rule02, OwnCoverageSkipsTheWaiters) {
  realm_.granted(kAnn, {x("src/")});
  realm_.queued(kBob, {x("src/a")});
  const Lease inner = realm_.granted(kAnn, {x("src/a")});
  EXPECT_TRUE(realm_.lease(inner.id).overtook);
}

TEST_P(Rule02, CoverageInLesserModeIsNotEnough) {
  realm_.granted(kAnn, {s("src/")});
  realm_.granted(kCat, {s("src/")});
  EXPECT_EQ(realm_.outcome(realm_.ask(kAnn, {x("src/a")})), Outcome::kHeld);
  EXPECT_EQ(realm_.outcome(realm_.ask(kAnn, {s("src/a")})), Outcome::kGranted);
}

TEST_P(Rule02, ARequestPassesWaitersThatConflictWithWhatItsOwnerHolds) {
  realm_.granted(kAnn, {x("a")});
  const Lease waiting = realm_.queued(kBob, {x("a"), x("b")});
  // Bob waits for ann: if ann stood behind bob for b, she would wait for herself.
  const Lease second = realm_.granted(kAnn, {x("b")});
  EXPECT_TRUE(realm_.lease(second.id).overtook);
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  EXPECT_FALSE(realm_.holds(waiting.id));
  ASSERT_TRUE(realm_.release(kAnn, {"b"}));
  EXPECT_TRUE(realm_.holds(waiting.id));
}

TEST_P(Rule02, AnOverLeaseOfItsOwnerPassesNobody) {
  realm_.granted(kAnn, {x("a")});
  realm_.pass(30'000);
  realm_.granted(kCat, {x("c")});
  realm_.queued(kBob, {x("a"), x("b"), x("c")});
  realm_.pass(30'001);  // ann's lease has ended, cat's not
  const auto reply = realm_.acquire(realm_.ask(kAnn, {x("b")}));
  EXPECT_EQ(reply->outcome, Outcome::kHeld);
  EXPECT_THAT(holders(*reply), ElementsAre("waiter bob: b"));
}

// --- rule 3: refused with every conflict, or queued ----------------------------------------------

TEST_P(Rule03, EveryConflictIsListedWithAllThatIsKnownOfIt) {
  AcquireRequest first = realm_.ask(kAnn, {x("src/")});
  first.terms.reason = "JWT";
  first.terms.task = "T1";
  first.attachment = process(7);
  const Lease ann = realm_.granted(first);
  const Lease bob = realm_.granted(kBob, {s("docs/a"), s("docs/b")});
  const Lease cat = realm_.queued(kCat, {x("docs/a")});
  const auto reply = realm_.acquire(realm_.ask(kDan, {x("src/a.c"), x("docs/"), x("free")}));
  ASSERT_EQ(reply->outcome, Outcome::kHeld);
  EXPECT_THAT(holders(*reply), UnorderedElementsAre("lease ann: src/", "lease bob: docs/a",
                                                    "lease bob: docs/b", "waiter cat: docs/a"));
  for (const Conflict& conflict : reply->conflicts) {
    if (conflict.holder.owner != kAnn) continue;
    EXPECT_EQ(conflict.requested.resource.text(), "src/a.c");
    EXPECT_EQ(conflict.held.mode, Mode::kExclusive);
    EXPECT_EQ(conflict.witness, "src/a.c");
    EXPECT_EQ(conflict.holder.id, ann.id);
    EXPECT_EQ(conflict.holder.terms.reason, "JWT");
    EXPECT_EQ(conflict.holder.terms.task, "T1");
    EXPECT_EQ(conflict.holder.fence(), ann.fence());
    EXPECT_EQ(conflict.holder.acquired_wall_ms, realm_.now().wall_ms);
    EXPECT_EQ(conflict.holder.expires_wall_ms, realm_.now().wall_ms + 60'000);
    EXPECT_EQ(conflict.alive, Alive::kAlive);
  }
}

TEST_P(Rule03, I10NobodyCanTellIsSaidAsUnknown) {
  AcquireRequest first = realm_.ask(kAnn, {x("a")});
  first.attachment = process(7);
  realm_.granted(first);
  realm_.prober.set(7, Alive::kUnknown);
  const auto reply = realm_.acquire(realm_.ask(kBob, {x("a")}));
  ASSERT_EQ(reply->conflicts.size(), 1U);
  EXPECT_EQ(reply->conflicts[0].alive, Alive::kUnknown);
}

TEST_P(Rule03, QueuedSaysItsPositionAndWhatItWaitsFor) {
  realm_.granted(kAnn, {x("a")});
  realm_.queued(kBob, {x("a")});
  const auto reply = realm_.acquire(realm_.wait(kCat, {x("a")}));
  ASSERT_EQ(reply->outcome, Outcome::kQueued);
  EXPECT_EQ(reply->position, 2U);
  EXPECT_THAT(holders(*reply), UnorderedElementsAre("lease ann: a", "waiter bob: a"));
}

TEST_P(Rule03, WithoutWaitNothingIsQueued) {
  realm_.granted(kAnn, {x("a")});
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
  EXPECT_TRUE(realm_.waiters().empty());
}

TEST_P(Rule03, CheckChangesNothingAndAgreesWithAcquire) {
  realm_.granted(kAnn, {x("src/")});
  realm_.granted(kBob, {s("docs/")});
  AcquireRequest mortal = realm_.ask(kCat, {x("tmp/")});
  mortal.attachment = process(9);
  realm_.granted(mortal);
  realm_.queued(kCat, {x("docs/a")});
  realm_.kill(9);
  const std::vector<Claim> all_claims = {x("src/a"),  s("src/a"),  x("docs/b"),
                                         s("docs/b"), s("docs/a"), x("tmp/a"),
                                         x("free"),   x("./"),     s("**/*.md")};
  for (const Owner& who : {kAnn, kBob, kCat, kDan}) {
    for (const Claim& claim : all_claims) {
      const auto before = realm_.rows();
      const auto told = realm_.check(realm_.ask(who, {claim}));
      ASSERT_TRUE(told.has_value());
      EXPECT_EQ(realm_.rows(), before);
      // Ask for real in a transaction that is dropped.
      auto txn = realm_.store().begin(kv::Access::kWrite);
      Context context{.now = realm_.now(),
                      .epoch = realm_.store().epoch(),
                      .ticket = 77,
                      .prober = &realm_.prober,
                      .limits = {}};
      const auto real = Table(**txn, context).acquire(realm_.ask(who, {claim}));
      ASSERT_TRUE(real.has_value());
      EXPECT_EQ(told->free, real->outcome != Outcome::kHeld)
          << who.agent << " " << claim.resource.text();
      if (!told->free) {
        EXPECT_EQ(told->conflicts.size(), real->conflicts.size());
      }
    }
  }
}

TEST_P(Rule03, CheckSaysWhatIsMine) {
  realm_.granted(kAnn, {x("src/"), s("docs/")});
  EXPECT_TRUE(realm_.check(realm_.ask(kAnn, {x("src/a"), s("docs/b")}))->mine);
  EXPECT_FALSE(realm_.check(realm_.ask(kAnn, {x("docs/b")}))->mine);
  EXPECT_FALSE(realm_.check(realm_.ask(kAnn, {x("src/a"), x("other")}))->mine);
  EXPECT_FALSE(realm_.check(realm_.ask(kBob, {s("docs/b")}))->mine);
  EXPECT_TRUE(realm_.check(realm_.ask(kBob, {s("docs/b")}))->free);
  realm_.pass(60'001);
  EXPECT_FALSE(realm_.check(realm_.ask(kAnn, {x("src/a")}))->mine);
}

TEST_P(Rule03, I4AFenceIsCurrentOnlyWhileItsLeaseLivesAndCovers) {
  const Lease first = realm_.granted(kAnn, {x("src/")});
  const auto current = [&](const Owner& who, Claim claim, std::uint64_t fence) {
    return realm_.check(realm_.ask(who, {std::move(claim)}), fence)->fence_current;
  };
  EXPECT_TRUE(current(kAnn, x("src/a"), first.fence()));
  EXPECT_TRUE(current(kBob, x("src/a"), first.fence()));  // whoever asks
  EXPECT_FALSE(current(kAnn, x("src/a"), first.fence() + 1));
  EXPECT_FALSE(current(kAnn, x("other"), first.fence()));
  EXPECT_FALSE(current(kAnn, x("./"), first.fence()));
  realm_.pass(60'001);
  EXPECT_FALSE(current(kAnn, x("src/a"), first.fence()));
  const Lease second = realm_.granted(kBob, {x("src/")});
  EXPECT_FALSE(current(kAnn, x("src/a"), first.fence()));
  EXPECT_TRUE(current(kBob, x("src/a"), second.fence()));
}

TEST_P(Rule03, I4TheFenceOfASharedLeaseIsCurrentForReading) {
  const Lease ann = realm_.granted(kAnn, {s("a")});
  EXPECT_TRUE(realm_.check(realm_.ask(kAnn, {s("a")}), ann.fence())->fence_current);
  EXPECT_TRUE(realm_.check(realm_.ask(kBob, {s("a")}), ann.fence())->fence_current);
  EXPECT_FALSE(realm_.check(realm_.ask(kAnn, {x("a")}), ann.fence())->fence_current);
}

// --- rule 4: renewal, upgrade, release -----------------------------------------------------------

TEST_P(Rule04, I3ExactlyTheSameRenewsWithTheSameFence) {
  const Lease first = realm_.granted(kAnn, {x("a"), s("b")});
  realm_.pass(30'000);
  const auto again = realm_.acquire(realm_.ask(kAnn, {s("b"), x("a")}));
  ASSERT_EQ(again->outcome, Outcome::kRenewed);
  EXPECT_EQ(again->lease.id, first.id);
  EXPECT_EQ(again->lease.fence(), first.fence());
  EXPECT_EQ(again->lease.deadline_mono_ms, realm_.now().mono_ms + 60'000);
  EXPECT_EQ(realm_.leases().size(), 1U);
}

TEST_P(Rule04, AnythingElseIsANewLeaseWithAllThatWasAsked) {
  const Lease first = realm_.granted(kAnn, {x("a"), x("b")});
  for (const std::vector<Claim>& other :
       {std::vector<Claim>{x("a")}, {x("a"), x("b"), x("c")}, {s("a"), x("b")}}) {
    const Lease lease = realm_.granted(kAnn, other);
    EXPECT_NE(lease.id, first.id);
    EXPECT_GT(lease.fence(), first.fence());
    EXPECT_EQ(lease.claims.size(), other.size());
  }
  EXPECT_EQ(realm_.leases().size(), 4U);
}

TEST_P(Rule04, D3WhoAsksAnewGetsALeaseOfItsOwnTermsForTheSame) {
  AcquireRequest request = realm_.ask(kAnn, {x("a")});
  const Lease first = realm_.granted(request);
  request.anew = true;
  request.terms.reason = "another";
  const Lease second = realm_.granted(request);
  EXPECT_NE(second.id, first.id);
  EXPECT_GT(second.fence(), first.fence());
  EXPECT_EQ(second.terms.reason, "another");
  EXPECT_EQ(realm_.leases().size(), 2U);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
}

TEST_P(Rule04, AReasonGivenWithARenewalReplacesTheOldOne) {
  AcquireRequest request = realm_.ask(kAnn, {x("a")});
  request.terms.reason = "one";
  const Lease first = realm_.granted(request);
  request.terms.reason = "";
  EXPECT_EQ(realm_.acquire(request)->lease.terms.reason, "one") << "none was given";
  request.terms.reason = "two";
  const auto again = realm_.acquire(request);
  ASSERT_EQ(again->outcome, Outcome::kRenewed);
  EXPECT_EQ(again->lease.id, first.id);
  EXPECT_EQ(again->reason_before, "one");
  ASSERT_EQ(realm_.leases().size(), 1U);
  EXPECT_EQ(realm_.leases().front().terms.reason, "two");
  EXPECT_EQ(realm_.acquire(request)->reason_before, "") << "nothing was replaced";
}

TEST_P(Rule04, AReleaseSaysWhatHadEndedBefore) {
  AcquireRequest longer = realm_.ask(kAnn, {x("c")});
  longer.terms.ttl_ms = 120'000;
  realm_.granted(longer);
  realm_.granted(kAnn, {x("a"), x("b")});
  realm_.pass(60'001);
  const auto late = realm_.release(kAnn, {"a", "c"});
  EXPECT_THAT(late->released, ElementsAre("a", "c"));
  EXPECT_THAT(late->ended_before, ElementsAre(testing::Pair("a", "expired")));
}

TEST_P(Rule04, I6RenewalNeverShortens) {
  AcquireRequest request = realm_.ask(kAnn, {x("a")});
  request.terms.ttl_ms = 3'600'000;
  const Lease first = realm_.granted(request);
  request.terms.ttl_ms = 1'000;
  EXPECT_EQ(realm_.acquire(request)->lease.deadline_mono_ms, first.deadline_mono_ms);
  EXPECT_EQ(realm_.renew(kAnn, first.id, 5)->front().deadline_mono_ms, first.deadline_mono_ms);
  realm_.pass(3'600'000);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
}

TEST_P(Rule04, I6AShorterRenewalDoesNotShortenTheLengthAfterAReboot) {
  AcquireRequest request = realm_.ask(kAnn, {x("a")});
  request.terms.ttl_ms = 3'600'000;
  const Lease first = realm_.granted(request);
  ASSERT_TRUE(realm_.renew(kAnn, first.id, 1'000));
  realm_.reboot();
  realm_.pass(3'600'000);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
  realm_.pass(1);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kGranted);
}

TEST_P(Rule04, RenewalGoesAheadThoughOthersWait) {
  const Lease first = realm_.granted(kAnn, {x("a")});
  realm_.queued(kBob, {x("a")});
  realm_.pass(30'000);
  EXPECT_EQ(realm_.acquire(realm_.ask(kAnn, {x("a")}))->lease.id, first.id);
}

TEST_P(Rule04, RenewKeepsTheLengthUnlessToldOtherwise) {
  const Lease first = realm_.granted(kAnn, {x("a")});
  realm_.pass(10'000);
  EXPECT_EQ(realm_.renew(kAnn, first.id)->front().deadline_mono_ms, realm_.now().mono_ms + 60'000);
  EXPECT_EQ(realm_.renew(kAnn, first.id, 120'000)->front().deadline_mono_ms,
            realm_.now().mono_ms + 120'000);
  EXPECT_EQ(realm_.renew(kAnn, first.id, kNoEnd)->front().deadline_mono_ms, kNoEnd);
  EXPECT_EQ(realm_.renew(kAnn, first.id, 1'000)->front().deadline_mono_ms, kNoEnd);
}

TEST_P(Rule04, RenewNamesWhatIsWrong) {
  const Lease first = realm_.granted(kAnn, {x("a")});
  EXPECT_EQ(realm_.renew(kBob, first.id).error().code, Code::kNotOwner);
  EXPECT_EQ(realm_.renew(kAnn, make_id(kAnn, 4711)).error().code, Code::kNotFound);
  realm_.pass(60'001);
  EXPECT_EQ(realm_.renew(kAnn, first.id).error().code, Code::kLost);  // over, not yet swept
  realm_.maintain();
  EXPECT_EQ(realm_.renew(kAnn, first.id).error().code, Code::kLost);  // swept, remembered
  EXPECT_EQ(realm_.renew(kBob, first.id).error().code, Code::kNotFound);
}

TEST_P(Rule04, ReleaseRemovesThatExactKeyFromAllOwnLeases) {
  const Lease first = realm_.granted(kAnn, {x("a"), x("b")});
  const Lease second = realm_.granted(kAnn, {x("a")});
  const Lease third = realm_.granted(kAnn, {s("a"), x("./")});
  const auto reply = realm_.release(kAnn, {"a"});
  EXPECT_THAT(reply->released, ElementsAre("a"));
  EXPECT_FALSE(realm_.holds(second.id));
  EXPECT_EQ(realm_.lease(first.id).claims, std::vector<Claim>{x("b")});
  EXPECT_EQ(realm_.lease(first.id).fence(), first.fence());
  EXPECT_EQ(realm_.lease(third.id).claims, std::vector<Claim>{x("./")});
}

TEST_P(Rule04, ReleaseOfOneKeyDoesNotTouchWhatMerelyOverlaps) {
  const Lease first = realm_.granted(kAnn, {x("src/")});
  const auto reply = realm_.release(kAnn, {"src/a"});
  EXPECT_THAT(reply->released, IsEmpty());
  EXPECT_THAT(reply->not_held, ElementsAre("src/a"));
  EXPECT_TRUE(realm_.holds(first.id));
}

TEST_P(Rule04, I8ReleaseSortsOwnOthersAndNobodys) {
  realm_.granted(kAnn, {x("a")});
  realm_.granted(kBob, {x("b")});
  const auto reply = realm_.release(kAnn, {"a", "b", "c"});
  EXPECT_THAT(reply->released, ElementsAre("a"));
  ASSERT_EQ(reply->not_owner.size(), 1U);
  EXPECT_EQ(reply->not_owner[0].first, "b");
  EXPECT_EQ(reply->not_owner[0].second, kBob);
  EXPECT_THAT(reply->not_held, ElementsAre("c"));
  EXPECT_EQ(agents(realm_.leases()), std::vector<std::string>{"bob"});
  EXPECT_THAT(realm_.release(kAnn, {"a"})->not_held, ElementsAre("a"));
}

TEST_P(Rule04, I8ReleaseByALeaseIdThatIsGoneOrAnothersFreesNobody) {
  const Lease old = realm_.granted(kAnn, {x("a")});
  ASSERT_TRUE(realm_.release(kAnn, old.id));
  const Lease current = realm_.granted(kBob, {x("a")});
  EXPECT_TRUE(realm_.release(kAnn, old.id)->released.empty());
  EXPECT_EQ(realm_.release(kAnn, current.id).error().code, Code::kNotOwner);
  EXPECT_TRUE(realm_.holds(current.id));
}

TEST_P(Rule04, AnUpgraderKeepsItsSharedLeaseWhileItWaits) {
  const Lease shared = realm_.granted(kAnn, {s("a")});
  realm_.granted(kBob, {s("a")});
  const Lease upgrade = realm_.queued(kAnn, {x("a")});
  EXPECT_TRUE(realm_.holds(shared.id));
  ASSERT_TRUE(realm_.release(kBob, {"a"}));
  EXPECT_TRUE(realm_.holds(upgrade.id));
  EXPECT_TRUE(realm_.holds(shared.id));
}

TEST_P(Rule04, AnUpgradeGoesBeforeWaitersThatWaitForItsSharedLease) {
  realm_.granted(kAnn, {s("a")});
  realm_.granted(kBob, {s("a")});
  const Lease writer = realm_.queued(kCat, {x("a")});
  const Lease upgrade = realm_.queued(kAnn, {x("a")});
  ASSERT_TRUE(realm_.release(kBob, {"a"}));
  EXPECT_TRUE(realm_.holds(upgrade.id));
  EXPECT_FALSE(realm_.holds(writer.id));
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  EXPECT_TRUE(realm_.holds(writer.id));
}

TEST_P(Rule04, L5TheSecondUpgraderGetsDeadlock) {
  realm_.granted(kAnn, {s("a")});
  realm_.granted(kBob, {s("a")});
  realm_.queued(kAnn, {x("a")});
  const auto reply = realm_.acquire(realm_.wait(kBob, {x("a")}));
  ASSERT_EQ(reply->outcome, Outcome::kDeadlock);
  ASSERT_EQ(reply->cycle.size(), 2U);
  EXPECT_EQ(reply->cycle[0].owner, kBob);
  EXPECT_EQ(reply->cycle[1].owner, kAnn);
  EXPECT_EQ(realm_.waiters().size(), 1U);
}

TEST_P(Rule04, TheSoleSharedHolderUpgradesAtOnce) {
  const Lease shared = realm_.granted(kAnn, {s("a")});
  const Lease both = realm_.granted(kAnn, {x("a")});
  EXPECT_NE(shared.id, both.id);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {s("a")})), Outcome::kHeld);
}

}  // namespace
}  // namespace lockkeeper::core
