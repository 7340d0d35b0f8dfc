#include "key/unicode.h"

#include <gtest/gtest.h>

namespace lockkeeper::key {

TEST(Unicode, NfcMakesOneSpelling) {
  EXPECT_EQ(*nfc("caf\u0065\u0301"), "caf\u00E9");
  EXPECT_EQ(*nfc("plain"), "plain");
}

TEST(Unicode, NfcRefusesWhatIsNotUtf8) {
  for (const char* bad : {"\xff", "a\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80"}) {
    const auto result = nfc(bad);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, Code::kInvalidResource);
    EXPECT_NE(result.error().message.find("not UTF-8"), std::string::npos);
  }
}

TEST(Unicode, FoldIsIdempotentOnEveryCodePoint) {
  for (char32_t c = 1; c <= kCodePointMax; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    ASSERT_EQ(fold(fold(c)), fold(c)) << std::hex << static_cast<unsigned>(c);
  }
}

// The table behind folded classes is built up to U+1F000; this is the proof that it is complete.
TEST(Unicode, NothingFoldsAboveTheScannedPlanes) {
  for (char32_t c = 0x1F000; c <= kCodePointMax; ++c) ASSERT_EQ(fold(c), c);
}

TEST(Unicode, FoldedTextStaysFolded) {
  EXPECT_EQ(fold_text("SRC/Ärger.PY"), "src/ärger.py");
  EXPECT_EQ(fold_text("Straße"), "straße");  // one code point stays one
  EXPECT_EQ(fold_text("ΣΑΣ"), fold_text("σας"));
  // J with caron has no capital of its own: folding must compose it.
  EXPECT_EQ(fold_text("J\u030C"), "\u01F0");
  for (char32_t c = 0xA0; c < 0x20000; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    append_utf8(text, c);
    const std::string once = fold_text(*nfc(text));
    ASSERT_EQ(fold_text(once), once) << std::hex << static_cast<unsigned>(c);
  }
}

TEST(Unicode, QuotedShowsAnything) {
  EXPECT_EQ(in_quotes("a b"), "'a b'");
  EXPECT_EQ(in_quotes(std::string_view("a\0\n\x7f", 4)), "'a\\x00\\x0a\\x7f'");
  EXPECT_EQ(in_quotes("\xff\xc3"), "'\\xff\\xc3'");
  EXPECT_EQ(in_quotes("é"), "'é'");
  const std::string shown = in_quotes(std::string(65536, 'x'));
  EXPECT_LT(shown.size(), 200U);
  EXPECT_NE(shown.find("65536 bytes"), std::string::npos);
}

TEST(Unicode, TrimEndKnowsWideBlanks) {
  EXPECT_EQ(trim_end("a \u3000\u00A0"), "a");
  EXPECT_EQ(trim_end("  "), "");
  EXPECT_EQ(trim_end(" a"), " a");
}

}  // namespace lockkeeper::key
