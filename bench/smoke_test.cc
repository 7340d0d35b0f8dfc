// The benchmark runs: every question, with counts so small that it takes seconds, answered in JSON
// that a program can read. What the figures are is nobody's business here. A peer that is not
// installed is skipped, as it is for everybody.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/report.h"

namespace lockkeeper::bench {
namespace {

using nlohmann::json;

struct Outcome {
  int status = -1;
  std::string out;
};

Outcome run_bench(const std::string& options) {
  FILE* pipe = ::popen((LOCKKEEPER_BENCH_PROGRAM " " + options).c_str(), "r");
  Outcome outcome;
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    outcome.out.append(buffer.data(), n);
  }
  const int status = ::pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

constexpr const char* kTiny =
    "--seconds 0.02 --held 50 --many 100 --globs 10 --waiters 4 --foreign 10 "
    "--packages 20 ";

TEST(BenchSmoke, every_question_is_answered_in_json) {
  const Outcome listed = run_bench("--list");
  ASSERT_EQ(listed.status, 0);
  const Outcome outcome = run_bench(std::string(kTiny) + "--json");
  ASSERT_EQ(outcome.status, 0);
  const json report = json::parse(outcome.out, nullptr, false);
  ASSERT_FALSE(report.is_discarded()) << outcome.out;
  EXPECT_TRUE(report["facts"].contains("kernel"));
  EXPECT_TRUE(report["facts"].contains("cores"));
  EXPECT_EQ(report["settings"]["held"], 50);
  ASSERT_GE(report["questions"].size(), 15U);
  for (const json& question : report["questions"]) {
    const std::string id = question["id"];
    EXPECT_NE(listed.out.find(id), std::string::npos) << id;
    EXPECT_FALSE(question["targets"].empty() && question["skipped"].empty()) << id;
    for (const json& row : question["rows"]) {
      EXPECT_GT(row["count"], 0) << row;
      EXPECT_GT(row["p50_us"], 0) << row;
      EXPECT_GE(row["max_us"], row["p99_us"]) << row;
      EXPECT_FALSE(row["durability"].get<std::string>().empty()) << row;
    }
  }
}

TEST(BenchSmoke, one_question_is_shown_to_people_and_to_the_docs) {
  const Outcome table = run_bench(std::string(kTiny) + "--only ten-paths");
  EXPECT_EQ(table.status, 0);
  EXPECT_NE(table.out.find("lockkeeper, ten paths"), std::string::npos) << table.out;
  EXPECT_EQ(table.out.find("one-client"), std::string::npos) << table.out;
  const Outcome page = run_bench(std::string(kTiny) + "--only ten-paths --markdown");
  EXPECT_EQ(page.status, 0);
  EXPECT_NE(page.out.find("| `ten-paths` |"), std::string::npos) << page.out;
}

TEST(BenchSmoke, what_is_not_understood_is_a_usage_error) {
  for (const char* options :
       {"--only nothing", "--seconds", "--seconds -1", "--held x", "--faster"}) {
    EXPECT_EQ(run_bench(std::string(options) + " 2>/dev/null").status, 64) << options;
  }
}

TEST(BenchReport, a_target_is_judged_by_its_must_and_then_by_its_aim) {
  Target less{.what = "less", .value = 3, .must = 4, .aim = 2};
  EXPECT_EQ(less.verdict(), Verdict::kMet);
  less.value = 2;
  EXPECT_EQ(less.verdict(), Verdict::kAim);
  less.value = 4.1;
  EXPECT_EQ(less.verdict(), Verdict::kMissed);
  Target more{.what = "more", .value = 1.2, .better = Target::Better::kMore, .must = 1, .aim = 1.5};
  EXPECT_EQ(more.verdict(), Verdict::kMet);
  more.value = 0.9;
  EXPECT_EQ(more.verdict(), Verdict::kMissed);
  EXPECT_EQ((Target{.what = "no bound", .value = 9}).verdict(), Verdict::kPublished);
}

TEST(BenchMeasure, all_sides_get_their_turns_and_quantiles_are_of_the_sorted) {
  std::string order;
  const auto samples =
      alternate({[&] { return order += 'a', 3.0; }, [&] { return order += 'b', 1.0; }}, 0.001, 5);
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_GE(samples[0].count(), 5U);
  EXPECT_GE(samples[1].count(), 5U);
  EXPECT_NE(order.find("ba"), std::string::npos) << "they took turns";
  const Samples four{{4, 1, 3, 2}};
  EXPECT_EQ(four.at(0), 1);
  EXPECT_EQ(four.p50(), 3);
  EXPECT_EQ(four.max(), 4);
  EXPECT_EQ(Samples{}.p50(), 0);
}

}  // namespace
}  // namespace lockkeeper::bench
