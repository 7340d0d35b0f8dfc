#include "layout/publisher.h"

#include <gmock/gmock.h>

#include "layout/cleaner.h"
#include "layout/test_fixture.h"

namespace lockkeeper::layout {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;

class PublisherTest : public LayoutTest {
 protected:
  PublisherTest() { EXPECT_TRUE(layouts_.open()); }

  core::Lease recorded(const std::string& agent, const std::string& name,
                       core::Mode mode = core::Mode::kExclusive) {
    core::Lease lease;
    write([&](core::Table& table) {
      lease = grant(table, agent, name, mode);
      EXPECT_TRUE(publisher_.record(table, lease.id));
    });
    return lease;
  }
  core::Lease shown(const std::string& agent, const std::string& name,
                    core::Mode mode = core::Mode::kExclusive) {
    core::Lease lease = recorded(agent, name, mode);
    EXPECT_EQ(publisher_.publish(lease).value(), std::nullopt);
    return lease;
  }
  std::string identity(const core::Lease& lease) {
    return lease.owner.agent + " " + lease.id.text();
  }
  core::MirrorArtefact missing(const core::Lease& lease, const std::string& artefact) {
    return {entry_.id(), artefact, lease.id, identity(lease), true};
  }

  // Nothing on the disk, nothing prepared, no row.
  void expect_nothing(const std::string& artefact) {
    EXPECT_THAT(disk_.there, IsEmpty());
    EXPECT_THAT(disk_.prepared, IsEmpty());
    EXPECT_THAT(rows(artefact), IsEmpty());
  }

