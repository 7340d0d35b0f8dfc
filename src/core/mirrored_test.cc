// Which artefacts are ours: recorded with the grant, to be removed with the end, never forgotten in
// between.
#include "core/mirrored.h"

#include <gmock/gmock.h>

#include "core/testing.h"

namespace lockkeeper::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class ShownLeases : public OnBothFlavours {
 protected:
  // These artefacts mirror the lease from now on.
  void show(const Lease& lease, const std::vector<std::string>& artefacts,
            const std::string& identity) {
    std::vector<MirrorArtefact> rows;
    for (const std::string& artefact : artefacts) {
      rows.push_back({"mkdir-1", artefact, lease.id, identity, true});
    }
    change([&](Table& table) { return record_mirrored(table.state(), lease.id, rows); });
  }

  void change(const std::function<Result<void>(Table&)>& what) {
    const auto done = realm_.run([&](Table& table) -> Result<bool> {
      LK_CHECK(what(table));
      return true;
    });
    ASSERT_TRUE(done) << done.error().message;
  }

  std::vector<MirrorArtefact> read(
      const std::function<Result<std::vector<MirrorArtefact>>(State&)>& what) {
    std::vector<MirrorArtefact> found;
    change([&](Table& table) -> Result<void> {
      LK_ASSIGN(found, what(table.state()));
      return {};
    });
    return found;
  }
  std::vector<MirrorArtefact> as(const std::string& artefact) {
    return read([&](State& state) { return mirrored_as(state, "mkdir-1", artefact); });
  }
  std::vector<MirrorArtefact> left() {
    return read([](State& state) { return artefacts_to_remove(state, 100); });
  }
  void forget(const MirrorArtefact& shown) {
    change([&](Table& table) { return forget_mirrored(table.state(), {shown}); });
  }
};

LOCKKEEPER_ON_BOTH_FLAVOURS(ShownLeases);

TEST_P(ShownLeases, RecordedWithTheLeaseAndToBeRemovedAfterItsEnd) {
  const Lease lease = realm_.granted(kAnn, {x("a"), x("b")});
  show(lease, {"files/a", "files/b"}, "ann 1");
  ASSERT_THAT(as("files/a"), SizeIs(1));
  EXPECT_TRUE(as("files/a")[0].live);
  EXPECT_EQ(as("files/a")[0].identity, "ann 1");
  EXPECT_EQ(as("files/a")[0].lease, lease.id);
  EXPECT_THAT(as("files/"), IsEmpty());
  EXPECT_THAT(realm_.lease(lease.id).mirrored_at, SizeIs(2));
  EXPECT_THAT(left(), IsEmpty());
  ASSERT_TRUE(realm_.release(kAnn, lease.id));
  EXPECT_FALSE(as("files/a")[0].live);
  std::vector<MirrorArtefact> ended = left();
  ASSERT_THAT(ended, SizeIs(2));
  forget(ended[0]);
  ASSERT_THAT(left(), SizeIs(1));
  EXPECT_EQ(left()[0].artefact, ended[1].artefact);
  forget(ended[1]);
  EXPECT_THAT(left(), IsEmpty());
  for (const auto& [key, value] : realm_.rows()) EXPECT_TRUE(key[0] != 'o' && key[0] != 'u');
}

