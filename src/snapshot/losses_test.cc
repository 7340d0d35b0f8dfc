#include "snapshot/losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockkeeper::snapshot {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Who kFirst{"claude-code", "s1"};
const Who kSecond{"codex", "s2"};

// One character is the content; '-' stands for nothing.
Version state(char content, Who writer = {}, Why why = Why::kBefore) {
  static std::int64_t time = 0;
  Version version;
  version.at_wall_ms = ++time;
  version.kind = content == '-' ? Kind::kGone : Kind::kFile;
  version.content = std::string(content == '-' ? 0 : 1, content);
  version.size = version.content.size();
  version.writer = std::move(writer);
  version.why = why;
  return version;
}

// "a: claude-code -> codex", "a: claude-code -> ? deleted"
std::vector<std::string> lost(const std::vector<Version>& versions, char now) {
  std::vector<std::string> words;
  for (const Loss& loss : losses_of(versions, state(now))) {
    const auto name = [](const Who& who) { return who.known() ? who.agent : "?"; };
    words.push_back(loss.version.content + ": " + name(loss.writer) + " -> " +
                    name(loss.changed_by) + (loss.deleted ? " deleted" : ""));
  }
  return words;
}

TEST(Losses, WhatIsOnDiskIsNotLost) {
  EXPECT_THAT(lost({state('-'), state('b', kFirst, Why::kAfter)}, 'b'), IsEmpty());
}

TEST(Losses, G2_AnAgentsWorkThatAnotherReplacedIsLost) {
  EXPECT_THAT(lost({state('b', kFirst, Why::kAfter), state('c', kSecond, Why::kAfter)}, 'c'),
              ElementsAre("b: claude-code -> codex"));
}

TEST(Losses, G2_AnAgentsWorkThatIsGoneIsLostWhoeverItWas) {
  EXPECT_THAT(lost({state('b', kFirst, Why::kAfter)}, '-'),
              ElementsAre("b: claude-code -> ? deleted"));
  EXPECT_THAT(lost({state('b', kFirst, Why::kAfter)}, 'x'), ElementsAre("b: claude-code -> ?"));
}

TEST(Losses, WhatItsWriterReplacedIsNotLost) {
  const Who part{"claude-code", "s1/x"};
  EXPECT_THAT(lost({state('b', kFirst, Why::kAfter), state('c', part, Why::kAfter)}, 'c'),
              IsEmpty());
}

TEST(Losses, WhatCameBackIsNotLost) {
  EXPECT_THAT(lost({state('b', kFirst, Why::kAfter), state('c', kSecond, Why::kAfter)}, 'b'),
              ElementsAre("c: codex -> ?"));
}

TEST(Losses, TheWriterIsKnownFromAnEarlierVersion) {
  EXPECT_THAT(lost({state('b', kFirst, Why::kAfter), state('b', {}, Why::kBefore),
                    state('c', kSecond, Why::kAfter)},
                   'c'),
              ElementsAre("b: claude-code -> codex"));
}

TEST(Losses, G2_WhoeverBringsAContentBackDidNotWriteIt) {
  EXPECT_THAT(lost({state('b', kFirst, Why::kAfter), state('c', kSecond, Why::kAfter),
                    state('b', kSecond, Why::kAfter), state('c', kSecond, Why::kAfter)},
                   'c'),
              ElementsAre("b: claude-code -> codex"));
}

TEST(Losses, WhatARestoreReplacedIsNotLost) {
  EXPECT_THAT(lost({state('b', kFirst, Why::kAfter), state('c', kSecond, Why::kAfter),
                    state('b', kFirst, Why::kRestore)},
                   'b'),
              IsEmpty());
}

TEST(Losses, G2_APersonsWorkThatAnAgentReplacedIsLost) {
  EXPECT_THAT(lost({state('p', {}, Why::kBefore), state('a', kFirst, Why::kAfter)}, 'a'),
              ElementsAre("p: ? -> claude-code"));
  EXPECT_THAT(lost({state('p', {}, Why::kFound), state('-', kFirst, Why::kAfter)}, '-'),
              ElementsAre("p: ? -> claude-code deleted"));
  Version empty = state('e', {}, Why::kBefore);
  empty.size = 0;
  EXPECT_THAT(lost({empty, state('a', kFirst, Why::kAfter)}, 'a'), IsEmpty());
}

TEST(Losses, WhatNobodyIsKnownToHaveWrittenIsLostOnlyIfItWasInDanger) {
  EXPECT_THAT(lost({state('a', {}, Why::kBefore)}, 'b'), IsEmpty());
  EXPECT_THAT(lost({state('a', {}, Why::kDestroyed)}, '-'), ElementsAre("a: ? -> ? deleted"));
  EXPECT_THAT(lost({state('a', {}, Why::kAttempt)}, 'b'), IsEmpty());
  EXPECT_THAT(lost({state('a', {}, Why::kAttempt)}, '-'), ElementsAre("a: ? -> ? deleted"));
}

}  // namespace
}  // namespace lockkeeper::snapshot
