#include "enforce/patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace lockkeeper::enforce {
namespace {

using testing::ElementsAre;
using Kind = PatchedFile::Kind;

std::vector<PatchedFile> files(std::string_view patch) {
  const auto read = read_patch(patch);
  EXPECT_TRUE(read.has_value()) << read.error().message;
  return read ? *read : std::vector<PatchedFile>{};
}

std::string patch_refusal(std::string_view patch) {
  const auto read = read_patch(patch);
  EXPECT_FALSE(read.has_value()) << patch;
  if (read) return "";
  EXPECT_EQ(read.error().code, Code::kInvalidInput);
  EXPECT_FALSE(hidden_in(read.error().message)) << read.error().message;
  return read.error().message;
}

std::string between(std::string_view body) {
  return "*** Begin Patch\n" + std::string(body) + "*** End Patch\n";
}

TEST(Patch, SeveralFilesAreReadInTheirOrder) {
  EXPECT_THAT(files(between("*** Update File: src/a.c\n*** Move to: src/b.c\n@@ int f()\n-x\n+y\n"
                            "*** Add File: notes.txt\n+text\n+*** Delete File: not.this\n"
                            "*** Delete File: old name.txt\n"
                            "*** Update File: /abs/c.c\n x\n-y\n*** End of File\n")),
              ElementsAre(PatchedFile{Kind::kUpdate, "src/a.c", "src/b.c"},
                          PatchedFile{Kind::kAdd, "notes.txt", ""},
                          PatchedFile{Kind::kDelete, "old name.txt", ""},
                          PatchedFile{Kind::kUpdate, "/abs/c.c", ""}));
}

TEST(Patch, ContentThatLooksLikeAHeaderIsContent) {
  EXPECT_THAT(files(between("*** Update File: a\n@@\n *** Delete File: b\n-*** Add File: c\n"
                            "+*** Move to: d\n")),
              ElementsAre(PatchedFile{Kind::kUpdate, "a", ""}));
}

// Behind an added file Codex takes an indented header for one.
TEST(Patch, AnIndentedHeaderOutsideOfAnUpdateCounts) {
  EXPECT_THAT(files(between("*** Add File: a\n+x\n  *** Delete File: b\n")),
              ElementsAre(PatchedFile{Kind::kAdd, "a", ""}, PatchedFile{Kind::kDelete, "b", ""}));
}

TEST(Patch, LineEndsBlanksAndAMissingEndAreForgiven) {
  const std::vector<PatchedFile> wanted = {{Kind::kUpdate, "a b.c", ""}};
  EXPECT_EQ(files("*** Begin Patch\r\n*** Update File: a b.c\r\n@@\r\n-x\r\n+y\r\n*** End Patch"),
            wanted);
  EXPECT_EQ(files("\n\n *** Begin Patch \n*** Update File: a b.c\n\n@@\n+y\n"), wanted);
  EXPECT_EQ(files("*** Begin Patch\n*** Environment ID: main\n*** Update File: a b.c\n+y"), wanted);
  EXPECT_EQ(files("<<'EOF'\n*** Begin Patch\n*** Update File: a b.c\n+y\n*** End Patch\nEOF\n"),
            wanted);
  EXPECT_EQ(files("cat <<\"X\"\n*** Begin Patch\n*** Update File:a b.c\n+y\n*** End Patch\nX"),
            wanted);
}

// Clients trim such a space away, and change the file that is locked.
TEST(Patch, AUnicodeSpaceBehindAPathIsNotPartOfIt) {
  for (const char* space : {" ", "\t", "\u00a0", "\u2003", "\u3000", "\ufeff", "\u2028"}) {
    EXPECT_THAT(files(between("*** Delete File: a.c" + std::string(space) + "\n")),
                ElementsAre(PatchedFile{Kind::kDelete, "a.c", ""}));
  }
}

TEST(Patch, APathThatMeansTwoFilesIsRefused) {
  EXPECT_NE(patch_refusal(between("*** Delete File:  a.c\n")).find("space"), std::string::npos);
  EXPECT_NE(
      patch_refusal(between("*** Update File: a.c\n*** Move to: b.c \n@@\n+x\n")).find("space"),
      std::string::npos);
  EXPECT_NE(patch_refusal(between(std::string("*** Delete File: a\0b\n", 22))).find("NUL"),
            std::string::npos);
}

TEST(Patch, WhatIsMalformedIsRefusedWithItsLine) {
  patch_refusal("");
  patch_refusal("\n\n");
  patch_refusal("*** Begin Patch\n*** End Patch\n");
  patch_refusal("*** Update File: a\n+x\n");
  patch_refusal("rm -rf /\n*** Begin Patch\n*** Delete File: a\n*** End Patch");
  patch_refusal(between("*** Delete File:\n"));
  patch_refusal(between("*** Delete File: \n"));
  patch_refusal(between("*** Move to: b\n"));
  patch_refusal(between("*** Add File: a\n*** Move to: b\n"));
  patch_refusal(between("*** Update File: a\n@@\n*** Move to: b\n"));
  patch_refusal(between("*** Delete File: a\n+x\n"));
  patch_refusal(between("*** Add File: a\nx\n"));
  patch_refusal(between("*** Begin Patch\n*** Delete File: a\n"));
  patch_refusal(between("*** Delete File: a\n*** Environment ID: x\n"));
  patch_refusal(between("*** Delete File: a\n") + "*** Delete File: b\n");
  patch_refusal(between("*** Delete File: a\n") + between("*** Delete File: b\n"));
  EXPECT_NE(patch_refusal(between("*** Update File: a\n@@\n+x\nlost\n")).find("line 5, \"lost\""),
            std::string::npos);
}

TEST(Patch, TooManyFilesAreRefused) {
  std::string many;
  for (int i = 0; i <= 10'000; ++i) many += "*** Delete File: a\n";
  const auto read = read_patch(between(many));
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, Code::kLimitExceeded);
}

TEST(Patch, OnlyAHeredocOfApplyPatchIsOneInACommand) {
  const std::string body = between("*** Delete File: a\n");
  EXPECT_EQ(patch_in_command("apply_patch <<'EOF'\n" + body + "EOF\n"), body);
  EXPECT_EQ(patch_in_command("applypatch << \"PATCH\"\n" + body + "PATCH"), body);
  EXPECT_EQ(patch_in_command("apply_patch <<EOF\n" + body + "EOF"), body);
  for (const std::string& other :
       {std::string("ls"), std::string(), "apply_patch <<'EOF'\n" + body,
        "cd x && apply_patch <<'EOF'\n" + body + "EOF",
        "apply_patch <<'EOF'\n" + body + "EOF\nrm x",
        "apply_patch <<'EOF' && rm x\n" + body + "EOF", "cat <<'EOF'\n" + body + "EOF",
        "apply_patch <<'EOF\n" + body + "EOF"}) {
    EXPECT_FALSE(patch_in_command(other).has_value()) << other;
  }
}

}  // namespace
}  // namespace lockkeeper::enforce
