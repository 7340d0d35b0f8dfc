#include "draw/svg_text.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/text.h"

namespace lockkeeper::draw {
namespace {

TEST(SvgText, MarkupIsEscaped) {
  EXPECT_EQ(xml_escape("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(xml_escape("zeile\nzwei\tü"), "zeile\nzwei\tü");
  EXPECT_EQ(xml_escape("a\rb"), "a&#13;b");
}

TEST(SvgText, WhatXmlForbidsIsReplaced) {
  EXPECT_EQ(xml_escape(std::string("a\0b\x1b\x7f", 5)), "a�b�\x7f");
  EXPECT_EQ(xml_escape("\xff\xfe\xc3"), "���");
  EXPECT_EQ(xml_escape("\xef\xbf\xbe\xef\xbf\xbf"), "��");
  EXPECT_EQ(xml_escape("\xed\xa0\x80"), "���") << "a surrogate";
}

TEST(SvgText, ALineStaysALine) {
  EXPECT_EQ(picture_line("a\nb\tc\rd"), "a b c d");
  EXPECT_EQ(picture_line("a\u202eb\u2066c"), "a�b�c");
  EXPECT_EQ(picture_line("\x01x"), "�x");
}

TEST(SvgText, FitsOrIsCut) {
  EXPECT_EQ(fit_text("short", 10, 100), "short");
  const std::string cut = fit_text(std::string(1000, 'w'), 10, 100);
  EXPECT_LE(text_width(cut, 10), 101);
  EXPECT_TRUE(cut.ends_with("…"));
  EXPECT_GT(cut.size(), 8U);
  EXPECT_EQ(fit_text("anything", 10, 0), "…");
}

TEST(SvgText, ACutNeverSplitsALetter) {
  std::string name;
  for (int i = 0; i < 50; ++i) name += "é日😀";
  for (int width = 0; width < 300; ++width) {
    const std::string cut = fit_text(name, 13, width);
    EXPECT_TRUE(is_valid_utf8(cut)) << width;
  }
}

TEST(SvgText, AHeapOfMarksIsCutToo) {
  std::string zalgo = "a";
  for (int i = 0; i < 100'000; ++i) zalgo += "\u0301";
  EXPECT_LT(fit_text(zalgo, 13, 200).size(), 1000U);
}

TEST(SvgText, WideLettersAreWide) {
  EXPECT_GT(text_width("日本", 10), text_width("ab", 10));
  EXPECT_GT(text_width("MM", 10), text_width("ii", 10));
}

TEST(SvgText, NumbersAreNumbers) {
  EXPECT_EQ(svg_number(12.5), "12.5");
  EXPECT_EQ(svg_number(-0.25), "-0.2");
  EXPECT_EQ(svg_number(std::numeric_limits<double>::quiet_NaN()), "0.0");
  EXPECT_EQ(svg_number(std::numeric_limits<double>::infinity()), "0.0");
}

}  // namespace
}  // namespace lockkeeper::draw
