#include "plan/findings_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/text.h"

namespace lockkeeper::plan {
namespace {

const char* severity_name(Severity severity) {
  return severity == Severity::kError ? "error" : "warning";
}

// The file name as a URI reference (RFC 3986); an absolute one has the scheme.
std::string uri_of(const std::string& file) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string uri = file.starts_with('/') ? "file://" : "";
  for (const char c : file) {
    if (is_name_character(c) || c == '~' || c == '/') {
      uri += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    uri += {'%', kHex[byte >> 4], kHex[byte & 15]};
  }
  return uri;
}

// SARIF doubles braces in a message, and makes a link of [text](target).
std::string sarif_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '{' || c == '}') escaped += c;
    if (c == '(' && escaped.ends_with(']')) escaped += ' ';
    escaped += c;
  }
  return escaped;
}

Json sarif_result(const std::string& file, const Finding& finding) {
  Json location;
  location["physicalLocation"]["artifactLocation"]["uri"] = uri_of(file);
  if (finding.place.line != 0) {
    location["physicalLocation"]["region"] = {{"startLine", finding.place.line},
                                              {"startColumn", finding.place.column}};
  }
  if (!finding.package.empty()) {
    location["logicalLocations"] =
        Json::array({Json{{"name", finding.package}, {"kind", "object"}}});
  }
  std::string text = finding.message;
  if (!finding.hint.empty()) text += ". " + finding.hint;
  const auto rule = std::ranges::find(rules(), finding.rule, &Rule::name);
  return {{"ruleId", finding.rule},
          {"ruleIndex", rule - rules().begin()},
          {"level", severity_name(finding.severity)},
          {"message", {{"text", sarif_text(text)}}},
          {"locations", Json::array({location})}};
}

}  // namespace

Json finding_json(const Finding& finding) {
  Json json;
  json["rule"] = finding.rule;
  json["severity"] = severity_name(finding.severity);
  json["line"] = finding.place.line == 0 ? Json() : Json(finding.place.line);
  json["column"] = finding.place.line == 0 ? Json() : Json(finding.place.column);
  json["package"] = text_or_null(finding.package);
  json["message"] = finding.message;
  json["hint"] = text_or_null(finding.hint);
  if (finding.witness.empty()) return json;
  json["witness"] = finding.witness;
  json["witness_exists"] = finding.witness_exists ? Json(*finding.witness_exists) : Json();
  return json;
}

Json findings_json(const FileReport& report) {
  const Validated& result = report.result;
  Json json;
  json["file"] = report.file;
  json["kind"] = result.plan.scopes ? "scopes" : "work-packages";
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
  run["columnKind"] = "unicodeCodePoints";
  run["results"] = std::move(results);
  return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
          {"version", "2.1.0"},
          {"runs", Json::array({std::move(run)})}};
}

}  // namespace lockkeeper::plan
