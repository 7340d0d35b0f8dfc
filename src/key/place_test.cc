#include "key/place.h"

#include <gtest/gtest.h>

#include "key/key_testing.h"

namespace lockkeeper::key {
namespace {

Place place(const std::string& text) {
  auto parsed = parse(text, {});
  EXPECT_TRUE(parsed.has_value()) << text;
  return Place(parsed ? parsed->resource : Resource{});
}

TEST(Place, IsTheSpaceAndTheLiteralSegments) {
  const Place file = place("src/core/a.h");
  EXPECT_EQ(file.space_and_segments, "/\1src\1core\1a.h");
  EXPECT_EQ(file.ancestor_ends, (std::vector<std::size_t>{1, 5, 10}));
  EXPECT_EQ(place("src/").space_and_segments, "/\1src");
  EXPECT_EQ(place("src/*.h").space_and_segments, "/\1src");
  EXPECT_EQ(place("**/a").space_and_segments, "/");
  EXPECT_TRUE(place("./").ancestor_ends.empty());
}

TEST(Place, ALongPathIsFiledAtTheAncestorThatFits) {
  std::string path;
  for (int i = 0; i < 10; ++i) path += std::string(60, static_cast<char>('a' + i)) + "/";
  const Place file = place(path + "file");
  EXPECT_LE(file.space_and_segments.size(), kPlaceBytesMax);
  EXPECT_EQ(file.ancestor_ends.size(), 6U);
}

}  // namespace
}  // namespace lockkeeper::key
