#include "plan/resolutions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "plan/agent_names.h"
#include "plan/plan_testing.h"

namespace lockkeeper::plan {
namespace {

using Kind = Resolution::Kind;
using Json = nlohmann::ordered_json;
using testing::ElementsAre;

Scope scope(const std::string& agent, const std::vector<std::string>& texts,
            const std::string& task = "") {
  Scope scope{agent, {}, task};
  for (const std::string& text : texts) scope.resources.push_back(resource(text));
  return scope;
}

using Disk = std::map<std::string, std::vector<std::string>>;

Children children_of(const Disk& disk) {
  return [disk](const std::string& folder) -> std::optional<std::vector<std::string>> {
    const auto found = disk.find(folder);
    if (found == disk.end()) return std::nullopt;
    return found->second;
  };
}

std::vector<Resolution> resolve(const Scope& asker, const std::vector<Scope>& holders,
                                const Disk& disk = {}) {
  auto list = resolutions_for(asker, holders, {}, children_of(disk));
  EXPECT_TRUE(list);
  return list ? *list : std::vector<Resolution>();
}

Json json_of(const std::vector<Resolution>& list, Kind kind) {
  for (const Resolution& each : list) {
    if (each.kind == kind) return resolution_json(each);
  }
  return {};
}

std::vector<std::string> texts(const std::vector<Resolution>& list) {
  std::vector<std::string> lines;
  for (const Resolution& each : list) lines.push_back(resolution_text(each));
  return lines;
}

TEST(Resolutions, GoldenTheDocumentsExample) {
  const auto list = resolve(scope("backend-developer", {"src/shared/Button.tsx"}),
                            {scope("frontend-developer", {"src/shared/Button.tsx"})});
  EXPECT_THAT(
      texts(list),
      ElementsAre(
          "Run backend-developer after frontend-developer completes",
          "Assign src/shared/Button.tsx to frontend-developer only",
          "Divide src/shared/: a new folder such as src/shared/backend/ for backend-developer, "
          "src/shared/Button.tsx for frontend-developer",
          "Merge the tasks of frontend-developer and backend-developer into one, for "
          "frontend-developer",
          "Create separate files: src/shared/Button.backend.tsx for backend-developer and "
          "src/shared/Button.frontend.tsx for frontend-developer"));
}

TEST(Resolutions, GoldenAsMachinesReadThem) {
  const auto list = resolve(scope("backend", {"src/shared/Button.tsx", "src/b.go"}, "handlers"),
                            {scope("frontend", {"src/shared/Button.tsx"}, "tables")});
  EXPECT_EQ(json_of(list, Kind::kSequential).dump(),
            R"({"resolution":"sequential","summary":"Run backend after frontend completes",)"
            R"("edits":[{"run":"backend","after":"frontend"}]})");
  EXPECT_EQ(json_of(list, Kind::kReassign)["edits"].dump(),
            R"([{"file":"src/shared/Button.tsx","from":"backend","to":"frontend"}])");
  EXPECT_EQ(json_of(list, Kind::kReassign)["scopes"].dump(),
            R"([{"agent":"backend","files":["src/b.go"],"directories":[],)"
            R"("task_description":"handlers"},{"agent":"frontend",)"
            R"("files":["src/shared/Button.tsx"],"directories":[],"task_description":"tables"}])");
  EXPECT_EQ(json_of(list, Kind::kSplit)["edits"].dump(),
            R"([{"directory":"src/shared/","agent":"backend","files":[],)"
            R"("directories":["src/shared/backend/"]},{"directory":"src/shared/",)"
            R"("agent":"frontend","files":["src/shared/Button.tsx"],"directories":[]}])");
  EXPECT_EQ(json_of(list, Kind::kMerge)["edits"].dump(),
            R"([{"agent":"frontend","merges":["frontend","backend"]}])");
  EXPECT_EQ(json_of(list, Kind::kMerge)["scopes"].dump(),
            R"([{"agent":"frontend","files":["src/shared/Button.tsx","src/b.go"],)"
            R"("directories":[],"task_description":"tables; handlers"}])");
  EXPECT_EQ(json_of(list, Kind::kSeparate)["edits"].dump(),
            R"([{"file":"src/shared/Button.tsx","agent":"backend",)"
            R"("new_file":"src/shared/Button.backend.tsx"},{"file":"src/shared/Button.tsx",)"
            R"("agent":"frontend","new_file":"src/shared/Button.frontend.tsx"}])");
}

TEST(Resolutions, AFolderThatBothWantIsHalved) {
  const Disk disk = {{"src/", {"b.ts", "a.ts", "d/", "c.ts"}}};
  const auto list = resolve(scope("back", {"src/"}), {scope("front", {"src/"})}, disk);
  EXPECT_EQ(list.size(), 4U);  // nothing to separate
  EXPECT_EQ(json_of(list, Kind::kSplit)["edits"].dump(),
            R"([{"directory":"src/","agent":"back","files":["src/c.ts"],)"
            R"("directories":["src/d/"]},{"directory":"src/","agent":"front",)"
            R"("files":["src/a.ts","src/b.ts"],"directories":[]}])");
}

TEST(Resolutions, WhatOneNamesItselfIsItsOwnInAHalvedFolder) {
  const Disk disk = {{"src/", {"a.ts", "b.ts", "z.ts"}}};
  const auto list =
      resolve(scope("back", {"src/", "src/a.ts"}), {scope("front", {"src/", "src/z.ts"})}, disk);
  const Json scopes = json_of(list, Kind::kSplit)["scopes"];
  EXPECT_THAT(scopes[0]["files"], testing::Contains("src/a.ts"));
  EXPECT_THAT(scopes[1]["files"], testing::Contains("src/z.ts"));
  EXPECT_THAT(scopes[1]["files"], testing::Contains("src/b.ts"));
}

TEST(Resolutions, AFolderThatIsNotThereYetIsHalvedByAgent) {
  const auto list = resolve(scope("back", {"src/"}), {scope("front", {"src/"})});
  EXPECT_EQ(resolution_text(list[2]),
            "Divide src/: a new folder such as src/back/ for back, "
            "a new folder such as src/front/ for front");
}

TEST(Resolutions, APatternThatGoesIsNotInTheWayOfTheParts) {
  const auto list = resolve(scope("back", {"src/common/", "src/**/*.sql", "x"}),
                            {scope("front", {"src/common/", "y"})});
  EXPECT_EQ(resolution_text(list[2]),
            "Divide src/common/: a new folder such as src/common/back/ for back, "
            "a new folder such as src/common/front/ for front; "
            "take src/**/*.sql from back");
  EXPECT_EQ(json_of(list, Kind::kSplit)["edits"][0],
            Json::parse(R"({"glob":"src/**/*.sql","from":"back"})"));
}

TEST(Resolutions, AFileInAFolderIsTakenOut) {
  const Disk disk = {{"src/", {"api/", "ui/", "main.ts"}}, {"src/ui/", {"Button.ts", "Row.ts"}}};
  const auto list = resolve(scope("back", {"src/"}), {scope("front", {"src/ui/Row.ts"})}, disk);
  EXPECT_EQ(json_of(list, Kind::kReassign)["edits"].dump(),
            R"([{"file":"src/ui/Row.ts","from":"front","to":"back"}])");
  EXPECT_EQ(json_of(list, Kind::kSplit)["scopes"][0].dump(),
            R"({"agent":"back","files":["src/main.ts","src/ui/Button.ts"],)"
            R"("directories":["src/api/"]})");
  const auto other =
      resolve(scope("back", {"src/ui/Row.ts", "x"}), {scope("front", {"src/"})}, disk);
  EXPECT_EQ(json_of(other, Kind::kReassign)["edits"].dump(),
            R"([{"file":"src/ui/Row.ts","from":"back","to":"front"}])");
  EXPECT_EQ(json_of(other, Kind::kSplit)["scopes"][1]["directories"].dump(), R"(["src/api/"])");
}

TEST(Resolutions, AFolderInAFolderMovesAsAWhole) {
  const auto list = resolve(scope("back", {"src/ui/"}), {scope("front", {"./"})},
                            {{"", {"src/", "docs/"}}, {"src/", {"ui/", "a"}}});
  EXPECT_EQ(json_of(list, Kind::kReassign)["edits"].dump(),
            R"([{"directory":"src/ui/","from":"back","to":"front"}])");
  EXPECT_EQ(json_of(list, Kind::kSplit)["scopes"][1].dump(),
            R"({"agent":"front","files":["src/a"],"directories":["docs/"]})");
}

TEST(Resolutions, PatternsAndKeysStayWithTheHolder) {
  const auto list = resolve(scope("back", {"src/**/*.ts", "db:migration-slot", "x"}),
                            {scope("front", {"src/a.ts"}), scope("ops", {"db:migration-slot"})});
  EXPECT_EQ(json_of(list, Kind::kReassign)["edits"].dump(),
            R"([{"glob":"src/**/*.ts","from":"back","to":"front"},)"
            R"({"key":"db:migration-slot","from":"back","to":"ops"}])");
  EXPECT_EQ(resolution_text(list[0]), "Run back after front and ops complete");
  EXPECT_EQ(resolution_text(list[2]), "Leave what is shared to its holder");
}

TEST(Resolutions, AMergedScopeNamesNothingTwice) {
  const auto list =
      resolve(scope("back", {"src/", "lib/a"}), {scope("front", {"src/a.ts", "lib/a"})});
  EXPECT_EQ(json_of(list, Kind::kMerge)["scopes"].dump(),
            R"([{"agent":"front","files":["lib/a"],"directories":["src/"]}])");
}

TEST(Resolutions, WhoDoesNotOverlapIsNotInTheWay) {
  const auto list = resolve(scope("back", {"a"}), {scope("far", {"b"}), scope("front", {"a"})});
  EXPECT_EQ(resolution_text(list[0]), "Run back after front completes");
  EXPECT_EQ(list[3].merged, (std::vector<std::string>{"front", "back"}));
}

TEST(Resolutions, SeparateFilesAreNotAnothers) {
  const auto list =
      resolve(scope("back", {"a.ts"}), {scope("front", {"a.ts"}), scope("far", {"a.back.ts"})});
  EXPECT_EQ(list.size(), 4U);
}

TEST(AgentWords, TellAgentsApart) {
  EXPECT_EQ(distinct_name("frontend-developer", "backend-developer"), "frontend");
  EXPECT_EQ(distinct_name("dev-1", "dev-2"), "dev-1");
  EXPECT_EQ(distinct_name("same", "same"), "same");
  EXPECT_EQ(distinct_name("../..", "x"), "agent");
  EXPECT_EQ(distinct_name("a/b c", "x"), "a-b-c");
  EXPECT_EQ(with_infix("src/Button.tsx", "front"), "src/Button.front.tsx");
  EXPECT_EQ(with_infix("a.test.ts", "front"), "a.front.test.ts");
  EXPECT_EQ(with_infix("src.d/Makefile", "front"), "src.d/Makefile.front");
  EXPECT_EQ(with_infix(".env", "front"), ".env.front");
}

class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) { fill("", 0); }
  Scope any_scope(const std::string& agent) {
    Scope made{agent, {}, agent};
    const std::uint64_t count = 1 + random_below(random_, 4);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string text = random_below(random_, 12) == 0 ? "./" : any_path();
      made.resources.push_back(resource(text));
    }
    return made;
  }
  const Disk& disk() const { return disk_; }

 private:
  void fill(const std::string& at, int level) {
    std::vector<std::string>& names = disk_[at];
    for (const char* const name : {"a", "b", "c"}) {
      const std::uint64_t what = random_below(random_, 4);
      if (what == 0) continue;
      const bool folder = what == 1 && level < 3;
      names.push_back(std::string(name) + (folder ? "/" : ""));
      if (folder) fill(at + names.back(), level + 1);
    }
  }
  std::string any_path() {
    std::string text;
    const std::uint64_t levels = 1 + random_below(random_, 3);
    for (std::uint64_t i = 0; i < levels; ++i) {
      text += (text.empty() ? "" : "/") +
              std::string(1, static_cast<char>('a' + random_below(random_, 3)));
    }
    const std::uint64_t what = random_below(random_, 8);
    if (what < 3) return text + "/";
    return what == 3 ? text + "/*" : text;
  }

  SeededRandom random_;
  Disk disk_;
};

