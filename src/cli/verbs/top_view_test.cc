#include "cli/verbs/top_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "cli/verbs/testing.h"

namespace lockkeeper::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class TopView : public testing::Test {
 protected:
  TopView() {
    ::setenv("TZ", "UTC", 1);
    facts_.realm = "app";
    facts_.viewer = {{"me", ""}, kTestNow};
    core::Lease backend = lease_of("backend", {"src/auth/", "src/api.py"});
    backend.terms.reason = "JWT";
    core::Condition alive;
    alive.alive = core::Alive::kAlive;
    facts_.reply.leases.push_back({backend, alive});
    core::Lease docs = lease_of("documentation", {"docs/"}, core::Mode::kShared);
    docs.expires_wall_ms = kTestNow + 60'000;
    facts_.reply.leases.push_back({docs, {}});
    core::Waiter waiter;
    waiter.request = lease_of("fe", {"src/auth/login.py"});
    waiter.blocker = backend.id;
    facts_.reply.waiters.push_back(waiter);
    core::Event event;
    event.what = "granted";
    event.at_wall_ms = kTestNow - 120'000;
    event.owner = backend.owner;
    event.resources = {"src/auth/"};
    facts_.events.push_back(event);
  }

  std::string screen(ScreenSize size = {80, 24}, const TopFoot& foot = {}) {
    return plain(top_screen(facts_, top_rows(facts_, choice_), choice_, foot, size));
  }
  void many_leases(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      core::Lease lease = lease_of("agent", {"many/" + std::to_string(1000 + i)});
      lease.id.bytes = std::string(12, '\2') + std::to_string(1000 + i);
      facts_.reply.leases.push_back({lease, {}});
    }
  }

  TopFacts facts_;
  TopChoice choice_;
};

TEST_F(TopView, TheWholeScreen) {
  choice_.chosen = facts_.reply.leases[0].lease.id;
  EXPECT_EQ(screen(),
            "app  2 leases of 2 agents, 1 request waits  by path                     15:30:00\n"
            "  RESOURCE      MODE       AGENT          SINCE  ENDS   ALIVE  WAITED FOR\n"
            "  docs/         shared     documentation  2m     in 1m  -\n"
            "> src/auth/ +1  exclusive  backend        2m     in 1h  yes    1\n"
            "\n\n\n\n\n\n\n\n"
            "  WAITING FOR        MODE       AGENT  SINCE\n"
            "  src/auth/login.py  exclusive  fe     2m     behind backend\n"
            "\n\n\n"
            "  EVENTS\n"
            "  2026-01-17 15:28:00  granted     backend       src/auth/\n"
            "\n\n\n"
            "  \"JWT\", fence 40, src/auth/, src/api.py\n"
            "↑↓ choose  / filter  s sort  b break  m message  ? keys  q quit\n");
}

TEST_F(TopView, EveryScreenHasItsSize) {
  many_leases(50);
  facts_.reply.leases[0].lease.owner.agent = std::string(100, 'n');
  facts_.reply.leases[1].lease.terms.reason = std::string(300, 'r');
  choice_.chosen = facts_.reply.leases[1].lease.id;
  for (const ScreenSize size : {ScreenSize{80, 24}, {40, 12}, {200, 60}, {20, 6}, {132, 43}}) {
    for (const bool help : {false, true}) {
      choice_.help = help;
      const auto lines = top_screen(
          facts_, top_rows(facts_, choice_), choice_,
          {TopPrompt{std::string(90, 'q'), std::string(90, 'l'), std::string(90, 'a')}, "", ""},
          size);
      EXPECT_LE(lines.size(), size.rows);
      for (const Line& line : lines) {
        std::size_t columns = 0;
        for (const Span& span : line) columns += width(span.text);
        EXPECT_LE(columns, size.columns) << plain({line});
      }
    }
  }
}

