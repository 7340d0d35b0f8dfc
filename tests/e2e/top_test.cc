// `top` at a real terminal: in tmux, which says what is on the screen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;
using testing::Not;

class Top : public testing::Test {
 protected:
  Top() {
    stage_.env["TERM"] = "screen";
    stage_.env["TZ"] = "UTC";
    stage_.as("backend", {"acquire", "src/auth/", "--reason", "JWT refresh"});
    stage_.as("codex", {"acquire", "docs/", "a.txt", "--mode", "shared"});
  }
  ~Top() override { tmux({"kill-server"}); }

  Answer tmux(const Words& words) {
    Words argv = {"tmux", "-S", stage_.path("tmux"), "-f", "/dev/null"};
    argv.insert(argv.end(), words.begin(), words.end());
    return stage_.finish(stage_.command(argv));
  }
  // `top` in a screen of that size; once it is left, the screen says so.
  void start(int columns, int rows, const std::string& words = "") {
    const Answer answer =
        tmux({"new-session", "-d", "-x", std::to_string(columns), "-y", std::to_string(rows),
              "LOCKKEEPER_AGENT=ana " + std::string(Stage::program()) + " top " + words +
                  "; echo left with $?; stty -a | grep -o ' icanon'; sleep 1000"});
    ASSERT_EQ(answer.status, 0) << answer.all();
  }
  void press(const Words& keys) {
    Words words = {"send-keys"};
    words.insert(words.end(), keys.begin(), keys.end());
    tmux(words);
  }
  std::string screen() { return tmux({"capture-pane", "-p"}).out; }
  // What the screen shows once it shows this.
  std::string shows(const std::string& text) {
    std::string now;
    EXPECT_TRUE(eventually([&] {
      now = screen();
      return now.find(text) != std::string::npos;
    })) << text
        << " is not on the screen:\n"
        << now;
    return now;
  }
  std::size_t lines_in(const std::string& text) const {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  Stage stage_;
};

TEST_F(Top, ShowsLeasesQueueAndEventsLive) {
  start(80, 24);
  const std::string first = shows("q quit");
  EXPECT_THAT(first, HasSubstr("2 leases of 2 agents, nobody waits"));
  EXPECT_THAT(first, HasSubstr("a.txt +1   shared"));
  EXPECT_THAT(first, HasSubstr("JWT refresh"));
  EXPECT_EQ(lines_in(first), 24U);
  auto waiter = stage_.start("frontend", {"acquire", "src/auth/login.py", "--wait=10m"});
  shows("behind backend");
  stage_.as("backend", {"release", "--all"});
  const std::string after = shows("nobody waits\n");
  EXPECT_THAT(after, HasSubstr("src/auth/login.py (handoff)"));
  EXPECT_EQ(waiter.wait(), 0);
}

TEST_F(Top, BreaksWhatWasChosenAndTheQueueGoesOn) {
  auto waiter = stage_.start("frontend", {"acquire", "src/auth/login.py", "--wait=10m"});
  ASSERT_TRUE(stage_.queue_grows_to(1));
  start(80, 24);
  shows("behind backend");
  press({"b"});
  shows("choose a line first");
  press({"Down", "Down"});
  shows("> src/auth/");
  press({"b"});
  shows("Break src/auth/ of backend?");
  press({"Enter"});  // is not a yes
  shows("q quit");
  EXPECT_EQ(stage_.list()["leases"].size(), 2U);
  press({"b"});
  shows("y breaks it");
  press({"y"});
  shows("Reason (optional");
  press({"it hangs", "Enter"});
  shows("broke src/auth/, held by backend");
  EXPECT_EQ(waiter.wait(), 0);
  const std::string log = stage_.as("", {"log", "--json"}).out;
  EXPECT_THAT(log, HasSubstr("\"event\":\"broken\""));
  EXPECT_THAT(log, HasSubstr("\"reason\":\"it hangs\""));
  EXPECT_THAT(log, HasSubstr("\"by\":{\"agent\":\"ana\""));
}

TEST_F(Top, SendsAMessage) {
  start(80, 24);
  shows("q quit");
  press({"Down"});
  shows("> a.txt");
  press({"m"});
  shows("Message to codex:");
  press({"grüße, b", "Enter"});
  shows("sent to codex");
  EXPECT_THAT(stage_.as("codex", {"message", "list"}).out, HasSubstr("grüße, b"));
}

TEST_F(Top, FiltersSortsAndExplainsItsKeys) {
  start(80, 24);
  shows("q quit");
  press({"/"});
  shows("Show only what contains:");
  press({"jwt"});
  EXPECT_THAT(shows("only \"jwt\""), Not(HasSubstr("a.txt")));
  press({"Escape"});
  shows("a.txt +1");
  press({"s"});
  shows("by agent");
  press({"?"});
  shows("KEYS");
}

TEST_F(Top, FollowsTheSizeOfTheTerminal) {
  start(80, 24);
  shows("q quit");
  tmux({"resize-window", "-x", "132", "-y", "40"});
  EXPECT_TRUE(eventually([&] {
    const std::string now = screen();
    return lines_in(now) == 40 && now.find("q quit") > now.find("EVENTS") &&
           now.rfind("q quit") != std::string::npos && now.ends_with("q quit\n");
  })) << screen();
  tmux({"resize-window", "-x", "60", "-y", "12"});
  EXPECT_TRUE(eventually([&] { return screen().find("↑↓ choose") != std::string::npos; }));
  EXPECT_THAT(screen(), HasSubstr("EVENTS"));
}

TEST_F(Top, GivesTheTerminalBack) {
  start(80, 24);
  shows("q quit");
  press({"q"});
  EXPECT_THAT(shows("left with 0\n icanon"), Not(HasSubstr("EVENTS")));
}

TEST_F(Top, GivesTheTerminalBackAtCtrlC) {
  start(80, 24);
  shows("q quit");
  press({"C-c"});
  EXPECT_THAT(shows("left with 130\n icanon"), Not(HasSubstr("EVENTS")));
}

TEST_F(Top, OnceAndInAPipeItIsPrinted) {
  for (const Words& words : {Words{"top", "--once"}, Words{"top"}}) {
    const Answer answer = stage_.as("ana", words);
    EXPECT_EQ(answer.status, 0);
    EXPECT_THAT(answer.out, HasSubstr("2 leases of 2 agents, nobody waits\n"));
    EXPECT_THAT(answer.out, Not(HasSubstr("\x1b")));
  }
  const Json json = stage_.expect(0, "ana", {"top", "--once"}).json();
  EXPECT_EQ(json["leases"].size(), 2U);
  EXPECT_EQ(json["events"].size(), 2U);
}

TEST_F(Top, WhatAgentsWriteReachesTheTerminalAsText) {
  stage_.as("evil\x1b[2J", {"acquire", "z.txt", "--reason", "\x1b[31mred\x1b]0;title\a"});
  stage_.as("evil", {"acquire", "z.txt", "--reason", "\x1b[31mred\x1b]0;title\a"});
  start(80, 24);
  EXPECT_THAT(shows("z.txt"), HasSubstr("\\x1b[31mred"));
}

}  // namespace
}  // namespace lockkeeper::stage
