#include "plan/findings_report.h"

#include <nlohmann/json.hpp>

namespace lockkeeper::plan {
namespace {

const char* severity_name(Severity severity) {
  return severity == Severity::kError ? "error" : "warning";
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json finding_json(const Finding& finding) {
  Json json;
  json["rule"] = finding.rule;
  json["severity"] = severity_name(finding.severity);
  json["line"] = finding.place.line == 0 ? Json() : Json(finding.place.line);
  json["column"] = finding.place.line == 0 ? Json() : Json(finding.place.column);
  json["package"] = text_or_null(finding.package);
  json["message"] = finding.message;
  json["hint"] = text_or_null(finding.hint);
  if (!finding.witness.empty()) json["witness"] = finding.witness;
  return json;
}

Json sarif_result(const std::string& file, const Finding& finding) {
  Json location;
  location["physicalLocation"]["artifactLocation"]["uri"] = file;
  if (finding.place.line != 0) {
    location["physicalLocation"]["region"] = {{"startLine", finding.place.line},
                                              {"startColumn", finding.place.column}};
  }
  std::string text = finding.message;
  if (!finding.hint.empty()) text += ". " + finding.hint;
  return {{"ruleId", finding.rule},
          {"level", severity_name(finding.severity)},
          {"message", {{"text", text}}},
          {"locations", Json::array({location})}};
}

}  // namespace

Json report_json(const FileReport& report) {
  const Validated& result = report.result;
  Json json;
  json["file"] = report.file;
  json["valid"] = result.count(Severity::kError) == 0;
  json["packages"] = result.packages;
  json["locks"] = result.locks;
  json["keys"] = result.keys;
  json["errors"] = result.count(Severity::kError);
  json["warnings"] = result.count(Severity::kWarning);
  json["findings"] = Json::array();
  for (const Finding& finding : result.findings) json["findings"].push_back(finding_json(finding));
  return json;
}

Json sarif_json(const std::vector<FileReport>& reports, const std::string& version) {
  Json driver = {{"name", "lockkeeper"}, {"version", version}, {"rules", Json::array()}};
  for (const Rule& rule : rules()) {
    driver["rules"].push_back({{"id", rule.name}, {"shortDescription", {{"text", rule.summary}}}});
  }
  Json results = Json::array();
  for (const FileReport& report : reports) {
    for (const Finding& finding : report.result.findings) {
      results.push_back(sarif_result(report.file, finding));
    }
  }
  Json run;
  run["tool"]["driver"] = std::move(driver);
  run["results"] = std::move(results);
  return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
          {"version", "2.1.0"},
          {"runs", Json::array({std::move(run)})}};
}

}  // namespace lockkeeper::plan
