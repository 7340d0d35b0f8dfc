// Real plans: analysed, and with every resolution applied.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "draw/xml_testing.h"
#include "plan/drawings.h"
#include "plan/proposals_testing.h"

namespace lockkeeper::plan {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<fs::path> real_plans() {
  std::vector<fs::path> all;
  for (const auto& entry : fs::directory_iterator(LOCKKEEPER_WORK_PACKAGES)) {
    if (entry.path().extension() == ".yaml") all.push_back(entry.path());
  }
  std::ranges::sort(all);
  return all;
}

// The plan without dependencies: what was ordered is a conflict now.
std::string without_order(const std::string& text) {
  const auto before = yaml::parse_document(text);
  EXPECT_TRUE(before);
  yaml::Node after = *before;
  for (yaml::Node& package : const_cast<yaml::Node&>(*after.find("packages")).list) {
    for (const char* const key : {"depends_on", "dependencies"}) {
      if (const yaml::Node* const list = package.find(key))
        const_cast<yaml::Node*>(list)->list.clear();
    }
  }
  const yaml::Rewritten written = yaml::rewrite(text, *before, after);
  EXPECT_FALSE(written.whole);
  return written.text;
}

TEST(RealPlans, AllButTheEmptyOnesCanBePlanned) {
  std::size_t planned = 0;
  for (const fs::path& path : real_plans()) {
    SCOPED_TRACE(path.filename());
    const Loaded loaded = load_plan(read(path), loose());
    if (!loaded.usable()) {
      for (const Finding& finding : loaded.findings) EXPECT_EQ(finding.rule, "schema");
      continue;
    }
    ++planned;
    const auto analysis = analyse(loaded.plan, {});
    ASSERT_TRUE(analysis) << analysis.error().message;
    EXPECT_TRUE(analysis->waves.exact);
    EXPECT_EQ(draw::XmlReader(graph_svg(loaded.plan, *analysis, "t")).error(), "");
  }
  EXPECT_EQ(planned, 48U);  // one is a template, one was given up
}

TEST(RealPlans, EveryResolutionCanBeApplied) {
  std::size_t proposals = 0;
  for (const fs::path& path : real_plans()) {
    SCOPED_TRACE(path.filename());
    const std::string text = read(path);
    if (!load_plan(text, loose()).usable()) continue;
    const std::string changed = without_order(text);
    proposals += made(changed).proposals.list.size();
    expect_all_apply(changed, true);
    if (HasFailure()) return;
  }
  EXPECT_GT(proposals, 100U);
}

}  // namespace
}  // namespace lockkeeper::plan