TEST(Resolutions, PropertyProposedScopesAreDisjoint) {
  int met = 0;
  for (std::uint64_t seed = 1; seed <= 3'000; ++seed) {
    World world(seed);
    const Scope asker = world.any_scope("back-dev");
    std::vector<Scope> holders;
    for (const char* const name : {"front-dev", "ops"}) {  // who hold what does not overlap
      const Scope next = world.any_scope(name);
      const auto apart = [&](const Scope& known) { return clashes_of(known, next)->empty(); };
      if (std::ranges::all_of(holders, apart)) holders.push_back(next);
    }
    const auto free = [&](const Scope& holder) { return clashes_of(asker, holder)->empty(); };
    if (std::ranges::all_of(holders, free)) continue;
    ++met;
    for (const Resolution& each : resolve(asker, holders, world.disk())) {
      if (each.kind == Kind::kSequential || each.kind == Kind::kMerge) continue;
      for (std::size_t i = 0; i < each.scopes.size(); ++i) {
        for (std::size_t j = i + 1; j < each.scopes.size(); ++j) {
          ASSERT_TRUE(clashes_of(each.scopes[i], each.scopes[j])->empty())
              << "seed " << seed << ": " << resolution_json(each).dump(1);
        }
      }
    }
  }
  EXPECT_GT(met, 500);
}

}  // namespace
}  // namespace lockkeeper::plan