  OpenLayouts layouts_{*table_};
  Publisher publisher_{*table_, layouts_};
};

TEST_F(PublisherTest, WhatAppearsHasTheIdentityOfItsRow) {
  const core::Lease lease = recorded("ann", "a");
  EXPECT_THAT(disk_.there, IsEmpty()) << "before it is published";
  EXPECT_EQ(publisher_.publish(lease).value(), std::nullopt);
  EXPECT_THAT(disk_.there, ElementsAre(Pair("a", identity(lease))));
  EXPECT_THAT(rows("a"), ElementsAre(identity(lease)));
  EXPECT_THAT(disk_.prepared, IsEmpty());
  release(lease);
  EXPECT_TRUE(clean(*table_, layouts_));
  expect_nothing("a");
}

TEST_F(PublisherTest, OnlyWhatHasNoRowIsDiscardedByItsMaker) {
  const auto failed = table_->write([&](core::Table& table) -> Result<bool> {
    LK_CHECK(publisher_.record(table, grant(table, "ann", "a").id));
    return fail(Code::kHeld, "no commit");
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(disk_.prepared.size(), 1U);
  publisher_.discard_unrecorded();
  expect_nothing("a");
  recorded("ann", "a");
  publisher_.discard_unrecorded();
  EXPECT_EQ(disk_.prepared.size(), 1U) << "others may be about to publish it";
}

TEST_F(PublisherTest, ALeaseThatEndedBeforeItWasPublishedIsNotShown) {
  const core::Lease lease = recorded("ann", "a");
  release(lease);
  EXPECT_EQ(publisher_.publish(lease).value(), std::nullopt);
  EXPECT_THAT(disk_.there, IsEmpty());
  EXPECT_TRUE(clean(*table_, layouts_));
  expect_nothing("a");
}

// A look found ann's artefact missing; she released it and bob was granted the same before that was
// settled. Bob's row keeps its identity, and what he shows goes with his lease.
TEST_F(PublisherTest, ShowingAgainLeavesTheNextHoldersIdentityAlone) {
  const core::Lease ann = shown("ann", "a");
  disk_.there.clear();
  release(ann);
  const core::Lease bob = recorded("bob", "a");
  EXPECT_TRUE(publisher_.show_again({missing(ann, "a")}));
  EXPECT_THAT(rows("a"), ElementsAre("[" + identity(ann) + "]", identity(bob)));
  EXPECT_THAT(disk_.there, IsEmpty());
  EXPECT_EQ(publisher_.publish(bob).value(), std::nullopt);
  EXPECT_THAT(disk_.there, ElementsAre(Pair("a", identity(bob))));
  release(bob);
  EXPECT_TRUE(clean(*table_, layouts_));
  expect_nothing("a");
}

// Ann's lease ends after it was decided to show it again: her row stays until her artefact is gone,
// so bob replaces it.
TEST_F(PublisherTest, WhatIsShownAgainTooLateMakesWayForTheNextHolder) {
  const core::Lease ann = shown("ann", "a");
  disk_.there.clear();
  core::Lease bob;
  Publisher bobs(*table_, layouts_);
  disk_.before_publish = [&] {
    release(ann);
    write([&](core::Table& table) {
      bob = grant(table, "bob", "a");
      EXPECT_TRUE(bobs.record(table, bob.id));
    });
  };
  EXPECT_TRUE(publisher_.show_again({missing(ann, "a")}));
  EXPECT_THAT(disk_.there, ElementsAre(Pair("a", identity(ann))));
  EXPECT_EQ(bobs.publish(bob).value(), std::nullopt);
  EXPECT_THAT(disk_.there, ElementsAre(Pair("a", identity(bob))));
  release(bob);
  EXPECT_TRUE(clean(*table_, layouts_));
  expect_nothing("a");
}

TEST_F(PublisherTest, SharedLeasesAreShownByOneArtefactWithOneIdentity) {
  const core::Lease ann = shown("ann", "a", core::Mode::kShared);
  const core::Lease bob = shown("bob", "a", core::Mode::kShared);
  EXPECT_THAT(rows("a"), ElementsAre(identity(ann), identity(ann)));
  release(ann);
  EXPECT_TRUE(clean(*table_, layouts_));
  EXPECT_THAT(rows("a"), ElementsAre(identity(ann)));
  disk_.there.clear();
  EXPECT_TRUE(publisher_.show_again({{entry_.id(), "a", bob.id, identity(ann), true}}));
  EXPECT_THAT(disk_.there, ElementsAre(Pair("a", identity(bob))));
  EXPECT_THAT(rows("a"), ElementsAre(identity(bob)));
  release(bob);
  EXPECT_TRUE(clean(*table_, layouts_));
  expect_nothing("a");
}

TEST_F(PublisherTest, AnotherToolThatWasFirstIsNamedAndLeftAlone) {
  const core::Lease lease = recorded("ann", "a");
  disk_.there["a"] = "bash";
  const auto first = publisher_.publish(lease);
  ASSERT_TRUE(first && *first);
  EXPECT_EQ((*first)->owner.agent, "bash");
  release(lease);
  EXPECT_TRUE(clean(*table_, layouts_));
  EXPECT_THAT(disk_.there, ElementsAre(Pair("a", "bash")));
  EXPECT_THAT(disk_.prepared, IsEmpty());
  EXPECT_THAT(rows("a"), IsEmpty());
}

// Somebody has shown it there in ann's stead, in a layout that is not registered any more.
TEST_F(PublisherTest, NothingStaysInALayoutThatWasRemovedMeanwhile) {
  const core::Lease lease = recorded("ann", "a");
  OpenLayouts old(*table_);
  EXPECT_TRUE(old.open());
  Publisher other(*table_, old);
  EXPECT_TRUE(other.show_again({missing(lease, "a")}));
  EXPECT_THAT(disk_.there, ElementsAre(Pair("a", identity(lease))));
  EXPECT_TRUE(erase_layout(*table_, entry_.id()));
  EXPECT_EQ(publisher_.publish(lease).value(), std::nullopt);
  expect_nothing("a");
}

TEST_F(PublisherTest, A17_NorInOneThatIsOnlyReadNow) {
  const core::Lease lease = recorded("ann", "a");
  entry_.mode = LayoutMode::kRead;
  EXPECT_TRUE(put_layout(*table_, entry_));
  EXPECT_EQ(publisher_.publish(lease).value(), std::nullopt);
  expect_nothing("a");
}

TEST_F(PublisherTest, A17_NorIfItsLeaseHasEndedToo) {
  const core::Lease lease = recorded("ann", "a");
  EXPECT_TRUE(erase_layout(*table_, entry_.id()));
  release(lease);
  EXPECT_EQ(publisher_.publish(lease).value(), std::nullopt);
  expect_nothing("a");
}

}  // namespace
}  // namespace lockkeeper::layout
