// Output is kept up to the limit and counted beyond it; the command is never held up.
#include "crew/log_pump.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "base/test_folder.h"

namespace lockkeeper::crew {
namespace {

class LogPumpTest : public testing::Test {
 protected:
  LogPumpTest() : folder_(*open_run_files(temporary_.path())) {}
  static void print(const LogPump& pump, const std::string& text) {
    ASSERT_EQ(::write(pump.writer(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::string kept() const { return folder_.read("log", 1 << 20)->value_or("none"); }

  TestFolder temporary_;
  Folder folder_;
};

TEST_F(LogPumpTest, KeepsWhatIsPrintedUntilNobodyCan) {
  LogPump pump = *LogPump::open(folder_, 100);
  EXPECT_TRUE(pump.pump()) << "nothing yet";
  print(pump, "one\n");
  EXPECT_TRUE(pump.pump());
  print(pump, "two");
  pump.close_writer();
  EXPECT_FALSE(pump.pump());
  EXPECT_EQ(kept(), "one\ntwo");
  EXPECT_EQ(pump.bytes(), 7U);
  EXPECT_FALSE(pump.cut());
}

TEST_F(LogPumpTest, C7_TheTailIsTheLastWholeLines) {
  const auto tail = [&](const std::string& text, std::size_t lines) {
    EXPECT_TRUE(folder_.write("log", text));
    return log_tail(folder_, lines);
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(log_tail(folder_, 3), Lines());
  EXPECT_EQ(tail("", 3), Lines());
  EXPECT_EQ(tail("\n\n", 3), Lines());
  EXPECT_EQ(tail("one", 3), Lines{"one"});
  EXPECT_EQ(tail("one\ntwo\n\nfour\r\n", 3), (Lines{"two", "", "four"}));
  EXPECT_EQ(tail("10%\r50%\r90%\r\nend\n", 3), (Lines{"90%", "end"}));
  EXPECT_EQ(tail(std::string(100'000, 'x') + "\nlast\n", 3), Lines{"last"});
  EXPECT_EQ(tail(std::string(100'000, 'x'), 3).size(), 1U);
  EXPECT_EQ(tail("one\ntwo\n", 1), Lines{"two"});
}

TEST_F(LogPumpTest, TheLimitIsExactAndTheRestIsCounted) {
  LogPump pump = *LogPump::open(folder_, 5);
  print(pump, "12345");
  pump.drain();
  EXPECT_FALSE(pump.cut()) << "just full";
  print(pump, "6");
  pump.drain();
  print(pump, "789");
  pump.drain();
  EXPECT_EQ(kept(), "12345");
  EXPECT_EQ(pump.bytes(), 9U);
  EXPECT_TRUE(pump.cut());
}

TEST_F(LogPumpTest, NothingIsKeptWhereNothingMayBe) {
  LogPump pump = *LogPump::open(folder_, 0);
  print(pump, "x");
  pump.drain();
  EXPECT_EQ(kept(), "");
  EXPECT_TRUE(pump.cut());
}

TEST_F(LogPumpTest, ALinkInItsPlaceIsRefused) {
  ASSERT_EQ(::symlink("/dev/null", temporary_.file("log").c_str()), 0);
  EXPECT_FALSE(LogPump::open(folder_, 5));
}

}  // namespace
}  // namespace lockkeeper::crew
