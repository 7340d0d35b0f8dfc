#include "crew/record/run_files.h"

#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <random>

namespace lockkeeper::crew {
namespace {

TEST(FileName, HarmlessAndDifferentForDifferentNames) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  static constexpr char kLetters[] = {'a', 'b', '.', '/', '%', '2', 'f', '\0', '\xff', ' '};
  std::map<std::string, std::string> names;
  for (int i = 0; i < 20'000; ++i) {
    std::string id;
    for (std::size_t n = random() % (i % 50 == 0 ? 200 : 6); n > 0; --n) {
      id += kLetters[random() % sizeof kLetters];
    }
    const std::string name = file_name_for(id);
    ASSERT_FALSE(name.empty());
    ASSERT_LE(name.size(), 100U);
    ASSERT_NE(name.front(), '.');
    ASSERT_EQ(name.find_first_of(std::string_view("/\0 ", 3)), std::string::npos);
    const auto [known, fresh] = names.emplace(name, id);
    ASSERT_TRUE(fresh || known->second == id) << name;
  }
  EXPECT_EQ(file_name_for(""), "%");
  EXPECT_EQ(file_name_for(".."), "%2e.");
  EXPECT_EQ(file_name_for("wp-1.a_B"), "wp-1.a_B");
}

// A short name that becomes long by escaping is cut.
TEST(FileName, NobodyCanBeCalledLikeALongName) {
  const std::string cut = file_name_for(std::string(300, 'a'));
  std::string id;
  for (std::size_t i = 0; i < cut.size(); ++i) {
    if (cut[i] == '%' && i + 2 < cut.size() && ::isxdigit(cut[i + 1]) != 0) {
      id += static_cast<char>(std::stoi(cut.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      id += cut[i];
    }
  }
  EXPECT_NE(file_name_for(id), cut);
}

}  // namespace
}  // namespace lockkeeper::crew