TEST_F(TopView, TheSmallestScreenShowsEveryKey) {
  many_leases(100);
  choice_.help = true;
  const std::string text = screen();
  for (const char* const key : {"↑ ↓ j k", "/  ", "s  ", "b  ", "m  ", "q  "}) {
    EXPECT_THAT(text, HasSubstr("\n  " + std::string(key))) << key;
  }
  EXPECT_THAT(text.substr(text.find("KEYS")), Not(HasSubstr("…")));
}

TEST_F(TopView, TheChosenLineIsInView) {
  many_leases(100);
  choice_.chosen = facts_.reply.leases.back().lease.id;  // the last but one by path
  EXPECT_THAT(screen(), HasSubstr("> many/1099"));
  EXPECT_THAT(screen(), HasSubstr("by path, 92–101 of 102"));
  choice_.chosen = facts_.reply.waiters[0].request.id;
  EXPECT_THAT(screen(), HasSubstr("> src/auth/login.py"));
}

TEST_F(TopView, AFilterAppliesToEverything) {
  choice_.filter = "JWT";
  EXPECT_THAT(screen(), HasSubstr("src/auth/ +1"));
  EXPECT_THAT(screen(), Not(HasSubstr("docs/")));
  choice_.filter = "login";
  EXPECT_THAT(screen(), Not(HasSubstr("src/auth/ +1")));
  EXPECT_THAT(screen(), HasSubstr("behind backend"));
  EXPECT_THAT(screen(), Not(HasSubstr("granted")));
  choice_.filter = "BACKEND";
  EXPECT_THAT(screen(), HasSubstr("granted"));
  choice_.filter = "no such thing";
  EXPECT_THAT(screen(), HasSubstr("nothing matches"));
}

TEST_F(TopView, AFileIsFoundByTheFolderThatCoversIt) {
  choice_.filter = "src/auth/token.py";
  EXPECT_THAT(screen(), HasSubstr("src/auth/ +1"));
  EXPECT_THAT(screen(), Not(HasSubstr("docs/")));
  choice_.filter = "docs/guide.md";
  EXPECT_THAT(screen(), HasSubstr("docs/"));
  EXPECT_THAT(screen(), Not(HasSubstr("src/auth/")));
}

TEST_F(TopView, Sorts) {
  const auto first = [&](TopSort sort) {
    choice_.sort = sort;
    return top_rows(facts_, choice_).front().name;
  };
  EXPECT_EQ(first(TopSort::kPath), "docs/");
  EXPECT_EQ(first(TopSort::kAgent), "src/auth/ +1");
  EXPECT_EQ(first(TopSort::kEnds), "docs/");
  EXPECT_EQ(first(TopSort::kWaiting), "src/auth/ +1");
}

TEST_F(TopView, AnEmptyRealmSaysHowToBegin) {
  facts_.reply = {};
  facts_.events.clear();
  EXPECT_THAT(screen(), HasSubstr("nothing is held, nobody waits"));
  EXPECT_THAT(screen(), HasSubstr("take something with: lockkeeper acquire"));
}

TEST_F(TopView, WhatAgentsWriteMovesNoCursor) {
  facts_.reply.leases[0].lease.terms.reason = "\x1b[2Jgone\n";
  facts_.reply.leases[0].lease.owner.agent = "a\x1b]0;title\a";
  choice_.chosen = facts_.reply.leases[0].lease.id;
  EXPECT_THAT(screen(), Not(HasSubstr("\x1b")));
}

TEST_F(TopView, OnceHasEverythingAndCutsNothing) {
  many_leases(100);
  const std::string text = plain(top_once(facts_, choice_, 0));
  EXPECT_THAT(text, HasSubstr("app  102 leases of 3 agents, 1 request waits\n"));
  EXPECT_THAT(text, HasSubstr("\nmany/1099"));
  EXPECT_THAT(text, HasSubstr("WAITING FOR"));
  EXPECT_THAT(text, HasSubstr("2026-01-17T15:28:00.000Z  granted"));
}

}  // namespace
}  // namespace lockkeeper::cli
