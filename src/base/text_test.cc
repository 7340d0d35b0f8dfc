#include "base/text.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

namespace lockkeeper {
namespace {

constexpr std::array<std::string_view, 6> kVerbs = {"acquire", "release", "renew",
                                                    "check",   "list",    "log"};

TEST(Utf8, accepts_every_length_up_to_the_last_code_point) {
  EXPECT_TRUE(is_valid_utf8(""));
  EXPECT_TRUE(is_valid_utf8(std::string_view("a\0b", 3)));
  EXPECT_TRUE(is_valid_utf8("é€𝄞"));
  EXPECT_TRUE(is_valid_utf8("\xed\x9f\xbf\xee\x80\x80"));  // around the surrogates
  EXPECT_TRUE(is_valid_utf8("\xf4\x8f\xbf\xbf"));          // U+10FFFF
}

TEST(Utf8, refuses_what_is_not_utf8) {
  for (const std::string_view bad :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "a\xc3", "\xe2\x82", "\xe2\x82z",
        "\xf0\x9d\x84z", "\xc3(", "\xe2(\xa1"}) {
    EXPECT_FALSE(is_valid_utf8(bad)) << quote(bad);
  }
}

TEST(ShellQuote, a_shell_reads_back_the_same_word) {
  for (const std::string_view word :
       {"", "src/a.py", "a b", "it's", "$HOME", "`id`", "*", "~", "a\nb", "--x=1", "#", "\\", "!",
        "app/[slug]/page.tsx", "''", "-n"}) {
    const std::string command = "printf %s " + shell_quote(word);
    FILE* shell = ::popen(command.c_str(), "r");
    ASSERT_NE(shell, nullptr);
    std::array<char, 256> buffer{};
    const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), shell);
    ::pclose(shell);
    EXPECT_EQ(std::string_view(buffer.data(), size), word) << command;
  }
  EXPECT_EQ(shell_quote("src/a.py"), "src/a.py");
  EXPECT_EQ(shell_quote("a b"), "'a b'");
  EXPECT_EQ(shell_quote("--wait=10m"), "--wait=10m");
  EXPECT_EQ(shell_quote("a=b"), "'a=b'");
}

TEST(Nearest, finds_the_likely_word) {
  EXPECT_EQ(nearest("aquire", kVerbs), "acquire");
  EXPECT_EQ(nearest("lsit", kVerbs), "list");
  EXPECT_EQ(nearest("RELEASE", kVerbs), "release");
  EXPECT_EQ(nearest("chek", kVerbs), "check");
}

TEST(Nearest, keeps_silent_where_nothing_is_alike) {
  EXPECT_EQ(nearest("frobnicate", kVerbs), std::nullopt);
  EXPECT_EQ(nearest("", kVerbs), std::nullopt);
  EXPECT_EQ(nearest(std::string(70'000, 'a'), kVerbs), std::nullopt);
  EXPECT_EQ(nearest("list", {}), std::nullopt);
  constexpr std::array<std::string_view, 1> kLetter = {"a"};
  EXPECT_EQ(nearest("b", kLetter), std::nullopt);
}

TEST(Text, JoinsAndCounts) {
  const std::vector<std::string> words = {"a", "", "c"};
  EXPECT_EQ(join({}, ", "), "");
  EXPECT_EQ(join(words, "/"), "a//c");
  EXPECT_EQ(counted(0, "agent"), "0 agents");
  EXPECT_EQ(counted(1, "process", "processes"), "1 process");
  EXPECT_EQ(counted(2, "process", "processes"), "2 processes");
}

TEST(Text, cuts_between_characters) {
  EXPECT_EQ(cut_utf8("aé€", 6), "aé€");
  EXPECT_EQ(cut_utf8("aé€", 5), "aé");
  EXPECT_EQ(cut_utf8("aé€", 2), "a");
  EXPECT_EQ(cut_utf8("€", 2), "");
  EXPECT_EQ(cut_utf8("\xff\xff\xff", 2), "\xff\xff") << "what is not UTF-8 is cut anywhere";
  EXPECT_TRUE(is_ascii("a\x7f"));
  EXPECT_FALSE(is_ascii("é"));
  EXPECT_EQ(utf8_size("€uro"), 3U);
  EXPECT_EQ(utf8_size("\x80"), 0U);
  EXPECT_EQ(character_size("€uro"), 3U);
  EXPECT_EQ(character_size("a€"), 1U);
  EXPECT_EQ(character_size("\xe2\x82"), 2U) << "what is cut off is one character";
}

TEST(Text, StarAndQuestionMarkMatchTheWholeText) {
  EXPECT_TRUE(matches_text("backend-*", "backend-1"));
  EXPECT_TRUE(matches_text("backend-*", "backend-"));
  EXPECT_FALSE(matches_text("backend-*", "backend"));
  EXPECT_FALSE(matches_text("backend", "backend-1"));
  EXPECT_TRUE(matches_text("*", ""));
  EXPECT_FALSE(matches_text("?", ""));
  EXPECT_TRUE(matches_text("?", "é"));
  EXPECT_FALSE(matches_text("??", "é"));
  EXPECT_TRUE(matches_text("*b*b?", "abbbx"));
  EXPECT_TRUE(matches_text("a[b]", "a[b]"));
  EXPECT_FALSE(matches_text("a[b]", "ab"));
  EXPECT_TRUE(matches_text("feature:*:pause", "feature:F-1:pause"));
  EXPECT_FALSE(matches_text("feature:*:pause", "feature:F-1:docs"));
  EXPECT_TRUE(matches_text("mcp__*__write_*", "mcp__fs__write_file"));
  EXPECT_TRUE(matches_text("**a*", "bba"));
  EXPECT_TRUE(matches_text("Ed?t", "Edit"));
  EXPECT_FALSE(matches_text("Edit", "edit"));
  EXPECT_FALSE(matches_text("Edit", "MultiEdit"));
  EXPECT_FALSE(matches_text("Edit?", "Edit"));
  EXPECT_FALSE(matches_text("", "x"));
  EXPECT_TRUE(matches_text("", ""));
  std::string stars, text(20'000, 'a');
  for (int i = 0; i < 100; ++i) stars += "a*";
  EXPECT_FALSE(matches_text(stars + "b", text));  // or it would take longer than the universe
}

TEST(Text, a_sign_is_escaped_and_comes_back) {
  for (const std::string text : {"", "a/b", "%2F", "50%", "%%/", "#"}) {
    const std::string coded = escape_sign(text, '/');
    EXPECT_EQ(coded.find('/'), std::string::npos) << text;
    EXPECT_EQ(unescape_sign(coded, '/'), text);
  }
  EXPECT_EQ(escape_sign("a#%", '#'), "a%23%25");
  EXPECT_EQ(unescape_sign("%41%", '#'), "%41%");
}

}  // namespace
}  // namespace lockkeeper
