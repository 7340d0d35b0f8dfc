#include "cli/verbs/log_view.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "cli/verbs/testing.h"

namespace lockkeeper::cli {
namespace {

core::Event sample_event(const std::string& what) {
  core::Event event;
  event.what = what;
  event.at_wall_ms = kTestNow;
  event.owner.agent = "backend";
  event.resources = {"src/a.py"};
  event.reason = std::string(200, 'r');
  return event;
}

std::string event_text(const Line& line) {
  std::string text;
  for (const Span& span : line) text += span.text;
  return text;
}

TEST(LogView, B13_local_time_with_its_date_at_a_terminal_and_utc_in_a_pipe) {
  ::setenv("TZ", "XYZ-5", 1);  // five hours east of Greenwich
  ::tzset();
  EXPECT_TRUE(event_text(event_line(sample_event("granted"), 80))
                  .starts_with("2026-01-17 20:30:00  granted     backend       src/a.py"));
  EXPECT_TRUE(event_text(event_line(sample_event("granted"), 0))
                  .starts_with("2026-01-17T15:30:00.000Z  granted     backend       src/a.py"));
  ::unsetenv("TZ");
  ::tzset();
}

TEST(LogView, TheCausesOfEditsAreInPlainWords) {
  core::Event event = sample_event("ended");
  event.reason.clear();
  event.cause = "yielded";
  event.by.agent = "codex";
  EXPECT_TRUE(event_text(event_line(event, 0)).ends_with("src/a.py (taken over) by codex"));
  event.by.agent.clear();
  event.cause = "turn_over";
  EXPECT_TRUE(event_text(event_line(event, 0)).ends_with("src/a.py (its turn has ended)"));
}

TEST(LogView, B13_a_line_fits_the_terminal_and_is_whole_in_a_pipe) {
  EXPECT_EQ(width(event_text(event_line(sample_event("granted"), 80))), 80U);
  EXPECT_NE(event_text(event_line(sample_event("granted"), 0)).find(std::string(200, 'r')),
            std::string::npos);
}

TEST(LogView, a_long_path_is_cut_in_the_middle_and_why_it_ended_is_seen) {
  core::Event event = sample_event("ended");
  event.resources = {"src/" + std::string(60, 'd') + "/page.tsx"};
  event.cause = "died";
  event.reason.clear();
  const std::string line = event_text(event_line(event, 80));
  EXPECT_EQ(width(line), 80U);
  EXPECT_NE(line.find("  src/d"), std::string::npos) << line;
  EXPECT_TRUE(line.ends_with("/page.tsx (died)")) << line;
}

TEST(LogView, columns_are_as_wide_as_the_longest_word_in_them) {
  LogColumns widths;
  core::Event other = sample_event("shown_again");
  other.owner.agent = "a-longer-name-1";
  widths.widen(sample_event("granted"));
  widths.widen(other);
  const std::string one = event_text(event_line(sample_event("granted"), 80, widths));
  const std::string two = event_text(event_line(other, 80, widths));
  EXPECT_EQ(one.find("src/a.py"), two.find("src/a.py")) << one << "\n" << two;
  other.owner.agent = std::string(60, 'n') + "-2";
  widths.widen(other);
  const std::string cut = event_text(event_line(other, 80, widths));
  EXPECT_NE(cut.find("nn-2  src/a.py"), std::string::npos) << cut;
  EXPECT_NE(event_text(event_line(other, 0, widths)).find(other.owner.agent), std::string::npos);
}

TEST(LogView, B13_events_have_colours) {
  EXPECT_EQ(event_line(sample_event("granted"), 80)[1].style, Style::kGreen);
  EXPECT_EQ(event_line(sample_event("expired"), 80)[1].style, Style::kRed);
  EXPECT_EQ(event_line(sample_event("broken"), 80)[1].style, Style::kRed);
  EXPECT_EQ(event_line(sample_event("queued"), 80)[1].style, Style::kYellow);
  EXPECT_EQ(event_line(sample_event("released"), 80)[1].style, Style::kPlain);
}

}  // namespace
}  // namespace lockkeeper::cli
