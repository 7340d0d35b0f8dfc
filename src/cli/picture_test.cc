#include "cli/picture.h"

#include <gtest/gtest.h>

#include "base/captured_stream.h"

namespace lockkeeper::cli {
namespace {

class PictureTest : public testing::Test {
 protected:
  Output output() const {
    OutputOptions options;
    options.out = stream_.get();
    options.err = stderr;
    return Output(options);
  }
  // What was written since the last call.
  std::string written() {
    const std::string all = stream_.text();
    std::string some = all.substr(seen_);
    seen_ = all.size();
    return some;
  }

  const CapturedStream stream_;
  std::size_t seen_ = 0;
};

TEST_F(PictureTest, OnlyLinesThatHaveChangedAreWritten) {
  Output out = output();
  Picture picture(out, Picture::Where::kWhole);
  picture.draw({{{"one"}}, {{"two"}}, {{"three"}}});
  EXPECT_EQ(written(), "\x1b[2J\x1b[1;1Hone\x1b[K\x1b[2;1Htwo\x1b[K\x1b[3;1Hthree\x1b[K");
  picture.draw({{{"one"}}, {{"2"}}, {{"three"}}});
  EXPECT_EQ(written(), "\x1b[2;1H2\x1b[K");
  picture.draw({{{"one"}}, {{"2"}}, {{"three"}}});
  EXPECT_EQ(written(), "");
  picture.draw({{{"one"}}});
  EXPECT_EQ(written(), "\x1b[2;1H\x1b[J");
}

TEST_F(PictureTest, ADisturbedScreenIsWrittenWhole) {
  Output out = output();
  Picture picture(out, Picture::Where::kWhole);
  picture.draw({{{"one"}}});
  written();
  picture.disturbed();
  picture.draw({{{"one"}}});
  EXPECT_EQ(written(), "\x1b[2J\x1b[1;1Hone\x1b[K");
}

TEST_F(PictureTest, BelowOtherOutputItMovesUpAndStaysThere) {
  Output out = output();
  Picture picture(out, Picture::Where::kBelow);
  picture.draw({{{"one"}}, {{"two"}}});
  EXPECT_EQ(written(), "one\x1b[K\ntwo\x1b[K\n");
  picture.draw({{{"one"}}, {{"2"}}});
  EXPECT_EQ(written(), "\x1b[2A\r\n2\x1b[K\n");
  picture.disturbed(1);  // somebody pressed Enter
  picture.draw({{{"one"}}, {{"2"}}});
  EXPECT_EQ(written(), "\x1b[3A\rone\x1b[K\n2\x1b[K\n\x1b[J");
  picture.clear();
  EXPECT_EQ(written(), "\x1b[2A\r\x1b[J");
  picture.clear();
  EXPECT_EQ(written(), "");
}

}  // namespace
}  // namespace lockkeeper::cli
