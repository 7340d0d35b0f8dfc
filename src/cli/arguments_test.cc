#include "cli/arguments.h"

#include <gtest/gtest.h>

namespace lockkeeper::cli {
namespace {

using Words = std::vector<std::string>;

struct Sample {
  Arguments arguments;
  bool all = false, quiet = false, help = false;
  std::optional<std::string> mode, wait;
  Words leases, words;

  Sample() {
    arguments.flag("--all", all, "all of them");
    arguments.value("--mode", mode, "MODE", "how");
    arguments.optional_value("--wait", wait, "DURATION", "wait");
    arguments.values("--lease", leases, "ID", "which");
    arguments.words("RESOURCE…", words, "what");
    arguments.begin_common();
    arguments.flag("--quiet", quiet, "silence", "-q");
    arguments.flag("--help", help, "show this help", "-h");
  }
};

TEST(Arguments, flags_values_and_words_in_any_order) {
  Sample s;
  ASSERT_TRUE(s.arguments.parse(
      {"a", "--mode", "shared", "--all", "b", "--lease=1", "--lease", "2", "-qh"}));
  EXPECT_TRUE(s.all && s.quiet && s.help);
  EXPECT_EQ(s.mode, "shared");
  EXPECT_EQ(s.leases, (Words{"1", "2"}));
  EXPECT_EQ(s.words, (Words{"a", "b"}));
}

TEST(Arguments, B13_a_short_flag_may_take_a_value) {
  std::optional<std::string> lines;
  Sample s;
  s.arguments.value("--lines", lines, "N", "how many", "-n");
  ASSERT_TRUE(s.arguments.parse({"-n", "5", "a"}));
  EXPECT_EQ(lines, "5");
  EXPECT_EQ(s.words, (Words{"a"}));
  ASSERT_TRUE(s.arguments.parse({"-qn7"}));
  EXPECT_EQ(lines, "7");
  EXPECT_TRUE(s.quiet);
  const auto missing = s.arguments.parse({"-n"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "--lines needs a value");
}

TEST(Arguments, the_last_of_a_repeated_value_counts) {
  Sample s;
  ASSERT_TRUE(s.arguments.parse({"--mode", "exclusive", "--mode=shared"}));
  EXPECT_EQ(s.mode, "shared");
}

TEST(Arguments, B1_a_duration_after_wait_belongs_to_it_and_a_resource_does_not) {
  Sample s;
  ASSERT_TRUE(s.arguments.parse({"--wait", "src/a.py"}));
  EXPECT_EQ(s.wait, "");
  EXPECT_EQ(s.words, (Words{"src/a.py"}));
  Sample t;
  ASSERT_TRUE(t.arguments.parse({"--wait=10m", "src/a.py"}));
  EXPECT_EQ(t.wait, "10m");
}

TEST(Arguments, a_value_may_look_like_a_flag) {
  Sample s;
  ASSERT_TRUE(s.arguments.parse({"--mode", "-5m", "--lease", "--none"}));
  EXPECT_EQ(s.mode, "-5m");
  EXPECT_EQ(s.leases, (Words{"--none"}));
  EXPECT_FALSE(s.all);
}

TEST(Arguments, words_are_never_rewritten) {
  Sample s;
  const Words odd = {"[slug]", "{}", "++", "-", "", "a b", "[a,b]", "=", "x=y"};
  ASSERT_TRUE(s.arguments.parse(odd));
  EXPECT_EQ(s.words, odd);
}

TEST(Arguments, two_dashes_end_the_flags) {
  Sample s;
  ASSERT_TRUE(s.arguments.parse({"--all", "--", "--mode", "--", "-x"}));
  EXPECT_EQ(s.words, (Words{"--mode", "--", "-x"}));
}

TEST(Arguments, what_follows_two_dashes_is_the_command_where_there_is_one) {
  Sample s;
  Words command;
  s.arguments.command(command, "what to run");
  ASSERT_TRUE(s.arguments.parse({"a", "--", "make", "--", "-j2"}));
  EXPECT_EQ(s.words, (Words{"a"}));
  EXPECT_EQ(command, (Words{"make", "--", "-j2"}));
  EXPECT_TRUE(s.arguments.declared().back().is_command());
}

struct Bad {
  Words words;
  const char* message;
  const char* hint;
};

TEST(Arguments, what_is_not_understood_is_usage_with_the_nearest_known_one) {
  const Bad rows[] = {
      {{"--mdoe", "x"}, "unknown flag \"--mdoe\"", "did you mean --mode?"},
      {{"--mod=x"}, "unknown flag \"--mod\"", "did you mean --mode?"},
      {{"--nothing-like-it"}, "unknown flag \"--nothing-like-it\"", "see: lockkeeper --help"},
      {{"-x"}, "unknown flag \"-x\"", "a name that begins with '-' is written ./-x"},
      {{"-w"},
       "unknown flag \"-w\"",
       "did you mean --wait? A name that begins with '-' is written ./-w"},
      {{"--mode"}, "--mode needs a value", "write it as --mode MODE"},
      {{"--all=yes"}, "--all takes no value", "write it as --all"},
  };
  for (const Bad& row : rows) {
    Sample s;
    const auto parsed = s.arguments.parse(row.words);
    ASSERT_FALSE(parsed) << row.message;
    EXPECT_EQ(parsed.error().code, Code::kUsage);
    EXPECT_EQ(parsed.error().message, row.message);
    EXPECT_EQ(parsed.error().hint, row.hint);
  }
}

// KIND ROOT [NAME], as `layout add` and its like have them.
struct Places {
  Arguments arguments;
  std::string kind, root, output;
  std::optional<std::string> name;

  Places() {
    arguments.word("KIND", kind, "what");
    arguments.required_value("--output", output, "DIR", "where to");
    arguments.word("ROOT", root, "where");
    arguments.optional_word("[NAME]", name, "who");
  }
};

TEST(Arguments, each_word_has_its_place) {
  Places p;
  ASSERT_TRUE(p.arguments.parse({"mkdir", "--output", "out", "spec"}));
  EXPECT_EQ(p.kind + " " + p.root + " " + p.output, "mkdir spec out");
  EXPECT_EQ(p.name, std::nullopt);
  Places q;
  ASSERT_TRUE(q.arguments.parse({"--output=out", "--", "-x", "", "ann"}));
  EXPECT_EQ(q.kind, "-x");
  EXPECT_EQ(q.root, "");
  EXPECT_EQ(q.name, "ann");
  EXPECT_EQ(q.arguments.usage("layout add"), "lockkeeper layout add [OPTIONS] KIND ROOT [NAME]");
}

TEST(Arguments, what_must_be_there_is_asked_for_and_what_is_too_much_is_named) {
  const Bad rows[] = {
      {{}, "KIND is missing", "see: lockkeeper --help"},
      {{"mkdir", "spec"}, "--output DIR is missing", "see: lockkeeper --help"},
      {{"mkdir", "--output", "out"}, "ROOT is missing", "see: lockkeeper --help"},
      {{"a", "b", "c", "d"}, "unexpected argument \"d\"", "see: lockkeeper --help"},
  };
  for (const Bad& row : rows) {
    Places p;
    const auto parsed = p.arguments.parse(row.words);
    ASSERT_FALSE(parsed) << row.message;
    EXPECT_EQ(parsed.error().code, Code::kUsage);
    EXPECT_EQ(parsed.error().message, row.message);
    EXPECT_EQ(parsed.error().hint, row.hint);
  }
}

TEST(Arguments, a_word_where_none_is_wanted_is_usage) {
  Arguments arguments;
  const auto parsed = arguments.parse({"extra"});
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, Code::kUsage);
}

TEST(Arguments, help_has_every_argument_within_80_columns) {
  const Sample s;
  const std::string help = s.arguments.help();
  for (const auto& declared : s.arguments.declared()) {
    EXPECT_NE(help.find(declared.name), std::string::npos) << declared.name;
  }
  EXPECT_LT(help.find("--all"), help.find("Common options"));
  EXPECT_GT(help.find("--quiet"), help.find("Common options"));
  EXPECT_EQ(s.arguments.usage("acquire"), "lockkeeper acquire [OPTIONS] RESOURCE…");
}

TEST(Arguments, a_forgotten_value_is_not_the_next_option) {
  Sample s;
  const auto parsed = s.arguments.parse({"a", "--mode", "--all"});
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message, "--mode needs a value, and --all is another option");
  EXPECT_EQ(parsed.error().hint, "write --mode MODE, or --mode=--all");
  Sample other;
  EXPECT_TRUE(other.arguments.parse({"a", "--mode", "--unheard-of"}));
}

TEST(Arguments, a_number_after_wait_is_not_a_resource) {
  Sample s;
  const auto parsed = s.arguments.parse({"a", "--wait", "10"});
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message, "--wait 10 has no unit");
  EXPECT_EQ(parsed.error().hint, "write --wait=10s, or ./10 for a file");
}

TEST(Arguments, usage_shows_a_command_that_may_be_omitted_as_such) {
  Arguments one, other;
  Words command;
  one.command(command, "what to run");
  other.command(command, "what to run", true);
  EXPECT_EQ(one.usage("run"), "lockkeeper run [OPTIONS] -- COMMAND…");
  EXPECT_EQ(other.usage("run"), "lockkeeper run [OPTIONS] [-- COMMAND…]");
}

}  // namespace
}  // namespace lockkeeper::cli
