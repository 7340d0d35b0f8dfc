// examples/hub as a person would run it: two network namespaces as two machines.
#include <gtest/gtest.h>

#include "support/stage.h"

namespace lockkeeper::proof {
namespace {

TEST(HubExample, TwoMachinesShareTheLocksOfAHub) {
  stage::Stage stage;
  stage.env["LOCKKEEPER"] = stage::Stage::program();
  stage.env["TMPDIR"] = stage.path("words");
  const std::string script = LOCKKEEPER_SOURCE_DIR "/examples/hub/run.sh";
  const stage::Answer run = stage.finish(stage.command({script}));
  constexpr int kNotPossible = 69;
  if (run.status == kNotPossible && run.err.find("namespaces") != std::string::npos) {
    GTEST_SKIP() << run.err;
  }
  ASSERT_EQ(run.status, 0) << run.all();
  // In this order.
  std::size_t at = 0;
  for (const char* const step :
       {"as alice", "as bob", "granted src/auth/ to claude@alice",
        "src/auth/token.py is held by claude@alice", "(exit status 75)", "WAITING FOR",
        "released src/auth/", "src/auth/ is yours in a minute",
        "granted src/auth/token.py to codex@bob", "db:schema:users is held by codex@bob",
        "granted db:schema:users to claude@alice", "The cable is pulled",
        "is decided without the hub", "granted src/auth/ to claude@alice", "The cable is back",
        "src/auth/ is held by claude@alice"}) {
    const std::size_t found = run.out.find(step, at);
    ASSERT_NE(found, std::string::npos) << step << "\n" << run.all();
    at = found;
  }
}

}  // namespace
}  // namespace lockkeeper::proof
