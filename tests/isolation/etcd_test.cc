// The specs on a real etcd, as far as it can be made to do what they tell of.
#include <gtest/gtest.h>

#include "etcd/cluster.h"
#include "isolation/player.h"
#include "isolation/spec.h"

namespace lockkeeper::isolation {
namespace {

TEST(IsolationOnEtcd, I1_I2_I3_L4_HappensAsWritten) {
  if (!etcd_testing::programs()) GTEST_SKIP() << etcd_testing::why_not();
  std::size_t played = 0;
  for (const std::string& name : spec_names()) {
    const auto spec = read_spec(name);
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
