#include "cli/verbs/list_view.h"

#include <gtest/gtest.h>

#include "cli/verbs/testing.h"
#include "core/sessions.h"

namespace lockkeeper::cli {
namespace {

Viewer viewer(const std::string& agent = "nobody") {
  return {{agent, ""}, kTestNow};
}

service::ListReply sample() {
  service::ListReply reply;
  core::Lease backend = lease_of("backend", {"src/a.py", "src/auth/"});
  backend.terms.reason = "JWT";
  core::Condition alive;
  alive.alive = core::Alive::kAlive;
  reply.leases.push_back({backend, alive});
  core::Lease docs =
      lease_of("documentation", {"docs/**/*.md", "api:GET /v1/users"}, core::Mode::kShared);
  docs.owner.session = "s1";
  docs.expires_wall_ms = kNoEnd;
  reply.leases.push_back({docs, {}});
  core::Waiter waiter;
  waiter.request = lease_of("fe", {"src/"});
  waiter.blocker = backend.id;
  reply.waiters.push_back(waiter);
  return reply;
}

TEST(ListView, at_a_terminal_every_line_fits) {
  service::ListReply reply = sample();
  reply.leases[0].lease.owner.agent = std::string(100, 'n');
  reply.leases[0].lease.terms.reason = std::string(300, 'r');
  reply.leases[1].lease.claims[0].resource = resource("docs/" + std::string(200, 'x') + "/*.md");
  for (const Line& line : list_lines(reply, viewer(), 80)) {
    std::size_t columns = 0;
    for (const Span& span : line) columns += width(span.text);
    EXPECT_LE(columns, 80U);
  }
}

TEST(ListView, terminal_shows_all_that_matters) {
  EXPECT_EQ(plain(list_lines(sample(), viewer(), 80)),
            "RESOURCE             MODE       AGENT          SINCE  ENDS   ALIVE\n"
            "docs/**/*.md         shared     documentation  2m     never  -\n"
            "  lease 01010d, session s1, fence 40\n"
            "src/a.py             exclusive  backend        2m     in 1h  yes\n"
            "src/auth/            exclusive  backend        2m     in 1h  yes\n"
            "  lease 010107, \"JWT\", fence 40\n"
            "\"api:GET /v1/users\"  shared     documentation  2m     never  -\n"
            "  lease 01010d, session s1, fence 40\n"
            "\n"
            "WAITING FOR  MODE       AGENT  SINCE  BEHIND\n"
            "src/         exclusive  fe     2m     backend\n");
}

TEST(ListView, TheRestOfALeaseIsNotRoundedToHalfOfIt) {
  constexpr std::int64_t kSecond = 1000, kMinute = 60 * kSecond, kHour = 60 * kMinute;
  const std::pair<std::int64_t, const char*> cases[] = {
      {2 * kHour - 1, "in 2h"},     {2 * kHour - kMinute, "in 1h 59m"},
      {72 * kHour - 1, "in 3d"},    {71 * kHour, "in 2d 23h"},
      {5 * kMinute - 1, "in 5m"},   {60 * kSecond - 1, "in 1m"},
      {20 * kSecond - 1, "in 20s"}, {-1, "in 0s"},
  };
  for (const auto& [left, text] : cases) {
    service::ListReply reply = sample();
    reply.leases.resize(1);
    reply.leases[0].lease.expires_wall_ms = kTestNow + left;
    EXPECT_NE(plain(list_lines(reply, viewer(), 80)).find("  " + std::string(text) + "  "),
              std::string::npos)
        << text << "\n"
        << plain(list_lines(reply, viewer(), 80));
  }
}

TEST(ListView, AnEditEndsWithItsTurnOrGivesWay) {
  service::ListReply reply = sample();
  reply.waiters.clear();
  reply.leases.resize(1);
  reply.leases[0].lease.edit = core::Edit{};
  EXPECT_NE(plain(list_lines(reply, viewer(), 80)).find("  with turn  "), std::string::npos);
  EXPECT_NE(plain(tree_lines(reply, viewer())).find(", ends with its turn"), std::string::npos);
  reply.leases[0].condition.yields = true;
  EXPECT_NE(plain(list_lines(reply, viewer(), 80)).find("  on request  "), std::string::npos);
  EXPECT_NE(plain(tree_lines(reply, viewer())).find(", gives way to whoever asks"),
            std::string::npos);
}

TEST(ListView, TheTreeTellsTwoSessionsOfOneAgentApart) {
  service::ListReply reply = sample();
  EXPECT_EQ(plain(tree_lines(reply, viewer())).find("session"), std::string::npos);
  core::Lease other = lease_of("documentation", {"docs/b"});
  other.owner.session = "0b5c8a52-8c15-4dc9-a9d5-9a4f5f8b6b52";
  reply.leases.push_back({other, {}});
  const std::string text = plain(tree_lines(reply, viewer()));
  EXPECT_NE(text.find("documentation (session s1) shared"), std::string::npos) << text;
  EXPECT_NE(text.find("documentation (session 0b5c8a…-9a4f5f8b6b52) exclusive"), std::string::npos)
      << text;
  EXPECT_NE(text.find("backend exclusive"), std::string::npos) << text;
}

TEST(ListView, a_long_reason_is_cut_and_the_fence_is_not) {
  service::ListReply reply = sample();
  reply.leases[0].lease.terms.reason = std::string(300, 'r');
  const std::string text = plain(list_lines(reply, viewer(), 80));
  EXPECT_NE(text.find("rrrr…, fence 40\n"), std::string::npos) << text;
}

TEST(ListView, pipe_has_one_row_per_resource_and_nothing_is_cut) {
  service::ListReply reply = sample();
  reply.leases[0].lease.terms.reason = std::string(300, 'r');
  const std::string text = plain(list_lines(reply, viewer(), 0));
  EXPECT_NE(text.find(std::string(300, 'r')), std::string::npos);
  EXPECT_NE(text.find("SESSION"), std::string::npos);
}

TEST(ListView, B6_what_is_ones_own_is_marked) {
  service::ListReply reply = sample();
  core::Lease part = lease_of("backend", {"zoo"});
  part.owner = core::part_of({"backend", ""}, "run-1");
  reply.leases.push_back({part, {}});
  for (const std::size_t columns : {std::size_t{80}, std::size_t{0}}) {
    const std::string text = plain(list_lines(reply, viewer("backend"), columns));
    std::size_t marks = 0;
    for (std::size_t at = 0; (at = text.find("backend (you)", at)) != std::string::npos; ++at) {
      ++marks;
    }
    EXPECT_EQ(marks, 3U) << "two resources, and one that a command of its own holds\n" << text;
    EXPECT_EQ(text.find("documentation (you)"), std::string::npos);
  }
  EXPECT_NE(plain(tree_lines(reply, viewer("fe"))).find("fe (you) waits"), std::string::npos);
}

TEST(ListView, B13_ids_are_as_short_as_they_can_be_told_apart) {
  service::ListReply reply = sample();
  reply.leases[0].lease.id.bytes = std::string("aaaaaaaaaaaa\1\2\3\4", 16);
  reply.leases[1].lease.id.bytes = std::string("aaaaaaaaaaaa\2\2\3\4", 16);
  const std::string text = plain(list_lines(reply, viewer(), 80));
  EXPECT_NE(text.find("lease 1020304,"), std::string::npos) << text;
  EXPECT_NE(text.find("lease 2020304,"), std::string::npos) << text;
}

TEST(ListView, tree_draws_folders_globs_and_namespaces) {
  EXPECT_EQ(plain(tree_lines(sample(), viewer())),
            "./\n"
            "├── docs/\n"
            "│   └── **/*.md   documentation shared, no end\n"
            "└── src/   fe waits (exclusive) behind backend\n"
            "    ├── a.py   backend exclusive, ends in 1h, \"JWT\"\n"
            "    └── auth/   backend exclusive, ends in 1h, \"JWT\"\n"
            "api:\n"
            "└── \"GET /v1/users\"   documentation shared, no end\n");
}

const char* const kLongPath = "src/some/very/long/path/to/a/folder/name.component.test.ts";

TEST(ListView, of_a_long_path_the_end_is_kept) {
  service::ListReply reply;
  reply.leases.push_back({lease_of("backend", {kLongPath}), {}});
  const std::string text = plain(list_lines(reply, viewer(), 80));
  EXPECT_NE(text.find("src/some/ver…der/name.component.test.ts  exclusive  backend"),
            std::string::npos)
      << text;
}

TEST(ListView, in_the_tree_a_holder_is_never_cut_away) {
  service::ListReply reply;
  core::Lease lease = lease_of("backend", {kLongPath, "src/b"});
  lease.terms.reason = std::string(300, 'r');
  reply.leases.push_back({lease, {}});
  EXPECT_EQ(plain(tree_lines(reply, viewer(), 60)),
            "./\n"
            "└── src/\n"
            "    ├── b   backend exclusive, ends in 1h, \"rrrrrrrrrrrrrrr…\n"
            "    └── some/very/long/path/to/a/folder/\n"
            "        └── name…nt.test.ts   backend exclusive, ends in 1h…\n");
  for (const Line& line : tree_lines(reply, viewer(), 40)) {
    std::size_t columns = 0;
    for (const Span& span : line) columns += width(span.text);
    EXPECT_LE(columns, 40U);
  }
}

TEST(ListView, a_folder_that_is_held_has_its_own_line_in_the_tree) {
  service::ListReply reply;
  reply.leases.push_back({lease_of("one", {"a/b/"}, core::Mode::kShared), {}});
  reply.leases.push_back({lease_of("two", {"a/b/c/d/"}, core::Mode::kShared), {}});
  EXPECT_EQ(plain(tree_lines(reply, viewer())),
            "./\n"
            "└── a/b/   one shared, ends in 1h\n"
            "    └── c/d/   two shared, ends in 1h\n");
}

TEST(ListView, a_wrapped_table_loses_nothing_and_no_line_ends_in_blanks) {
  const std::vector<Row> rows = {{{"name"}, {"one two three"}, {"/a/long/file:3"}},
                                 {{"b"}, {"c"}, {""}}};
  std::string text;
  for (const Line& line : wrapped_table_lines(rows, 26)) {
    for (const Span& span : line) text += span.text;
    text += "\n";
  }
  EXPECT_EQ(text,
            "name  one two    /a/long/f\n"
            "      three      ile:3\n"
            "b     c\n");
}

TEST(ListView, the_root_itself_and_several_holders_of_one_thing) {
  service::ListReply reply;
  reply.leases.push_back({lease_of("one", {"./", "a/b"}, core::Mode::kShared), {}});
  reply.leases.push_back({lease_of("second", {"a/b"}, core::Mode::kShared), {}});
  EXPECT_EQ(plain(tree_lines(reply, viewer())),
            "./   one shared, ends in 1h\n"
            "└── a/\n"
            "    └── b   one shared, ends in 1h\n"
            "            second shared, ends in 1h\n");
}

TEST(ListView, what_others_wrote_cannot_break_the_table) {
  service::ListReply reply = sample();
  reply.leases[0].lease.owner.agent = "evil\x1b[2J\nname";
  for (const Line& line : list_lines(reply, viewer(), 80)) {
    for (const Span& span : line) EXPECT_EQ(span.text.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace lockkeeper::cli
