// Every line, to the letter: people grep for them.
#include "dialect/dirlock/guard_lines.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace lockkeeper::dialect::dirlock {
namespace {

std::int64_t at(const char* time) {
  return *parse_time(time);
}

void expect(const Line& line, Stream stream, const std::string& text) {
  EXPECT_EQ(line.text, text);
  EXPECT_EQ(line.stream, stream);
}

TEST(Words, TheDocumentsFiveLines) {
  expect(acquiring_line("/Users/.../app-template-ai"), Stream::kOut,
         "🔒 [LOCK] Acquiring directory lock for /Users/.../app-template-ai...");
  expect(acquired_line(12345, at("2026-02-08T10:30:00.123Z")), Stream::kOut,
         "🔒 [LOCK] Lock acquired (PID: 12345, time: 2026-02-08T10:30:00Z)");
  expect(held_line(12344, at("2026-02-08T10:05:00Z"), at("2026-02-08T10:30:00Z")), Stream::kErr,
         "⚠️  [LOCK] Lock held by PID 12344 (started 25m ago at 2026-02-08T10:05:00Z)");
  expect(stale_line("20"), Stream::kErr,
         "⚠️  [LOCK] Stale lock (>20m) — force-clearing and acquiring");
  expect(released_line(225'999), Stream::kOut, "🔓 [LOCK] Lock released (held for 3m 45s)");
}

TEST(Words, TheSystemsOtherLines) {
  expect(dead_line(7), Stream::kErr,
         "⚠️  [LOCK] Stale lock from crashed process (PID 7 is dead) — clearing");
  expect(forced_line(), Stream::kErr, "⚠️  [LOCK] Force-clearing lock (--stale-timeout 0)");
  expect(invalid_line(), Stream::kErr, "⚠️  [LOCK] Invalid lock file found — removing");
  expect(race_line(), Stream::kErr,
         "⚠️  [LOCK] Lock acquired by another process (race condition) — aborting");
  expect(failed_line("no space"), Stream::kErr, "❌ [LOCK] Failed to create lock file: no space");
}

TEST(Words, OurOwnLines) {
  expect(unfinished_line("/tmp/x"), Stream::kErr,
         "⚠️  [LOCK] Lock file is being written by another process: /tmp/x");
  expect(lost_line("the lock file was removed"), Stream::kErr,
         "⚠️  [LOCK] Lock lost: the lock file was removed — stopping the command");
}

TEST(Words, AgesAndTimes) {
  EXPECT_EQ(age_text(-5), "0s");
  EXPECT_EQ(age_text(59'999), "59s");
  EXPECT_EQ(age_text(60'000), "1m");
  EXPECT_EQ(age_text(90 * 60'000), "90m");
  EXPECT_EQ(released_line(0).text, "🔓 [LOCK] Lock released (held for 0s)");
  EXPECT_EQ(released_line(3'600'000).text, "🔓 [LOCK] Lock released (held for 60m 0s)");
}

TEST(Words, TheHoldersDetails) {
  LockRecord holder;
  holder.agents = {"auto-advance", "implement"};
  holder.hostname = "box";
  const std::vector<Line> lines = holder_lines(holder, "/tmp/agent-dir-x.lock");
  ASSERT_EQ(lines.size(), 4U);
  expect(lines[0], Stream::kErr, "   Agents: auto-advance, implement");
  expect(lines[1], Stream::kErr, "   Hostname: box");
  expect(lines[2], Stream::kErr, "   Lock file: /tmp/agent-dir-x.lock");
  expect(lines[3], Stream::kErr, "   To force-clear: use --stale-timeout 0");
}

TEST(Words, AnotherKindOfLock) {
  core::Conflict conflict;
  conflict.holder.owner = {"frontend", "4f2a"};
  conflict.holder.acquired_wall_ms = at("2026-02-08T10:05:00Z");
  conflict.holder.terms.reason = "JWT";
  conflict.holder.id = core::LeaseId{std::string(16, '\x11')};
  conflict.held.resource = key::parse("src/a.py", {})->resource;
  const std::vector<Line> lines = conflict_lines(conflict, at("2026-02-08T10:07:00Z"));
  ASSERT_EQ(lines.size(), 4U);
  expect(lines[0], Stream::kErr,
         "⚠️  [LOCK] Lock held by frontend (session 4f2a) (started 2m ago at "
         "2026-02-08T10:05:00Z)");
  expect(lines[1], Stream::kErr, "   Holds: src/a.py");
  expect(lines[2], Stream::kErr, "   Reason: \"JWT\"");
  expect(lines[3], Stream::kErr,
         "   To end it: lockkeeper break --lease 11111111111111111111111111111111 --reason WHY");
  conflict.holder.foreign = true;
  conflict.holder.terms.artefact = std::string("a.lock\0/x/locks/a.lock", 22);
  EXPECT_EQ(conflict_lines(conflict, 0).back().text, "   Lock file: /x/locks/a.lock");
}

}  // namespace
}  // namespace lockkeeper::dialect::dirlock
