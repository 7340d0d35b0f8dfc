// A table that cannot be used is never reported as free, and never as merely busy: each trouble of
// the store through the shipped program, with its documented code.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "golden/shell.h"

namespace lockkeeper::golden {
namespace {

using Json = nlohmann::json;

struct Trouble {
  const char* name;
  const char* cause;  // shell text, after src/a.py was locked by "holder"
  const char* code;
};

const Trouble kTroubles[] = {
    {"emptied", "truncate -s 0 .git/lockkeeper/data.mdb", "store_corrupt"},
    {"cut_short", "truncate -s 5000 .git/lockkeeper/data.mdb", "store_corrupt"},
    {"file_missing", "rm .git/lockkeeper/data.mdb", "store_corrupt"},
    {"foreign", "head -c 65536 /dev/urandom >.git/lockkeeper/data.mdb", "store_corrupt"},
    {"folder_is_a_symlink", "mv .git/lockkeeper .git/x && ln -s x .git/lockkeeper",
     "store_unavailable"},
    {"folder_is_a_file", "rm -r .git/lockkeeper && touch .git/lockkeeper", "store_unavailable"},
};

class StoreTrouble : public testing::TestWithParam<Trouble> {};

TEST_P(StoreTrouble, I10_is_told_as_what_it_is_and_never_as_free) {
  const Trouble& trouble = GetParam();
  const Shell shell;
  ASSERT_EQ(shell.run("lockkeeper acquire src/a.py --agent holder").status, 0);
  ASSERT_EQ(shell.run(trouble.cause).status, 0);
  for (const char* const verb : {"check src/a.py", "acquire src/a.py", "acquire src/b.py"}) {
    const Ran ran = shell.run(std::string("lockkeeper ") + verb + " --agent other --json");
    EXPECT_EQ(ran.status, 69) << verb << ": " << ran.out;
    const Json reply = Json::parse(ran.out, nullptr, false);
    ASSERT_TRUE(reply.is_object()) << ran.out;
    EXPECT_EQ(reply["error"]["code"], trouble.code) << verb << ": " << ran.out;
    EXPECT_FALSE(reply["error"]["hint"].get<std::string>().empty()) << ran.out;
  }
}

INSTANTIATE_TEST_SUITE_P(Troubles, StoreTrouble, testing::ValuesIn(kTroubles),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(StoreBusy, a_stopped_process_inside_is_named_and_when_it_goes_on_all_is_well) {
  const Shell shell;
  ASSERT_EQ(shell.run("lockkeeper acquire src/b.py --agent first -q").status, 0);
  // Stops inside its transaction: its first call has the gate, its second finds it there.
  const Ran ran = shell.run(
      "LOCKKEEPER_TEST_FAULT=stop@2 lockkeeper acquire src/a.py --agent stopped -q & p=$!;"
      "while ! grep -q '^State:.T' /proc/$p/status; do sleep 0.05; done;"
      "lockkeeper check src/a.py --json; s=$?; kill -CONT $p; wait $p; c=$?; exit $((s + c))");
  EXPECT_EQ(ran.status, 69) << ran.out << ran.err;
  const Json reply = Json::parse(ran.out, nullptr, false);
  ASSERT_TRUE(reply.is_object()) << ran.out;
  EXPECT_EQ(reply["error"]["code"], "store_busy");
  EXPECT_EQ(shell.run("lockkeeper check --held src/a.py --agent stopped").status, 0);
}

TEST(Killed, I2_F1_at_any_store_call_an_acquire_is_whole_or_has_not_been) {
  const Shell shell;
  ASSERT_EQ(shell.run("lockkeeper acquire docs/ --agent first -q").status, 0);
  int killed = 0;
  for (int call = 1; call < 200; ++call) {
    const Ran ran = shell.run("LOCKKEEPER_TEST_FAULT=kill@" + std::to_string(call) +
                              " lockkeeper acquire src/a.py src/b.py --agent victim -q");
    const Ran list = shell.run("lockkeeper list --json --agent victim");
    ASSERT_EQ(list.status, 0) << "call " << call << ": " << list.out;
    const Json leases = Json::parse(list.out)["leases"];
    if (ran.status == 0) {
      EXPECT_EQ(leases.size(), 1U);
      EXPECT_GT(killed, 3) << "the fault must have struck";
      return;
    }
    ASSERT_EQ(ran.status, 137) << ran.err;
    EXPECT_TRUE(leases.empty()) << "call " << call << ": killed before the commit was made";
    ++killed;
  }
  FAIL() << "no run completed";
}

}  // namespace
}  // namespace lockkeeper::golden
