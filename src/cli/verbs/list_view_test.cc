#include "cli/verbs/list_view.h"

#include <gtest/gtest.h>

#include "cli/verbs/testing.h"

namespace lockkeeper::cli {
namespace {

std::string plain(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) {
    std::string one;
    for (const Span& span : line) one += span.text;
    one.erase(one.find_last_not_of(' ') + 1);
    text += one + "\n";
  }
  return text;
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
  for (const Line& line : list_lines(reply, kTestNow, 80)) {
    std::size_t columns = 0;
    for (const Span& span : line) columns += width(span.text);
    EXPECT_LE(columns, 80U);
  }
}

TEST(ListView, terminal_shows_all_that_matters) {
  EXPECT_EQ(plain(list_lines(sample(), kTestNow, 80)),
            "RESOURCE           MODE       AGENT          SINCE  ENDS IN  ALIVE\n"
            "src/a.py           exclusive  backend        2m     1h       yes\n"
            "src/auth/          exclusive  backend        2m     1h       yes\n"
            "  fence 40, \"JWT\"\n"
            "docs/**/*.md       shared     documentation  2m     no end   -\n"
            "api:GET /v1/users  shared     documentation  2m     no end   -\n"
            "  fence 40, session s1\n"
            "\n"
            "WAITING FOR  MODE       AGENT  SINCE  BEHIND\n"
            "src/         exclusive  fe     2m     backend\n");
}

TEST(ListView, pipe_has_one_row_per_resource_and_nothing_is_cut) {
  service::ListReply reply = sample();
  reply.leases[0].lease.terms.reason = std::string(300, 'r');
  const std::string text = plain(list_lines(reply, kTestNow, 0));
  EXPECT_NE(text.find(std::string(300, 'r')), std::string::npos);
  EXPECT_NE(text.find("SESSION"), std::string::npos);
}

TEST(ListView, tree_draws_folders_globs_and_namespaces) {
  EXPECT_EQ(plain(tree_lines(sample(), kTestNow)),
            "./\n"
            "├── docs/\n"
            "│   └── **/*.md   documentation shared, no end\n"
            "└── src/   fe waits (exclusive) behind backend\n"
            "    ├── a.py   backend exclusive, ends in 1h, \"JWT\"\n"
            "    └── auth/   backend exclusive, ends in 1h, \"JWT\"\n"
            "api:\n"
            "└── GET /v1/users   documentation shared, no end\n");
}

TEST(ListView, the_root_itself_and_several_holders_of_one_thing) {
  service::ListReply reply;
  reply.leases.push_back({lease_of("one", {"./", "a/b"}, core::Mode::kShared), {}});
  reply.leases.push_back({lease_of("second", {"a/b"}, core::Mode::kShared), {}});
  EXPECT_EQ(plain(tree_lines(reply, kTestNow)),
            "./   one shared, ends in 1h\n"
            "└── a/\n"
            "    └── b   one shared, ends in 1h\n"
            "            second shared, ends in 1h\n");
}

TEST(ListView, what_others_wrote_cannot_break_the_table) {
  service::ListReply reply = sample();
  reply.leases[0].lease.owner.agent = "evil\x1b[2J\nname";
  for (const Line& line : list_lines(reply, kTestNow, 80)) {
    for (const Span& span : line) EXPECT_EQ(span.text.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace lockkeeper::cli
