// `validate`: what is wrong with a plan, before anybody starts on it.
#include <map>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/text.h"
#include "cli/verbs.h"
#include "plan/findings_report.h"

namespace lockkeeper::cli {
namespace {

using plan::FileReport;
using plan::Finding;
using plan::Severity;

constexpr std::size_t kFileBytesMax = 64U << 20;

// The realm's own prefixes and purposes, where there is one; a plan can be checked anywhere.
Result<plan::ValidateOptions> options_for(const VerbContext& context, bool strict) {
  plan::ValidateOptions options;
  options.strict = strict;
  const auto realm = context.realm({});
  if (!realm) return options;
  LK_ASSIGN(const service::Settings settings,
            service::load_settings(*realm, context.runtime().env));
  options.keys = settings.key_rules(*realm);
  options.keys.strict = false;  // ours are warnings until --strict says otherwise
  return options;
}

void show_findings(Output& out, const FileReport& report) {
  std::map<std::string, std::vector<const Finding*>> by_rule;
  for (const Finding& finding : report.result.findings) by_rule[finding.rule].push_back(&finding);
  for (const plan::Rule& rule : plan::rules()) {
    const auto group = by_rule.find(rule.name);
    if (group == by_rule.end()) continue;
    out.line({{rule.name, Style::kBold}, {std::string("  ") + rule.summary, Style::kDim}});
    for (const Finding* finding : group->second) {
      const bool error = finding->severity == Severity::kError;
      std::string where = report.file;
      if (finding->place.line != 0) {
        where +=
            ":" + std::to_string(finding->place.line) + ":" + std::to_string(finding->place.column);
      }
      out.line({{"  " + where + ": "},
                {error ? "error" : "warning", error ? Style::kRed : Style::kYellow}});
      for (const std::string* text : {&finding->message, &finding->hint}) {
        if (text->empty()) continue;
        const std::string prefix = text == &finding->hint ? "→ " : "";
        const std::size_t columns = out.columns() > 4 ? out.columns() - 4 : 0;
        std::string lines = wrap(prefix + *text, columns);
        for (std::size_t at = 0; (at = lines.find('\n', at)) != std::string::npos; at += 5) {
          lines.replace(at, 1, "\n    ");
        }
        out.text("    " + lines);
      }
    }
  }
}

std::string summary(const FileReport& report) {
  const plan::Validated& result = report.result;
  const std::size_t errors = result.count(Severity::kError);
  const std::size_t warnings = result.count(Severity::kWarning);
  std::string text = report.file + ": " + std::to_string(result.packages) + " packages, " +
                     std::to_string(result.locks + result.keys) + " locks: ";
  if (errors + warnings == 0) return text + "nothing found";
  return text + std::to_string(errors) + (errors == 1 ? " error, " : " errors, ") +
         std::to_string(warnings) + (warnings == 1 ? " warning" : " warnings");
}

}  // namespace

int validate_verb(VerbContext& context) {
  std::vector<std::string> files;
  bool strict = false;
  bool sarif = false;
  Arguments& arguments = context.arguments();
  arguments.words("FILE…", files, "work packages, YAML or JSON");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.flag("--strict", strict, "warnings are errors");
  arguments.flag("--sarif", sarif, "SARIF 2.1.0 on stdout, for code hosts");
  if (const auto status = context.parse_some(files, "a file")) return *status;
  Output& out = context.out();
  const auto options = options_for(context, strict);
  if (!options) return out.failed(options.error());
  std::vector<FileReport> reports;
  bool valid = true;
  for (const std::string& file : files) {
    const auto text = read_file(file, kFileBytesMax);
    if (!text) {
      Error error = text.error();
      if (error.code == Code::kNotFound) error.hint = "name a file that is there";
      return out.failed(error);
    }
    reports.push_back({file, plan::validate(*text, *options)});
    valid &= reports.back().result.count(Severity::kError) == 0;
  }
  if (sarif) {
    out.data(plan::sarif_json(reports, LOCKKEEPER_VERSION));
    return valid ? 0 : exit_status(Code::kInvalidInput);
  }
  service::Json json = {{"valid", valid}, {"files", service::Json::array()}};
  for (const FileReport& report : reports) {
    json["files"].push_back(plan::report_json(report));
    if (out.json()) continue;
    show_findings(out, report);
    out.text(summary(report));
  }
  out.object(json);
  return valid ? 0 : exit_status(Code::kInvalidInput);
}

}  // namespace lockkeeper::cli
