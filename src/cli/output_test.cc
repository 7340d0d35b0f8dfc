#include "cli/output.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/captured_stream.h"
#include "base/test_clock.h"
#include "cli/progress.h"
#include "cli/testing.h"

namespace lockkeeper::cli {
namespace {

struct Screen {
  CapturedStream out, err;
  Output output(bool json = false, bool quiet = false, bool terminal = false) {
    OutputOptions options;
    options.out = out.get();
    options.err = err.get();
    options.out_is_terminal = options.err_is_terminal = options.color = terminal;
    options.columns = 40;
    options.json = json;
    options.quiet = quiet;
    return Output(options);
  }
};

TEST(Output, control_characters_and_bad_bytes_never_reach_a_terminal) {
  EXPECT_EQ(printable("a\x1b[2Jb\x7f\r\n\t"), R"(a\x1b[2Jb\x7f\x0d\x0a\x09)");
  EXPECT_EQ(printable("one\ntwo", true), "one\ntwo");
  EXPECT_EQ(printable("\xff\xc3x"), R"(\xff\xc3x)");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            R"(\xc2\x9b31m)");
  EXPECT_EQ(printable("naïve ├─ 日本"), "naïve ├─ 日本");
}

TEST(Output, width_and_cut_count_characters) {
  EXPECT_EQ(width("├── a"), 5U);
  EXPECT_EQ(cut("abcdef", 6), "abcdef");
  EXPECT_EQ(cut("abcdef", 4), "abc…");
  EXPECT_EQ(cut("äöü", 2), "ä…");
  EXPECT_EQ(cut("abc", 0), "");
}

TEST(Output, wide_characters_take_two_columns_and_accents_none) {
  EXPECT_EQ(width("日本"), 4U);
  EXPECT_EQ(width("e\u0301🚀"), 3U);
  EXPECT_EQ(width("\xff\xfe"), 2U);
  EXPECT_EQ(cut("日本語", 5), "日本…");
  EXPECT_EQ(cut("日本語", 4), "日…");
  EXPECT_EQ(cut("a日本", 3), "a…");
}

TEST(Output, wrap_breaks_between_words_and_loses_none) {
  EXPECT_EQ(wrap("one two three four", 9), "one two\n  three\n  four");
  EXPECT_EQ(wrap("one two", 0), "one two");
  EXPECT_EQ(wrap("averyverylongword x", 6), "averyverylongword\n  x");
}

TEST(Output, wrap_keeps_lines_and_what_they_are_indented_by) {
  EXPECT_EQ(wrap("one two three\nfour\n  five six", 8), "one two\n  three\nfour\n  five\n    six");
}

TEST(Output, a_command_is_never_broken_and_stands_alone_if_it_does_not_fit) {
  EXPECT_EQ(wrap("to get it: lockkeeper list; or wait", 30),
            "to get it: lockkeeper list; or\n  wait");
  EXPECT_EQ(
      wrap("do not change it; to get it: lockkeeper acquire src/a.py --wait=10m; or wait", 40),
      "do not change it; to get it:\n"
      "  lockkeeper acquire src/a.py --wait=10m\n"
      "  or wait");
  EXPECT_EQ(wrap("ask again: lockkeeper acquire 'a; b' c", 20),
            "ask again:\n  lockkeeper acquire 'a; b' c");
  EXPECT_EQ(wrap("it is damaged, so run 'lockkeeper doctor' now", 30),
            "it is damaged, so run\n  'lockkeeper doctor' now");
}

TEST(Output, cut_middle_keeps_both_ends) {
  EXPECT_EQ(cut_middle("src/a.py", 8), "src/a.py");
  EXPECT_EQ(cut_middle("src/some/folder/name.ts", 16), "src/s…er/name.ts");
  EXPECT_EQ(cut_middle("日本語日本語", 8), "日…本語");
  EXPECT_EQ(cut_middle("abc", 1), "…");
  EXPECT_EQ(cut_middle("abc", 0), "");
}

TEST(Output, hints_and_sentences_are_wrapped_at_a_terminal_and_not_in_a_pipe) {
  const Error error{Code::kHeld, "src/a.py is held by ann, exclusive, ends in 1h",
                    "work on something else, or wait for it: lockkeeper acquire src/a.py"};
  Screen screen, pipe;
  Output at_terminal = screen.output(false, false, true);
  at_terminal.failed(error);
  at_terminal.prose("granted src/a.py to ann, ends in 1h, after 5s\nlease 1");
  EXPECT_EQ(screen.err.text(),
            "lockkeeper: src/a.py is held by ann,\n"
            "  exclusive, ends in 1h\n"
            "  hint: work on something else, or wait\n"
            "    for it: lockkeeper acquire src/a.py\n");
  EXPECT_EQ(screen.out.text(), "granted src/a.py to ann, ends in 1h,\n  after 5s\nlease 1\n");
  Output in_pipe = pipe.output();
  in_pipe.failed(error);
  EXPECT_EQ(pipe.err.text(), "lockkeeper: " + error.message + "\n  hint: " + error.hint + "\n");
}

TEST(Output, a_hint_that_the_message_has_said_is_not_repeated) {
  Screen screen;
  screen.output().failed({Code::kInvalidResource, "'a ': no blank; write 'a'", "use 'a'"});
  EXPECT_EQ(screen.err.text(), "lockkeeper: 'a ': no blank; write 'a'\n");
}

TEST(Output, fit_cuts_a_line_of_spans) {
  const auto text = [](const Line& line) {
    std::string all;
    for (const Span& span : line) all += span.text;
    return all;
  };
  EXPECT_EQ(text(fit({{"abc"}, {"def"}}, 6)), "abcdef");
  EXPECT_EQ(text(fit({{"abc"}, {"defg"}}, 6)), "abcde…");
  EXPECT_EQ(text(fit({{"abc"}, {"d"}}, 3)), "ab…");
  EXPECT_EQ(text(fit({{"abc"}, {"d"}}, 0)), "abcd");
  EXPECT_EQ(text(fit({{"日本"}, {"de"}}, 4)), "日…") << "nothing follows a cut";
}

TEST(Output, text_of_others_is_escaped_in_every_way_out) {
  Screen screen;
  Output output = screen.output(false, false, true);
  output.text("x\x1b[2J");
  output.line({{"y\x1b[2J", Style::kRed}});
  output.note("z\x1b[2J");
  output.warning("w\x1b[2J");
  output.failed({Code::kHeld, "m\x1b[2J", "h\x1b[2J"});
  EXPECT_EQ((screen.out.text() + screen.err.text()).find("\x1b[2J"), std::string::npos);
  EXPECT_NE(screen.out.text().find("\x1b[31my"), std::string::npos) << "our own colour stays";
}

TEST(Output, json_never_throws_and_escapes_every_control_character) {
  Screen screen;
  Output output = screen.output(true);
  output.failed({Code::kFailed, "\xff\x1b\x7f\xc2\x9b", "h"});
  const std::string text = screen.out.text();
  EXPECT_NE(text.find(R"(\u001b\u007f\u009b)"), std::string::npos) << text;
  EXPECT_TRUE(nlohmann::json::accept(text)) << text;
  EXPECT_EQ(screen.err.text(), "");
}

TEST(Output, the_exit_status_is_that_of_the_code_and_quiet_hides_what_was_expected) {
  Screen screen;
  Output quiet = screen.output(false, true);
  EXPECT_EQ(quiet.failed({Code::kHeld, "m", "h"}), 75);
  EXPECT_EQ(quiet.failed({Code::kTimeout, "m", "h"}), 124);
  EXPECT_EQ(screen.err.text(), "");
  EXPECT_EQ(quiet.failed({Code::kStoreCorrupt, "bad", "h"}), 69);
  EXPECT_EQ(screen.err.text(), "lockkeeper: bad\n");
}

core::Conflict conflict_with(const core::Lease& holder) {
  core::Conflict conflict;
  conflict.requested = holder.claims.front();
  conflict.held = holder.claims.front();
  conflict.holder = holder;
  return conflict;
}

TEST(Progress, at_a_terminal_one_line_is_redrawn_and_cleared) {
  Screen screen;
  const Output output = screen.output(false, false, true);
  const TestClock clock({0, kTestNow});
  const std::vector<core::Conflict> conflicts = {conflict_with(lease_of("frontend", {"src/a.py"}))};
  {
    Progress progress(output, clock);
    progress.show({conflicts, 2, 0});
    progress.show({conflicts, 2, 500});
    progress.show({conflicts, 1, 12'000});
  }
  EXPECT_EQ(screen.err.text(),
            "\r\x1b[Kwaiting for src/a.py: held by frontend…"
            "\r\x1b[Kwaiting 12s for src/a.py: held by fron…"
            "\r\x1b[K");
}

TEST(Progress, in_a_pipe_one_plain_line_and_nothing_with_quiet_or_json) {
  const TestClock clock({0, kTestNow});
  const std::vector<core::Conflict> conflicts = {conflict_with(lease_of("frontend", {"src/a.py"}))};
  for (const bool json : {false, true}) {
    for (const bool quiet : {false, true}) {
      Screen screen;
      const Output output = screen.output(json, quiet);
      {
        Progress progress(output, clock);
        progress.show({conflicts, 2, 0});
        progress.show({conflicts, 1, 60'000});
      }
      const std::string line =
          "lockkeeper: waiting for src/a.py: held by frontend, ends in 1h, position 2\n";
      EXPECT_EQ(screen.err.text(), json || quiet ? "" : line);
    }
  }
}

}  // namespace
}  // namespace lockkeeper::cli
