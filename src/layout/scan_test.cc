#include "layout/scan.h"

#include <gmock/gmock.h>

#include "layout/publisher.h"
#include "layout/test_fixture.h"

namespace lockkeeper::layout {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class ScanTest : public LayoutTest {
 protected:
  ScanTest() { EXPECT_TRUE(layouts_.open()); }

  void look() { EXPECT_TRUE(scan_.read(nullptr, Scan::Depth::kFull)); }

  // Gives the artefacts of ours that are missing.
  std::vector<std::string> apply() {
    std::vector<std::string> missing;
    write([&](core::Table& table) {
      const auto applied = scan_.apply(table);
      ASSERT_TRUE(applied);
      missing.clear();
      for (const core::MirrorArtefact& row : applied->missing) missing.push_back(row.artefact);
    });
    return missing;
  }

  // What other tools hold, as the table has it.
  std::vector<std::string> foreign() {
    std::vector<std::string> found;
    read([&](core::Table& table) {
      const auto all = core::all_known_foreign(table.state(), entry_.id());
      ASSERT_TRUE(all);
      for (const core::KnownForeign& known : *all) {
        if (table.state().lease(known.lease).value() != nullptr) found.push_back(known.artefact);
      }
    });
    return found;
  }

  core::Lease shown_lease(const std::string& agent, const std::string& name) {
    core::Lease lease;
    Publisher publisher(*table_, layouts_);
    write([&](core::Table& table) {
      lease = grant(table, agent, name);
      EXPECT_TRUE(publisher.record(table, lease.id));
    });
    EXPECT_EQ(publisher.publish(lease).value(), std::nullopt);
    return lease;
  }

  OpenLayouts layouts_{*table_};
  Scan scan_{*table_, layouts_};
};

TEST_F(ScanTest, BringsOtherToolsLocksIntoTheTableAndTheirEnds) {
  disk_.there = {{"a", "bash"}, {"b", "bash"}};
  look();
  EXPECT_THAT(apply(), IsEmpty());
  EXPECT_THAT(foreign(), ElementsAre("a", "b"));
  disk_.there.erase("a");
  look();
  apply();
  EXPECT_THAT(foreign(), ElementsAre("b"));
}

// Between the look and the transaction it may have changed.
TEST_F(ScanTest, LooksAgainInsideTheTransaction) {
  disk_.there = {{"a", "bash"}};
  look();
  disk_.there.clear();
  apply();
  EXPECT_THAT(foreign(), IsEmpty());
  disk_.there = {{"a", "zsh"}};  // with a stamp of its own
  look();
  apply();
  disk_.there.clear();
  look();
  disk_.there = {{"a", "zsh"}};
  apply();
  EXPECT_THAT(foreign(), ElementsAre("a"));
}

TEST_F(ScanTest, TellsOursFromTheirsByTheIdentityInItsRow) {
  shown_lease("ann", "a");
  look();
  EXPECT_THAT(apply(), IsEmpty());
  EXPECT_THAT(foreign(), IsEmpty());
  disk_.there["a"] = "bash";
  look();
  EXPECT_THAT(apply(), ElementsAre("a"));
  EXPECT_THAT(foreign(), ElementsAre("a"));
}

TEST_F(ScanTest, FindsOursThatAreMissing) {
  shown_lease("ann", "a");
  look();
  apply();
  disk_.there.clear();
  look();
  EXPECT_THAT(apply(), ElementsAre("a"));
  read([&](core::Table& table) {
    EXPECT_THAT(scan_.due(table.state()).value().unlisted, SizeIs(1));
  });
}

TEST_F(ScanTest, OverlaysACheckWithoutWriting) {
  disk_.there = {{"a", "bash"}};
  look();
  core::AcquireRequest request;
  request.owner = {"ann", ""};
  request.claims = claims("a", core::Mode::kExclusive);
  read([&](core::Table& table) {
    core::CheckReply reply = table.check(request, 0).value();
    EXPECT_TRUE(reply.free);
    EXPECT_TRUE(scan_.overlay(&table, request, reply));
    EXPECT_FALSE(reply.free);
  });
  EXPECT_THAT(foreign(), IsEmpty());
  apply();
  disk_.there.clear();
  look();
  read([&](core::Table& table) {
    core::CheckReply reply = table.check(request, 0).value();
    EXPECT_FALSE(reply.free);
    EXPECT_TRUE(scan_.overlay(&table, request, reply));
    EXPECT_TRUE(reply.free);
  });
}

// Nobody waits for the table while another reads ten thousand locks.
TEST_F(ScanTest, A19_ManyLocksComeInPortionsBeforeTheDecision) {
  constexpr int kMany = 1'000;
  for (int i = 0; i < kMany; ++i) disk_.there["f" + std::to_string(i)] = "bash";
  const std::vector<core::Claim> wanted = claims("f7", core::Mode::kExclusive);
  ASSERT_TRUE(scan_.read(&wanted, Scan::Depth::kFull));
  const auto before = table_->write([](core::Table&) -> Result<bool> { return false; }).value();
  ASSERT_TRUE(scan_.bring_in());
  const auto after = table_->write([](core::Table&) -> Result<bool> { return false; }).value();
  EXPECT_GE(after - before, 5) << "at most 200 in a commit";
  EXPECT_THAT(foreign(), SizeIs(kMany));
  const int scans = disk_.scans_of_sources;
  EXPECT_LE(scans, kMany) << "each source at most once";
  EXPECT_THAT(apply(), IsEmpty());
  EXPECT_EQ(disk_.scans_of_sources, scans) << "the decision finds everything done";
  EXPECT_THAT(foreign(), SizeIs(kMany)) << "what apply() was not told is not gone";
  disk_.there.clear();
  look();
  ASSERT_TRUE(scan_.bring_in());
  while (!foreign().empty()) apply();
}

// What matters to the decision is looked at again inside of it.
TEST_F(ScanTest, A19_TheWantedIsStillDecidedInsideTheTransaction) {
  for (int i = 0; i < 300; ++i) disk_.there["f" + std::to_string(i)] = "bash";
  const std::vector<core::Claim> wanted = claims("f7", core::Mode::kExclusive);
  ASSERT_TRUE(scan_.read(&wanted, Scan::Depth::kFull));
  ASSERT_TRUE(scan_.bring_in());
  write([&](core::Table& table) {  // another process saw its end too early
    const auto known = core::known_foreign(table.state(), entry_.id(), "f7").value();
    ASSERT_TRUE(known);
    EXPECT_TRUE(core::end_foreign(table, *known, {"released", "artefact_removed", "", {}}));
  });
  apply();
  EXPECT_THAT(foreign(), SizeIs(300));
}

// What was seen of layouts that are not open any more says nothing.
TEST_F(ScanTest, ForgetsWhatItSawOfLayoutsThatWereOpenedAgain) {
  disk_.there = {{"a", "bash"}};
  look();
  EXPECT_FALSE(scan_.empty());
  EXPECT_TRUE(switch_off(*table_, entry_.id()));
  EXPECT_TRUE(layouts_.reopen().value());
  EXPECT_TRUE(scan_.empty());
  apply();
  EXPECT_THAT(foreign(), IsEmpty());
}

}  // namespace
}  // namespace lockkeeper::layout
