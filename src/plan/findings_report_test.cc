#include "plan/findings_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plan/plan_testing.h"

namespace lockkeeper::plan {
namespace {

FileReport report_of(const std::string& file, const std::string& text) {
  return {file, validate(text, {})};
}

std::string broken() {
  return plan_text({{.id = "wp-a", .keys = "['api:get /v1', 'feature:F:paus']"}});
}

}  // namespace

TEST(FindingsReport, Json) {
  const Json json = findings_json(report_of("p.yaml", broken()));
  EXPECT_EQ(json["file"], "p.yaml");
  EXPECT_EQ(json["kind"], "work-packages");
  EXPECT_EQ(json["valid"], false);
  EXPECT_EQ(json["packages"], 1);
  EXPECT_EQ(json["keys"], 2);
  EXPECT_EQ(json["errors"], 1);
  EXPECT_EQ(json["warnings"], 1);
  const Json& finding = json["findings"][0];
  EXPECT_EQ(finding["rule"], "lock-key");
  EXPECT_EQ(finding["severity"], "error");
  EXPECT_EQ(finding["line"], 7);
  EXPECT_EQ(finding["column"], 29);
  EXPECT_EQ(finding["package"], "wp-a");
  EXPECT_EQ(finding["hint"], "write \"api:GET /v1\"");
  EXPECT_FALSE(finding.contains("witness"));
}

TEST(FindingsReport, WarningsAloneAreValid) {
  const Json json =
      findings_json(report_of("p", plan_text({{.id = "wp-a", .keys = "['feature:F:paus']"}})));
  EXPECT_EQ(json["valid"], true);
  EXPECT_EQ(json["warnings"], 1);
}

// SARIF 2.1.0 needs the rule's index, a level, an escaped URI and places from 1.
TEST(FindingsReport, SarifFollowsItsStandard) {
  const Json log = sarif_json(
      {report_of("plans/a b#1.yaml", broken()), report_of("/tmp/x.yaml", "a: [")}, "1.2.3");
  EXPECT_EQ(log["version"], "2.1.0");
  ASSERT_EQ(log["runs"].size(), 1U);
  const Json& run = log["runs"][0];
  EXPECT_EQ(run["columnKind"], "unicodeCodePoints");
  const Json& driver = run["tool"]["driver"];
  EXPECT_EQ(driver["name"], "lockkeeper");
  EXPECT_EQ(driver["version"], "1.2.3");
  ASSERT_EQ(run["results"].size(), 3U);
  for (const Json& result : run["results"]) {
    const auto index = result["ruleIndex"].get<std::size_t>();
    EXPECT_EQ(driver["rules"].at(index)["id"], result["ruleId"]);
    EXPECT_TRUE(result["level"] == "error" || result["level"] == "warning");
    EXPECT_FALSE(result["message"]["text"].get<std::string>().empty());
    const Json& region = result["locations"][0]["physicalLocation"]["region"];
    EXPECT_GE(region["startLine"].get<int>(), 1);
    EXPECT_GE(region["startColumn"].get<int>(), 1);
  }
  const auto uri = [&](std::size_t i) {
    return run["results"][i]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
  };
  EXPECT_EQ(uri(0), "plans/a%20b%231.yaml");
  EXPECT_EQ(uri(2), "file:///tmp/x.yaml");
}

TEST(FindingsReport, SarifWithoutAPlaceHasNoRegion) {
  FileReport report{"p", {}};
  report.result.findings.push_back({"scope-overlap", Severity::kError, {}, "", "and more", "", ""});
  const Json log = sarif_json({report}, "1");
  EXPECT_FALSE(log["runs"][0]["results"][0]["locations"][0]["physicalLocation"].contains("region"));
}

// Braces are placeholders and brackets with parentheses are links in a SARIF message.
TEST(FindingsReport, SarifTextsAreEscaped) {
  FileReport report{"p", {}};
  report.result.findings.push_back(
      {"lock-file", Severity::kError, {1, 1}, "", "src/{0}/[x](https://example.org)", "", ""});
  const Json log = sarif_json({report}, "1");
  EXPECT_EQ(log["runs"][0]["results"][0]["message"]["text"], "src/{{0}}/[x] (https://example.org)");
}

TEST(FindingsReport, NothingFoundIsARunWithoutResults) {
  const Json log = sarif_json({}, "1");
  EXPECT_TRUE(log["runs"][0]["results"].empty());
  EXPECT_EQ(log["runs"][0]["tool"]["driver"]["rules"].size(), rules().size());
}

}  // namespace lockkeeper::plan
