// examples/hub and examples/etcd as a person would run them: machines are network namespaces or
// homes of their own.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/stage.h"

namespace lockkeeper::proof {
namespace {

// The script must show these, in this order. Skips the test where the kernel has no namespaces.
void expect_steps(const std::string& name, const std::vector<std::string>& steps) {
  stage::Stage stage;
  stage.env["LOCKKEEPER"] = stage::Stage::program();
  stage.env["TMPDIR"] = stage.path("words");
  const std::string script = LOCKKEEPER_SOURCE_DIR "/examples/" + name + "/run.sh";
  const stage::Answer run = stage.finish(stage.command({script}));
  constexpr int kNotPossible = 69;
  if (run.status == kNotPossible && (run.err.find("namespaces") != std::string::npos ||
                                     run.err.find("there is no etcd") != std::string::npos)) {
    GTEST_SKIP() << run.err;
  }
  ASSERT_EQ(run.status, 0) << run.all();
  std::size_t at = 0;
  for (const std::string& step : steps) {
    const std::size_t found = run.out.find(step, at);
    ASSERT_NE(found, std::string::npos) << step << "\n" << run.all();
    at = found;
  }
}

TEST(HubExample, TwoMachinesShareTheLocksOfAHub) {
  expect_steps("hub",
               {"as alice", "as bob", "granted src/auth/ to claude@alice",
                "src/auth/token.py is held by claude@alice", "(exit status 75)", "WAITING FOR",
                "released src/auth/", "src/auth/ is yours in a minute",
                "granted src/auth/token.py to codex@bob", "db:schema:users is held by codex@bob",
                "granted db:schema:users to claude@alice", "The cable is pulled",
                "is decided without the hub", "granted src/auth/ to claude@alice",
                "The cable is back", "src/auth/ is held by claude@alice"});
}

TEST(EtcdExample, L3_LocksOutliveMembersOfEtcdAndAHub) {
  expect_steps("etcd", {"3 members, of which 2 must run",
                        "Two hubs, on two machines",
                        "as alice",
                        "as bob",
                        "granted src/ to claude@alice",
                        "src/token.py is held by claude@alice",
                        "(exit status 75)",
                        "A member of etcd is killed",
                        "docs/",
                        "WAITING FOR",
                        "The hub that the desk uses is killed",
                        "docs/",
                        "WAITING FOR",
                        "released src/",
                        "granted src/token.py to codex@bob",
                        "A second member is killed",
                        "no quorum",
                        "(exit status 69)",
                        "Both are started again",
                        "src/ is held by codex@bob",
                        "released src/token.py"});
}

}  // namespace
}  // namespace lockkeeper::proof
