#include "dialect/mkdir/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace lockkeeper::dialect::mkdir {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

TEST(MkdirNames, TheDocumentsSanitiser) {
  EXPECT_EQ(sanitised("src/auth/login.py"), "src__auth__login.py");
  EXPECT_EQ(sanitised("src\\auth\\login.py"), "src__auth__login.py");
  EXPECT_EQ(sanitised("C:\\repo\\a b.ts"), "C___repo__a b.ts");
  EXPECT_EQ(sanitised("./a"), ".__a");
  EXPECT_EQ(sanitised("/abs"), "__abs");
  EXPECT_EQ(sanitised("a//b"), "a____b");
  EXPECT_EQ(sanitised(""), "");
}

TEST(MkdirNames, ReadBackThePlainReadingFirstAndTheLiteralLast) {
  EXPECT_THAT(readings("a", Colons::kNo).paths, ElementsAre("a"));
  EXPECT_THAT(readings("src__a.py", Colons::kNo).paths, ElementsAre("src/a.py", "src__a.py"));
  EXPECT_THAT(readings("a_b", Colons::kNo).paths, ElementsAre("a_b"));
  EXPECT_THAT(readings("a_b", Colons::kYes).paths, ElementsAre("a:b"));
  EXPECT_THAT(readings("C___x", Colons::kYes).paths, Contains("C:/x"));
  EXPECT_THAT(readings("a___b", Colons::kNo).paths, UnorderedElementsAre("a/_b", "a_/b", "a___b"));
  const auto init = readings("src____init__.py", Colons::kNo);
  EXPECT_EQ(init.paths.front(), "src//init/.py");
  EXPECT_EQ(init.paths.back(), "src____init__.py");
  EXPECT_THAT(init.paths, Contains("src/__init__.py"));
  EXPECT_TRUE(init.complete);
}

TEST(MkdirNames, BeyondTheLimitOnlyThePlainAndTheLiteralReading) {
  std::string name = "a";
  std::string plain = "a";
  for (int i = 0; i < 7; ++i) {
    name += "__a";
    plain += "/a";
  }
  const auto many = readings(name, Colons::kNo);  // 2^7
  EXPECT_FALSE(many.complete);
  EXPECT_THAT(many.paths, ElementsAre(plain, name));
  EXPECT_LE(readings(name, Colons::kYes).paths.size(), kReadingsMax);
  const auto exactly = readings(name.substr(0, name.size() - 3), Colons::kNo);  // 2^6
  EXPECT_TRUE(exactly.complete);
  EXPECT_EQ(exactly.paths.size(), kReadingsMax);
  EXPECT_EQ(readings(std::string(200, '_'), Colons::kNo).paths.size(), 2U);
}

TEST(MkdirNames, FoldersThatAreNotThereAreNotEntered) {
  std::vector<std::string> asked;
  const IsFolder is_folder = [&](const std::string& path) {
    asked.push_back(path);
    return path == "a" || path == "a/__t__";
  };
  EXPECT_THAT(readings_in("a____t____x__b__c__d__e__f.ts", Colons::kNo, is_folder),
              ElementsAre("a/__t__/x__b__c__d__e__f.ts", "a/__t____x__b__c__d__e__f.ts",
                          "a____t____x__b__c__d__e__f.ts"));
  EXPECT_LT(asked.size(), 64U);
  int calls = 0;
  const IsFolder any = [&](const std::string&) { return ++calls > 0; };
  EXPECT_LE(readings_in(std::string(250, '_'), Colons::kYes, any).size(), kReadingsMax);
  EXPECT_LE(calls, 512);
}

TEST(MkdirNames, EveryReadingSanitisesToTheNameAndEveryPathIsARead) {
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  constexpr std::string_view kLetters = "ab_:/.";
  for (int round = 0; round < 2000; ++round) {
    std::string path;
    for (std::size_t i = random() % 9; i > 0; --i) path += kLetters[random() % kLetters.size()];
    const std::string name = sanitised(path);
    const Colons colons = path.find(':') == std::string::npos ? Colons::kNo : Colons::kYes;
    const Readings read = readings(name, colons);
    for (const std::string& each : read.paths) {
      ASSERT_EQ(sanitised(each), name) << "seed " << seed << " path " << path;
    }
    if (!read.complete) continue;
    ASSERT_THAT(read.paths, Contains(path)) << "seed " << seed;
  }
}

TEST(MkdirNames, AHashInANameDoesNotEndTheSource) {
  for (const char* name : {"a#b", "100%", "%23", "%25%23#%", "plain"}) {
    EXPECT_EQ(encoded(name).find('#'), std::string::npos);
    EXPECT_EQ(decoded(encoded(name)), name);
  }
  EXPECT_EQ(encoded("src__c#.cs"), "src__c%23.cs");
}

}  // namespace
}  // namespace lockkeeper::dialect::mkdir
