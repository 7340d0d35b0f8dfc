// The work packages that people really wrote (work-packages/, fifty files of one project): what
// `validate` says about each of them, as work-packages/summary.txt. LOCKKEEPER_UPDATE_GOLDEN=1
// rewrites it: then read the difference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "golden/shell.h"
#include "support/process.h"

namespace lockkeeper::golden {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

using Counts = std::map<std::string, int>;  // by "rule severity"

std::string counts_text(const Counts& counts) {
  std::string text;
  for (const auto& [what, count] : counts) {
    text += (text.empty() ? "" : ", ") + what + " " + std::to_string(count);
  }
  return text.empty() ? "nothing found" : text;
}

std::string number(const Json& json) {
  return json.is_null() ? "0" : std::to_string(json.get<int>());
}

std::string file_text(const Json& file, Counts& all) {
  Counts counts;
  std::string findings;
  for (const Json& finding : file["findings"]) {
    const std::string rule = finding["rule"];
    const std::string severity = finding["severity"];
    const std::string what = rule + " " + severity;
    ++counts[what];
    ++all[what];
    findings += "  " + number(finding["line"]) + ":" + number(finding["column"]) + " " + what +
                ": " + finding["message"].get<std::string>() + "\n";
    if (!finding["hint"].is_null())
      findings += "    → " + finding["hint"].get<std::string>() + "\n";
  }
  return file["file"].get<std::string>() + ": " + number(file["packages"]) + " packages, " +
         number(file["locks"]) + " files, " + number(file["keys"]) +
         " keys: " + counts_text(counts) + "\n" + findings;
}

std::string summary_of(const Json& reply) {
  Counts all;
  std::string text;
  int packages = 0;
  int files = 0;
  int keys = 0;
  int clean = 0;
  for (const Json& file : reply["files"]) {
    text += file_text(file, all);
    packages += file["packages"].get<int>();
    files += file["locks"].get<int>();
    keys += file["keys"].get<int>();
    clean += file["valid"].get<bool>() ? 1 : 0;
  }
  return std::to_string(reply["files"].size()) + " plans, " + std::to_string(clean) +
         " without an error: " + std::to_string(packages) + " packages, " + std::to_string(files) +
         " files, " + std::to_string(keys) + " keys\n" + counts_text(all) + "\n\n" + text;
}

}  // namespace

TEST(WorkPackages, TheFiftyRealOnesHaveASensibleReport) {
  const Shell shell;
  const fs::path folder = LOCKKEEPER_WORK_PACKAGES;
  const Ran ran =
      shell.run("cp '" + folder.string() + "'/*.yaml . && lockkeeper validate --json *.yaml");
  ASSERT_EQ(ran.status, 65) << ran.err;
  const Json reply = Json::parse(ran.out, nullptr, false);
  ASSERT_TRUE(reply.is_object());
  ASSERT_EQ(reply["files"].size(), 50U);
  const std::string actual = summary_of(reply);
  const fs::path path = folder / "summary.txt";
  if (std::getenv("LOCKKEEPER_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << actual;
    return;
  }
  EXPECT_EQ(actual, stage::read_text(path)) << path;
}

}  // namespace lockkeeper::golden