TEST_P(ShownLeases, EveryWayToEndLeavesThemToBeRemoved) {
  const Lease expired = realm_.granted(kAnn, {x("a")});
  show(expired, {"files/a"}, "1");
  AcquireRequest bound = realm_.ask(kAnn, {x("b")});
  bound.attachment = process(77);
  const Lease died = realm_.granted(bound);
  show(died, {"files/b"}, "2");
  const Lease broken = realm_.granted(kAnn, {x("c")});
  show(broken, {"files/c"}, "3");
  ASSERT_TRUE(realm_.break_lease({kBob, "why", false, false}, broken.id));
  EXPECT_THAT(left(), SizeIs(1));
  realm_.kill(77);
  realm_.granted(kBob, {x("b")});
  EXPECT_THAT(left(), SizeIs(2));
  realm_.pass(60'001);
  realm_.maintain();
  EXPECT_THAT(left(), SizeIs(3));
}

TEST_P(ShownLeases, SharedLeasesShareAnArtefactWithTheEndedFirst) {
  const Lease ann = realm_.granted(kAnn, {s("a")});
  const Lease bob = realm_.granted(kBob, {s("a")});
  show(ann, {"files/a"}, "ann 1");
  show(bob, {"files/a"}, "ann 1");
  ASSERT_TRUE(realm_.release(kBob, bob.id));
  const std::vector<MirrorArtefact> rows = as("files/a");
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].lease, bob.id);
  EXPECT_FALSE(rows[0].live);
  EXPECT_TRUE(rows[1].live);
}

// A part is given back: the lease lives, the artefact is to be removed all the same, once, and with
// what its end adds.
TEST_P(ShownLeases, ALeaseThatIsNoLongerShownThereLeavesItToBeRemoved) {
  const Lease lease = realm_.granted(kAnn, {x("a"), x("b")});
  show(lease, {"files/a", "files/b"}, "ann 1");
  change([&](Table& table) {
    return unmirror(table.state(), lease.id, {mirror_place("mkdir-1", "files/a")});
  });
  EXPECT_FALSE(as("files/a")[0].live);
  EXPECT_TRUE(as("files/b")[0].live);
  EXPECT_THAT(realm_.lease(lease.id).mirrored_at, ElementsAre(mirror_place("mkdir-1", "files/b")));
  ASSERT_THAT(left(), SizeIs(1));
  EXPECT_EQ(left()[0].identity, "ann 1");
  ASSERT_TRUE(realm_.release(kAnn, lease.id));
  EXPECT_THAT(left(), SizeIs(2)) << "the end must not forget what was to be removed before";
  for (const MirrorArtefact& one : left()) forget(one);
  EXPECT_THAT(left(), IsEmpty());
  realm_.audit();
}

TEST_P(ShownLeases, ForgettingWhileItLivesLeavesNothing) {
  const Lease lease = realm_.granted(kAnn, {x("a")});
  show(lease, {"files/a"}, "ann 1");
  forget(as("files/a")[0]);
  EXPECT_THAT(realm_.lease(lease.id).mirrored_at, IsEmpty());
  ASSERT_TRUE(realm_.release(kAnn, lease.id));
  EXPECT_THAT(left(), IsEmpty());
}

TEST_P(ShownLeases, NamesLongerThanAKeyAreFoundByNameAndBySource) {
  const std::string folder = "files/" + std::string(400, 'd');
  const Lease ann = realm_.granted(kAnn, {x("a")});
  const Lease bob = realm_.granted(kBob, {x("b")});
  show(ann, {folder + "a"}, "1");
  show(bob, {folder + "b"}, "2");
  ASSERT_THAT(as(folder + "a"), SizeIs(1));
  EXPECT_EQ(as(folder + "a")[0].lease, ann.id);
  const auto of_source = [&](const std::string& source) {
    return read([&](State& state) { return all_mirrored(state, "mkdir-1", source); });
  };
  EXPECT_THAT(of_source(""), SizeIs(2));
  EXPECT_THAT(of_source("files/"), IsEmpty());
  bool found = false;
  for (const MirrorArtefact& one : of_source(folder + "a")) found |= one.lease == ann.id;
  EXPECT_TRUE(found) << "a long source must find itself";
}

TEST_P(ShownLeases, AtMostSoManyLeasesAtOnce) {
  for (int i = 0; i < 5; ++i) {
    const Lease lease = realm_.granted(kAnn, {x("f" + std::to_string(i))});
    show(lease, {"files/f" + std::to_string(i)}, "i");
    ASSERT_TRUE(realm_.release(kAnn, lease.id));
  }
  EXPECT_THAT(read([](State& state) { return artefacts_to_remove(state, 3); }), SizeIs(3));
}

}  // namespace
}  // namespace lockkeeper::core
