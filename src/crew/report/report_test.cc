#include "crew/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "draw/xml_testing.h"

namespace lockkeeper::crew {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kStart = 1'768'663'800'000;  // 2026-01-17 15:30:00 UTC

Attempt attempt(std::size_t number, std::int64_t begin, std::int64_t end, Ending ending,
                int status = 0) {
  Attempt made;
  made.number = number;
  made.lease = "lease-" + std::to_string(begin);
  made.fence = 41 + static_cast<std::uint64_t>(begin);
  made.started_ms = kStart + begin;
  made.ended_ms = end == 0 ? 0 : kStart + end;
  made.ending = ending;
  made.exit_status = status;
  return made;
}

Wait wait(Wait::For what, const std::string& on, std::int64_t begin, std::int64_t end) {
  return {what, on, kStart + begin, end == 0 ? 0 : kStart + end};
}

AgentRecord agent(const std::string& id, Standing standing, std::vector<Wait> waits,
                  std::vector<Attempt> attempts) {
  AgentRecord made;
  made.id = id;
  made.locks = {"src/" + id + "/"};
  made.standing = standing;
  made.waits = std::move(waits);
  made.attempts = std::move(attempts);
  return made;
}

RunRecord run(std::vector<AgentRecord> agents, std::int64_t end) {
  RunRecord record;
  record.id = "r7";
  record.plan = "plan.yaml";
  record.realm = "/home/ann/shop";
  record.started_ms = kStart;
  record.ended_ms = end == 0 ? 0 : kStart + end;
  record.agents = std::move(agents);
  return record;
}

// A retry, a skip, every kind of wait, changes outside the scope, a resume.
RunRecord eventful() {
  AgentRecord contracts =
      agent("contracts", Standing::kDone, {}, {attempt(1, 0, 4200, Ending::kDone)});
  contracts.attempts[0].changes = {{"openapi/v1.yaml", Change::Kind::kModified, false, {}},
                                   {"notes.txt", Change::Kind::kAdded, true, {"docs"}}};
  contracts.attempts[0].log_bytes = 512;
  AgentRecord backend =
      agent("backend", Standing::kDone, {wait(Wait::For::kNeed, "contracts", 0, 4200)},
            {attempt(1, 4200, 6200, Ending::kFailed, 3), attempt(2, 6300, 9800, Ending::kDone)});
  backend.attempts[1].changes = {{"src/backend/a.py", Change::Kind::kModified, false, {}},
                                 {"src/backend/old.py", Change::Kind::kRemoved, false, {}}};
  backend.attempts[1].processes_ended = 2;
  AgentRecord docs =
      agent("docs", Standing::kDone,
            {wait(Wait::For::kJob, "", 0, 300), wait(Wait::For::kLock, "held by ann", 300, 900),
             wait(Wait::For::kPause, "review", 900, 1500), wait(Wait::For::kJob, "", 1500, 2000)},
            {attempt(1, 2000, 5000, Ending::kDone)});
  docs.attempts[0].changes_unknown = "git did not answer for 120 s";
  AgentRecord frontend =
      agent("frontend", Standing::kFailed, {wait(Wait::For::kAgent, "backend", 4200, 9800)},
            {attempt(1, 9800, 14'000, Ending::kTimedOut)});
  frontend.attempts[0].why = "stopped after 4s";
  frontend.attempts[0].log_cut = true;
  AgentRecord integration =
      agent("integration", Standing::kSkipped, {wait(Wait::For::kNeed, "frontend", 0, 14'000)}, {});
  integration.why = "frontend, which it needs, has failed";
  RunRecord record = run({contracts, backend, docs, frontend, integration}, 14'000);
  record.feature = "checkout";
  record.jobs = 2;
  record.resumed = 1;
  record.problems = {"the log of docs could not be written: no space"};
  return record;
}

TEST(ReportMarkdown, TellsAnEventfulRun) {
  EXPECT_EQ(report_markdown(eventful()),
            R"(# Workflow failed: 3 of 5 agents done, 1 failed, 1 skipped

Plan `plan.yaml`, feature `checkout`, run `r7`.
Started 2026-01-17 15:30:00 UTC, took 14s, resumed once, at most 2 at once.
The agents worked 16.9s in total: 1.2 at once on average.
To continue, run the same command with `--resume`.

## What went wrong

- the log of docs could not be written: no space
- `contracts` or another agent changed 1 file outside every scope
- `backend` failed: exit status 3 (attempt 1); a later attempt succeeded
- `backend` left 2 processes behind, which were ended (attempt 2)
- `docs` made unknown changes: git did not answer for 120 s
- `frontend` ran out of time: stopped after 4s
- `frontend` printed more than its log holds
- `integration` was skipped: frontend, which it needs, has failed

## Agents

| Agent | Result | Began | Worked | Waited | Attempts | Files changed |
|---|---|--:|--:|--:|--:|--:|
| `contracts` | done | +0s | 4.2s |  | 1 | 2 |
| `backend` | done | +4.2s | 5.5s | 4.2s | 2 | 2 |
| `docs` | done | +2s | 3s | 2s | 1 | 0 |
| `frontend` | failed | +9.8s | 4.2s | 5.6s | 1 | 0 |
| `integration` | skipped |  |  | 14s | 0 | 0 |

## Waits

| Agent | How long | For |
|---|--:|---|
| `backend` | 4.2s | `contracts`, which it needs |
| `docs` | 800ms | a free job: 2 agents ran |
| `docs` | 600ms | a lock held outside the plan: held by ann |
| `docs` | 600ms | the feature's pause: review |
| `frontend` | 5.6s | `backend`, which wanted the same locks |
| `integration` | 14s | `frontend`, which it needs |

## Changes

By `contracts`:

- modified `openapi/v1.yaml`
- added `notes.txt`, **outside its scope**, perhaps by `docs`

By `backend`:

- modified `src/backend/a.py`, attempt 2
- removed `src/backend/old.py`, attempt 2
)");
}

TEST(ReportMarkdown, TellsAQuietRunInAFewLines) {
  EXPECT_EQ(report_markdown(run(
                {agent("a", Standing::kDone, {}, {attempt(1, 0, 65'000, Ending::kDone)})}, 65'000)),
            R"(# Workflow done: 1 agent done

Plan `plan.yaml`, run `r7`.
Started 2026-01-17 15:30:00 UTC, took 1m 5s.
The agents worked 1m 5s in total: 1.0 at once on average.

## Agents

| Agent | Result | Began | Worked | Waited | Attempts | Files changed |
|---|---|--:|--:|--:|--:|--:|
| `a` | done | +0s | 1m 5s |  | 1 | 0 |
)");
}

TEST(ReportMarkdown, TellsAnEmptyRun) {
  EXPECT_EQ(report_markdown(run({}, 10)),
            "# Workflow done: no agents\n\nPlan `plan.yaml`, run `r7`.\n"
            "Started 2026-01-17 15:30:00 UTC, took 10ms.\n");
  EXPECT_THAT(report_markdown({}), HasSubstr("# Workflow running: no agents"));
}

TEST(ReportMarkdown, WhoSawAChangeOutsideMayHaveMadeIt) {
  const auto outside = [](const std::string& path, std::vector<std::string> or_by) {
    return Change{path, Change::Kind::kAdded, true, std::move(or_by)};
  };
  std::vector<AgentRecord> agents;
  for (const char* id : {"a", "b", "c"}) {
    agents.push_back(agent(id, Standing::kDone, {}, {attempt(1, 0, 1000, Ending::kDone)}));
  }
  agents[0].attempts[0].changes = {outside("both.txt", {"b", "c"}),
                                   outside("sure.txt", {"b", "c"})};
  agents[1].attempts[0].changes = {outside("both.txt", {"a", "c"})};
  const std::string text = report_markdown(run(agents, 1000));
  EXPECT_THAT(text, HasSubstr("- `a` changed 1 file outside its scope\n"
                              "- `a` or another agent changed 1 file outside every scope\n"
                              "- `b` or another agent changed 1 file outside every scope\n"));
  EXPECT_THAT(text, HasSubstr("- added `both.txt`, **outside its scope**, perhaps by `b`\n"));
  EXPECT_THAT(text, HasSubstr("- added `sure.txt`, **outside its scope**\n"))
      << "b and c were there for a while, and did not see it";
}

TEST(ReportMarkdown, WhoStrayedIsToldOnce) {
  AgentRecord one = agent("a", Standing::kFailed, {}, {attempt(1, 0, 1000, Ending::kStrayed)});
  one.attempts[0].why = "\"x\" was changed";
  one.attempts[0].changes = {{"x", Change::Kind::kAdded, true, {"b"}}};
  AgentRecord other = agent("b", Standing::kDone, {}, {attempt(1, 0, 1000, Ending::kDone)});
  const char* const told =
      "## What went wrong\n\n- `a` failed the scope check: \"x\" was changed\n";
  EXPECT_THAT(report_markdown(run({one, other}, 1000)),
              HasSubstr(std::string(told) + "\n## Agents"));
  other.attempts[0].changes_unknown = "git is gone";
  EXPECT_THAT(report_markdown(run({one, other}, 1000)),
              HasSubstr(std::string(told) + "- `b` made unknown changes: git is gone\n\n## Agents"))
      << "another may have made it; that is listed with the changes";
}

TEST(ReportMarkdown, TellsWhatBecameOfTheWorktrees) {
  RunRecord record = run({agent("a", Standing::kDone, {}, {attempt(1, 0, 10, Ending::kDone)}),
                          agent("b", Standing::kDone, {}, {attempt(1, 0, 10, Ending::kDone)}),
                          agent("c", Standing::kSkipped, {}, {})},
                         20);
  EXPECT_THAT(report_markdown(record), Not(HasSubstr("## Worktrees")));
  EXPECT_TRUE(report_json(record)["worktrees"].is_null());
  EXPECT_TRUE(report_json(record)["agents"][0]["worktree"].is_null());
  record.trees = {"/trees", "refs/heads/main", "0123456789abcdef"};
  TreeRecord& a = record.agents[0].tree;
  a.state = TreeRecord::State::kMerged;
  a.branch = "lk/r7/a";
  a.commit = "aaaaaaaaaaaaaaaa";
  a.merge = "bbbbbbbbbbbbbbbb";
  TreeRecord& b = record.agents[1].tree;
  b.state = TreeRecord::State::kConflict;
  b.branch = "lk/r7/b";
  b.commit = "cccccccccccccccc";
  b.why = "conflict in a|b";
  EXPECT_STREQ(outcome_name(record), "failed");
  EXPECT_EQ(outcome_text(record), "2 of 3 agents done, 1 skipped, 1 not merged");
  const std::string text = report_markdown(record);
  EXPECT_THAT(text, HasSubstr("The run began at `0123456789ab` of `refs/heads/main`."));
  EXPECT_THAT(text, HasSubstr("| `a` | `lk/r7/a` | `aaaaaaaaaaaa` | merged as bbbbbbbbbbbb |\n"));
  EXPECT_THAT(text,
              HasSubstr("| `b` | `lk/r7/b` | `cccccccccccc` | not merged: conflict in a\\|b |\n"));
  EXPECT_THAT(text, Not(HasSubstr("| `c` | `lk")));
  const auto json = report_json(record);
  EXPECT_EQ(json["counts"]["unmerged"], 1);
  EXPECT_EQ(json["agents"][1]["worktree"]["state"], "conflict");
  EXPECT_TRUE(json["agents"][1]["worktree"]["merge"].is_null());
}

TEST(Report, OutcomesInOrder) {
  using S = Standing;
  const auto outcome = [](std::vector<Standing> standings, std::int64_t end = 1) {
    std::vector<AgentRecord> agents;
    for (const Standing one : standings) agents.push_back(agent("a", one, {}, {}));
    return std::string(outcome_name(run(agents, end)));
  };
  EXPECT_EQ(outcome({S::kDone, S::kDone}), "done");
  EXPECT_EQ(outcome({S::kDone, S::kFailed}), "failed");
  EXPECT_EQ(outcome({S::kDone, S::kSkipped}), "failed");
  EXPECT_EQ(outcome({S::kFailed, S::kStopped}), "stopped");
  EXPECT_EQ(outcome({S::kPending}), "stopped");
  EXPECT_EQ(outcome({S::kDone, S::kRunning}, 0), "running");
}

TEST(ReportMarkdown, HostileNamesDoNoHarm) {
  const std::vector<std::string> names = {"a|b",
                                          "`x`",
                                          "``",
                                          "<script>alert(1)</script>",
                                          "two\nlines",
                                          "# title",
                                          "\xff\x1b[1m",
                                          "[link](http://x)",
                                          "@everyone",
                                          " ",
                                          "",
                                          std::string(5000, 'x')};
  std::vector<AgentRecord> agents;
  for (const std::string& name : names) {
    AgentRecord one =
        agent(name, Standing::kFailed,
              {wait(Wait::For::kAgent, name, 0, 1000), wait(Wait::For::kLock, name, 0, 1000)},
              {attempt(1, 1000, 2000, Ending::kFailed, 1)});
    one.attempts[0].why = name;
    one.attempts[0].changes = {{name, Change::Kind::kAdded, true, {name}}};
    agents.push_back(one);
  }
  RunRecord record = run(agents, 2000);
  record.plan = record.id = record.feature = "x`\n# y";
  record.problems = names;
  const std::string text = report_markdown(record);
  EXPECT_TRUE(is_valid_utf8(text));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("| `a\\|b` | failed |"));
  EXPECT_THAT(text, HasSubstr("| `` `x` `` | failed |"));
  EXPECT_THAT(text, HasSubstr("\\<script\\>"));
  EXPECT_LT(text.size(), 100'000U);
  // Foreign text cannot begin a line.
  std::size_t tables = 0;
  std::size_t headings = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| ")) ++tables;
    if (line.starts_with("#")) ++headings;
    EXPECT_TRUE(line.empty() || line.starts_with("|") || line.starts_with("- ") ||
                line.starts_with("#") || line.starts_with("By ") || line.starts_with("Plan ") ||
                line.starts_with("Started ") || line.starts_with("The agents ") ||
                line.starts_with("To continue"))
        << line;
  }
  EXPECT_EQ(headings, 5U);
  EXPECT_EQ(tables, 2 + names.size() * 3);
}

TEST(ReportMarkdown, LongListsAreCut) {
  AgentRecord one = agent("a", Standing::kDone, {}, {attempt(1, 0, 1000, Ending::kDone)});
  for (int i = 0; i < 1000; ++i) {
    one.attempts[0].changes.push_back({"f" + std::to_string(i), Change::Kind::kAdded, false, {}});
  }
  const std::string text = report_markdown(run({one}, 1000));
  EXPECT_THAT(text,
              HasSubstr("- added `f39`\n\n… and 960 more files; the JSON report has them all."));
  EXPECT_THAT(text, Not(HasSubstr("`f40`")));
  EXPECT_THAT(text, HasSubstr("| 1000 |"));
}

TEST(ReportJson, HasEverything) {
  const nlohmann::ordered_json json = report_json(eventful());
  EXPECT_EQ(json["run"], "r7");
  EXPECT_EQ(json["outcome"], "failed");
  EXPECT_EQ(json["feature"], "checkout");
  EXPECT_EQ(json["jobs"], 2);
  EXPECT_EQ(json["started_at"], "2026-01-17T15:30:00.000Z");
  EXPECT_EQ(json["ended_at"], "2026-01-17T15:30:14.000Z");
  EXPECT_EQ(json["duration_ms"], 14'000);
  EXPECT_EQ(json["counts"].dump(),
            R"({"agents":5,"done":3,"failed":1,"skipped":1,"stopped":0,"running":0,"waiting":0,)"
            R"("pending":0,"unmerged":0})");
  const auto& backend = json["agents"][1];
  EXPECT_EQ(backend["worked_ms"], 5500);
  EXPECT_EQ(backend["waits"].dump(),
            R"([{"for":"dependency","on":"contracts","began_at":"2026-01-17T15:30:00.000Z",)"
            R"("ended_at":"2026-01-17T15:30:04.200Z","duration_ms":4200}])");
  EXPECT_EQ(backend["attempts"][0].dump(),
            R"({"number":1,"ending":"failed","exit_status":3,"why":null,)"
            R"("started_at":"2026-01-17T15:30:04.200Z","ended_at":"2026-01-17T15:30:06.200Z",)"
            R"("duration_ms":2000,"lease":"lease-4200","fence":4241,"processes_ended":0,)"
            R"("log_bytes":0,"log_cut":false,"changes":[],"changes_unknown":null})");
  EXPECT_EQ(json["agents"][0]["attempts"][0]["changes"][1].dump(),
            R"({"path":"notes.txt","change":"added","outside":true,"or_by":["docs"]})");
  EXPECT_EQ(json["agents"][3]["attempts"][0]["exit_status"], nullptr) << "it was stopped";
  EXPECT_EQ(json["agents"][4]["why"], "frontend, which it needs, has failed");
  EXPECT_EQ(json["problems"].size(), 1U);
}

TEST(ReportJson, WhatRunsHasNoEnd) {
  const auto json =
      report_json(run({agent("a", Standing::kRunning, {}, {attempt(1, 0, 0, Ending::kNone)}),
                       agent("b", Standing::kWaiting, {wait(Wait::For::kAgent, "a", 0, 0)}, {}),
                       agent("c", Standing::kDone, {}, {attempt(1, 0, 3000, Ending::kDone)})},
                      0));
  EXPECT_EQ(json["outcome"], "running");
  EXPECT_EQ(json["ended_at"], nullptr);
  EXPECT_EQ(json["agents"][0]["attempts"][0]["ending"], nullptr);
  EXPECT_EQ(json["agents"][0]["worked_ms"], 3000) << "until the last moment that is known";
  EXPECT_EQ(json["agents"][1]["waited_ms"], 3000);
}

TEST(ReportJson, IsUtf8WhateverTheNames) {
  RunRecord record = eventful();
  record.agents[0].attempts[0].changes[0].path = "\xff\n";
  record.plan = record.realm = record.agents[0].why = record.problems[0] = "\xff.yaml";
  record.agents[0].locks = {"\xff"};
  EXPECT_NO_THROW(report_json(record).dump());
}

TEST(ReportSvg, DrawsWhatHappened) {
  const draw::XmlReader reader(report_svg(eventful()));
  ASSERT_EQ(reader.error(), "");
  std::vector<std::string> rows;
  for (const auto& name : reader.all("text", "name")) rows.push_back(name.text);
  EXPECT_EQ(rows, (std::vector<std::string>{"contracts", "docs", "backend", "frontend",
                                            "integration (skipped)"}))
      << "whoever began first stands first";
  EXPECT_EQ(reader.all("rect", "work").size(), 3U + 1) << "and the legend";
  EXPECT_EQ(reader.all("rect", "failed").size(), 2U + 1);
  EXPECT_EQ(reader.all("rect", "waiting").size(), 7U + 1);
  EXPECT_EQ(reader.all("text", "title")[0].text,
            "Workflow failed: 3 of 5 agents done, 1 failed, 1 skipped");
  EXPECT_EQ(reader.all("text", "subtitle")[0].text, "plan.yaml · 2026-01-17 15:30:00 UTC · 14s");
}

TEST(ReportSvg, TheNightBetweenAnEndAndGoingOnIsLeftOut) {
  constexpr std::int64_t kNight = 36'000'000;
  RunRecord record = run({agent("a", Standing::kDone, {},
                                {attempt(1, 0, 5000, Ending::kStopped),
                                 attempt(2, kNight, kNight + 5000, Ending::kDone)})},
                         kNight + 5000);
  record.resumed = 1;
  const draw::XmlReader reader(report_svg(record));
  ASSERT_EQ(reader.error(), "");
  const auto stopped = reader.all("rect", "stopped").back();
  const auto work = reader.all("rect", "work").back();
  EXPECT_NEAR(stopped.number("width"), work.number("width"), 1);
  EXPECT_GT(work.number("width"), 300);
  EXPECT_THAT(reader.all("text", "subtitle")[0].text, HasSubstr("9h 59m without work left out"));
}

TEST(ReportSvg, HostileAndEmptyRecordsAreDrawn) {
  RunRecord record = eventful();
  record.plan = "<x>&\"\n\xff";
  record.agents[0].id = "</svg><script>";
  record.agents[0].attempts[0].why = "]]>\x01";
  EXPECT_EQ(draw::XmlReader(report_svg(record)).error(), "");
  EXPECT_EQ(draw::XmlReader(report_svg({})).error(), "");
}

}  // namespace
}  // namespace lockkeeper::crew
