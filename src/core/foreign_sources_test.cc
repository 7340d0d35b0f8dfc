// Other tools' locks and our mirrored leases, found again by their source and by nothing like it.
#include "core/foreign.h"

#include <gmock/gmock.h>

#include "core/mirrored.h"
#include "core/testing.h"

namespace lockkeeper::core {
namespace {

using testing::UnorderedElementsAre;

constexpr const char* kLayout = "coordmcp-1a2b3c4d";

class ForeignRows : public OnBothFlavours {
 protected:
  void place(const std::string& artefact, const std::string& path) {
    ForeignLock lock;
    lock.layout = kLayout;
    lock.artefact = artefact;
    lock.path = "/data/" + artefact;
    lock.claims = {x(path)};
    lock.owner = {"outsider", "there"};
    const auto placed = realm_.run([&](Table& table) { return place_foreign(table, lock); });
    ASSERT_TRUE(placed) << placed.error().message;
  }
  void show(const LeaseId& lease, const std::string& artefact) {
    const auto shown = realm_.run([&](Table& table) -> Result<bool> {
      LK_CHECK(record_mirrored(table.state(), lease, {{kLayout, artefact, lease, "ours", true}}));
      return true;
    });
    ASSERT_TRUE(shown) << shown.error().message;
  }
  std::vector<std::string> known_of(const std::string& source) {
    return names(realm_.run(
        [&](Table& table) { return all_known_foreign(table.state(), kLayout, source); }));
  }
  std::vector<std::string> shown_at(const std::string& source) {
    return names(
        realm_.run([&](Table& table) { return all_mirrored(table.state(), kLayout, source); }));
  }

 private:
  template <class Rows>
  static std::vector<std::string> names(const Result<Rows>& rows) {
    EXPECT_TRUE(rows) << rows.error().message;
    std::vector<std::string> names;
    for (const auto& row : *rows) names.push_back(row.artefact);
    return names;
  }
};
LOCKKEEPER_ON_BOTH_FLAVOURS(ForeignRows);

TEST_P(ForeignRows, of_one_source_are_itself_and_its_entries_not_what_begins_alike) {
  for (const std::string name : {"src", "src#a", "src#b", "src__a.py", "src.d", "sr"}) {
    place(name, "src/" + std::to_string(name.size()) + name.substr(0, 1) + "/" + name);
  }
  EXPECT_THAT(known_of("src"), UnorderedElementsAre("src", "src#a", "src#b"));
  EXPECT_THAT(known_of("src__a.py"), UnorderedElementsAre("src__a.py"));
  EXPECT_THAT(known_of("s"), UnorderedElementsAre());
}

TEST_P(ForeignRows, shown_leases_of_one_source_too) {
  const LeaseId one = realm_.granted({"ann", ""}, {x("a"), x("b")}).id;
  const LeaseId two = realm_.granted({"bob", ""}, {x("c")}).id;
  show(one, "files/src");
  show(one, "files/src#a");
  show(two, "files/src__a.py");
  EXPECT_THAT(shown_at("files/src"), UnorderedElementsAre("files/src", "files/src#a"));
  EXPECT_THAT(shown_at("files/src__a.py"), UnorderedElementsAre("files/src__a.py"));
}

// A long name is kept as its beginning and a hash: the entries of such a source are found, too.
TEST_P(ForeignRows, entries_of_a_source_with_a_very_long_name_are_found) {
  const std::string source = "agents/" + std::string(255, 'n') + "/" + std::string(60, 'm');
  place(source + "#a", "a");
  const LeaseId ours = realm_.granted({"ann", ""}, {x("b")}).id;
  show(ours, source + "#b");
  EXPECT_THAT(known_of(source), testing::Contains(source + "#a"));
  EXPECT_THAT(shown_at(source), testing::Contains(source + "#b"));
}

}  // namespace
}  // namespace lockkeeper::core
