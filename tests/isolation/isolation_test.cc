#include <gtest/gtest.h>

#include <algorithm>

#include "isolation/player.h"
#include "isolation/spec.h"

namespace lockkeeper::isolation {
namespace {

std::string all(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

class Isolation : public testing::TestWithParam<std::tuple<std::string, kv::Flavour>> {};

TEST_P(Isolation, HappensAsWritten) {
  const auto& [name, flavour] = GetParam();
  const auto spec = read_spec(name);
  ASSERT_TRUE(spec.has_value()) << name << ".spec, " << spec.error().message;
  const std::vector<std::string> problems = play(*spec, flavour);
  EXPECT_TRUE(problems.empty()) << name << ".spec (" << spec->title << ")\n" << all(problems);
}

std::string name_of(const testing::TestParamInfo<Isolation::ParamType>& info) {
  std::string name = std::get<0>(info.param);
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name +
         (std::get<1>(info.param) == kv::Flavour::kOptimistic ? "_optimistic" : "_pessimistic");
}

INSTANTIATE_TEST_SUITE_P(Spec, Isolation,
                         testing::Combine(testing::ValuesIn(spec_names()),
                                          testing::Values(kv::Flavour::kPessimistic,
                                                          kv::Flavour::kOptimistic)),
                         name_of);

// The player itself must be able to say no.
constexpr const char* kSmall =
    "title t\nsession ann\nstep a1: acquire a\nsession bob\nstep b1: acquire a\n"
    "order\na1 -> granted\nb1 -> held by lease ann a\nend\nann holds a\n";

std::string changed(const std::string& from, const std::string& to) {
  std::string text = kSmall;
  return text.replace(text.find(from), from.size(), to);
}

TEST(Player, SaysNothingIfAllIsAsExpected) {
  EXPECT_TRUE(play(*parse_spec(kSmall), kv::Flavour::kPessimistic).empty());
}

TEST(Player, NamesTheLineThatCameOutDifferently) {
  const auto spec = parse_spec(changed("b1 -> held by lease ann a", "b1 -> granted"));
  const auto problems = play(*spec, kv::Flavour::kPessimistic);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0], "line 8, b1: expected 'granted', got 'held by lease ann a'");
}

TEST(Player, ComparesTheEnd) {
  const auto spec = parse_spec(changed("ann holds a", "bob holds a"));
  EXPECT_EQ(play(*spec, kv::Flavour::kPessimistic).size(), 1U);
}

TEST(Spec, MistakesAreNamedWithTheirLine) {
  const auto message = [](const std::string& text) {
    const auto spec = parse_spec(text);
    return spec ? std::string("fine") : spec.error().message;
  };
  EXPECT_EQ(message(changed("b1 -> held", "b9 -> held")), "line 8: there is no step 'b9'");
  EXPECT_EQ(message(changed("step b1", "step a1")), "line 5: step a1 is there twice");
  EXPECT_EQ(message(changed("step b1: acquire a", "steps")), "line 5: expected: step NAME: ACTION");
  EXPECT_EQ(message(changed("a1 -> granted", "a1")), "line 7: what must come of a1?");
  EXPECT_EQ(message(changed("a1 -> granted", "-> granted")), "line 7: nothing stands before '->'");
  EXPECT_EQ(message(changed("title t\n", "")), "line 9: there is no title");
}

TEST(Spec, ThereAreEnoughOfThem) {
  EXPECT_GE(spec_names().size(), 30U);
}

}  // namespace
}  // namespace lockkeeper::isolation
