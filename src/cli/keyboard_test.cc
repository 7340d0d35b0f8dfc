#include "cli/keyboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockkeeper::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = Key::Kind;

TEST(Keyboard, TextIsOneKeyACharacter) {
  std::string bytes = "aä/";
  EXPECT_THAT(keys_in(bytes, false),
              ElementsAre(Key{Kind::kText, "a"}, Key{Kind::kText, "ä"}, Key{Kind::kText, "/"}));
  EXPECT_EQ(bytes, "");
}

TEST(Keyboard, ASequenceThatHasOnlyBegunIsKept) {
  std::string bytes = "\x1b[";
  EXPECT_THAT(keys_in(bytes, false), IsEmpty());
  bytes += "A\x1b[6~";
  EXPECT_THAT(keys_in(bytes, false), ElementsAre(Key{Kind::kUp}, Key{Kind::kPageDown}));
  bytes = "\xc3";
  EXPECT_THAT(keys_in(bytes, false), IsEmpty());
  bytes += "\xa4";
  EXPECT_THAT(keys_in(bytes, false), ElementsAre(Key{Kind::kText, "ä"}));
}

TEST(Keyboard, EscapeAloneIsAKey) {
  std::string bytes = "\x1b";
  EXPECT_THAT(keys_in(bytes, false), IsEmpty());
  EXPECT_THAT(keys_in(bytes, true), ElementsAre(Key{Kind::kEscape}));
  bytes = "\x1bq";
  EXPECT_THAT(keys_in(bytes, true), ElementsAre(Key{Kind::kEscape}, Key{Kind::kText, "q"}));
}

TEST(Keyboard, WhatIsNotAKeyOfOursIsNoText) {
  std::string bytes = "\x1b[200~\x1b[1;5C\x01\xff";
  EXPECT_THAT(keys_in(bytes, true), IsEmpty());
  EXPECT_EQ(bytes, "");
  bytes = "\r\n\x7f\x15\x1a";
  EXPECT_THAT(keys_in(bytes, true),
              ElementsAre(Key{Kind::kEnter}, Key{Kind::kEnter}, Key{Kind::kBack},
                          Key{Kind::kEraseLine}, Key{Kind::kSuspend}));
}

}  // namespace
}  // namespace lockkeeper::cli
