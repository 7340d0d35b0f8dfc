// The specs on a real etcd, as far as it can be made to do what they tell of.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "etcd/cluster.h"
#include "isolation/player.h"

namespace lockkeeper::isolation {
namespace {

std::vector<std::string> spec_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(LOCKKEEPER_ISOLATION_SPECS)) {
    if (entry.path().extension() == ".spec") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

TEST(IsolationOnEtcd, I1_I2_I3_L4_HappensAsWritten) {
  if (!etcd_testing::programs()) GTEST_SKIP() << etcd_testing::why_not();
  std::size_t played = 0;
  for (const std::string& name : spec_names()) {
    std::ifstream file(std::string(LOCKKEEPER_ISOLATION_SPECS) + "/" + name + ".spec");
    std::ostringstream text;
    text << file.rdbuf();
    const auto spec = parse_spec(text.str());
    ASSERT_TRUE(spec.has_value()) << name << ".spec, " << spec.error().message;
    const std::string url = etcd_testing::shared_cluster().url(etcd_testing::fresh_prefix());
    const auto problems = play(*spec, [&] { return etcd_testing::open_store(url); });
    if (!problems) continue;
    ++played;
    for (const std::string& problem : *problems) ADD_FAILURE() << name << ".spec: " << problem;
  }
  EXPECT_GE(played, 50U);
}

}  // namespace
}  // namespace lockkeeper::isolation
