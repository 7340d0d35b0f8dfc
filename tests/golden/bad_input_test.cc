// Bad input against the shipped program, one row each: its documented exit status and code,
// a message and a hint, and nothing changed.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "golden/shell.h"

namespace lockkeeper::golden {
namespace {

using Json = nlohmann::json;

struct Row {
  const char* name;
  const char* command;  // shell text; `lockkeeper` is the program
  int status;
  const char* code;
};

std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << row.command;
}

const Row kRows[] = {
    {"no_verb", "lockkeeper --json", 64, "usage"},
    {"unknown_verb", "lockkeeper aquire src/a.py --json", 64, "usage"},
    {"unknown_flag", "lockkeeper acquire src/a.py --tll 5m --json", 64, "usage"},
    {"unknown_brief_flag", "lockkeeper acquire -x --json", 64, "usage"},
    {"flag_without_value", "lockkeeper acquire src/a.py --json --ttl", 64, "usage"},
    {"value_for_a_switch", "lockkeeper acquire src/a.py --json --literal=yes", 64, "usage"},
    {"no_resource", "lockkeeper acquire --json", 64, "usage"},
    {"no_resource_to_check", "lockkeeper check --json", 64, "usage"},
    {"nothing_to_release", "lockkeeper release --json", 64, "usage"},
    {"nothing_to_renew", "lockkeeper renew --json", 64, "usage"},
    {"nothing_to_break", "lockkeeper break --reason x --json", 64, "usage"},
    {"break_without_reason", "lockkeeper break src/a.py --json", 64, "usage"},
    {"literal_and_glob", "lockkeeper acquire src/a.py --literal --glob --json", 64, "usage"},
    {"unexpected_word", "lockkeeper list src/a.py --json", 64, "usage"},
    {"unknown_shell", "lockkeeper completion tcsh --json", 64, "usage"},
    {"force_without_store", "lockkeeper purge --force --json", 64, "usage"},
    {"config_word", "lockkeeper config edit --json", 64, "usage"},

    {"empty_name", "lockkeeper acquire '' --json", 65, "invalid_resource"},
    {"not_utf8", R"#(lockkeeper acquire "$(printf 'src/\377.py')" --json)#", 65,
     "invalid_resource"},
    {"control_character", R"#(lockkeeper acquire "$(printf 'src/\033[2J')" --json)#", 65,
     "invalid_resource"},
    {"up_out_of_the_root", "lockkeeper acquire ../../outside --json", 65, "invalid_resource"},
    {"absolute_elsewhere", "lockkeeper acquire /etc/passwd --json", 65, "invalid_resource"},
    {"backslash", R"(lockkeeper acquire 'src\a.py' --json)", 65, "invalid_resource"},
    {"symlink_loop", "ln -s loop loop && lockkeeper acquire loop/x --json", 65, "invalid_resource"},
    {"symlink_out", "ln -s /etc etc && lockkeeper acquire etc/passwd --json", 65,
     "invalid_resource"},
    {"trailing_blank", "lockkeeper acquire 'src/a.py ' --json", 65, "invalid_resource"},
    {"file_as_folder", "lockkeeper acquire src/a.py/ --json", 65, "invalid_resource"},
    {"open_bracket", "lockkeeper acquire --glob 'src/[a' --json", 65, "invalid_resource"},
    {"the_store_itself", "lockkeeper acquire .git/lockkeeper/gate --json", 65, "invalid_resource"},

    {"name_of_64_KiB", "head -c 65536 /dev/zero | tr '\\0' x | lockkeeper acquire - --json", 73,
     "limit_exceeded"},
    {"resources_10001", "seq 10001 | lockkeeper acquire - --json", 73, "limit_exceeded"},
    {"long_reason",
     "lockkeeper acquire src/b.py --reason \"$(head -c 5000 /dev/zero | tr '\\0' r)\" --json", 73,
     "limit_exceeded"},
    {"century", "lockkeeper acquire src/b.py --ttl 36500d --json", 73, "limit_exceeded"},

    {"two_centuries", "lockkeeper acquire src/b.py --ttl 73000d --json", 65, "invalid_input"},
    {"negative_lease", "lockkeeper acquire src/b.py --ttl -5m --json", 65, "invalid_input"},
    {"zero_lease", "lockkeeper acquire src/b.py --ttl 0 --json", 65, "invalid_input"},
    {"lease_without_unit", "lockkeeper acquire src/b.py --ttl 5 --json", 65, "invalid_input"},
    {"huge_lease", "lockkeeper acquire src/b.py --ttl 99999999999999999999s --json", 65,
     "invalid_input"},
    {"bad_wait", "lockkeeper acquire src/b.py --wait=soon --json", 65, "invalid_input"},
    {"bad_mode", "lockkeeper acquire src/b.py --mode both --json", 65, "invalid_input"},
    {"bad_pid", "lockkeeper acquire src/b.py --attach me --json", 65, "invalid_input"},
    {"pid_of_nobody", "lockkeeper acquire src/b.py --attach 2147483647 --json", 65,
     "invalid_input"},
    {"pid_zero", "lockkeeper acquire src/b.py --attach 0 --json", 65, "invalid_input"},
    {"bad_fence", "lockkeeper check src/a.py --fence x --json", 65, "invalid_input"},
    {"fence_of_zero", "lockkeeper check src/a.py --fence 0 --json", 65, "invalid_input"},
    {"huge_fence", "lockkeeper check src/a.py --fence 18446744073709551616 --json", 65,
     "invalid_input"},
    {"empty_agent", "lockkeeper acquire src/b.py --agent '' --json", 65, "invalid_input"},
    {"control_in_agent", R"#(lockkeeper acquire src/b.py --agent "$(printf 'a\033b')" --json)#", 65,
     "invalid_input"},
    {"unknown_store", "lockkeeper list --store redis://x --json", 65, "invalid_input"},
    {"store_nowhere", "lockkeeper list --store lmdb:/no/such/place --json", 65, "invalid_input"},
    {"realm_nowhere", "lockkeeper list --realm no/such/folder --json", 65, "invalid_input"},
    {"bad_since", "lockkeeper log --since yesterday --json", 65, "invalid_input"},
    {"file_of_resources_missing", "lockkeeper acquire --from nosuch --json", 65, "invalid_input"},
    {"lease_without_fence",
     "LOCKKEEPER_LEASE=00000000000000000000000000000000 lockkeeper acquire src/b.py --json", 65,
     "invalid_input"},

    {"lease_id_not_ours", "lockkeeper release --lease nonsense --json", 66, "not_found"},
    {"lease_id_of_nobody", "lockkeeper release --lease 00000000000000000000000000000000 --json", 66,
     "not_found"},
    {"renew_what_is_not_held", "lockkeeper renew src/b.py --json", 66, "not_found"},
    {"release_what_is_not_held", "lockkeeper release src/b.py --json", 66, "not_found"},
    {"break_what_is_not_held", "lockkeeper break src/b.py --reason x --json", 66, "not_found"},
    {"held_by_nobody", "lockkeeper check --held src/b.py --json", 66, "not_found"},

    {"held", "lockkeeper acquire src/a.py --json", 75, "held"},
    {"held_to_check", "lockkeeper check src/a.py --json", 75, "held"},
    {"wait_of_zero", "lockkeeper acquire src/a.py --wait=0 --json", 124, "timeout"},
    {"unknown_prefix", "lockkeeper acquire queue:jobs --json", 77, "operation_not_permitted"},
    {"release_of_anothers", "lockkeeper release src/a.py --json", 77, "not_owner"},
    {"fence_not_current", "lockkeeper check src/b.py --fence 5 --json", 79, "lost"},
    {"garbage_in_config", "echo '[lease' >lockkeeper.toml && lockkeeper acquire src/b.py --json",
     78, "invalid_config"},
    {"unknown_key_in_config",
     "printf '[lease]\\ndefualt = \"1h\"\\n' >lockkeeper.toml && lockkeeper acquire src/b.py "
     "--json",
     78, "invalid_config"},
    {"coordinator_word", "lockkeeper coordinator lock src/a.py --json", 64, "usage"},
    {"coordinator_without_path", "lockkeeper coordinator acquire --json", 64, "usage"},
    {"coordinator_ttl", "lockkeeper coordinator acquire src/b.py --ttl-minutes 481 --json", 65,
     "invalid_input"},
    {"coordinator_ttl_word", "lockkeeper coordinator acquire src/b.py --ttl-minutes 5m --json", 65,
     "invalid_input"},
    {"coordinator_ttl_of_the_environment",
     "LOCK_TTL_MINUTES=-1 lockkeeper coordinator acquire src/b.py --json", 65, "invalid_input"},
    {"coordinator_out_of_the_root", "lockkeeper coordinator acquire ../../etc/passwd --json", 65,
     "invalid_resource"},
    {"coordinator_agent", "AGENT_ID=' x' lockkeeper coordinator acquire src/b.py --json", 65,
     "invalid_input"},
    {"coordinator_session", "SESSION_ID=a// lockkeeper coordinator acquire src/b.py --json", 65,
     "invalid_input"},
    {"coordinator_agent_type",
     "lockkeeper coordinator acquire src/b.py --json "
     "--agent-type \"$(head -c 300 /dev/zero | tr '\\0' t)\"",
     65, "invalid_input"},
    {"coordinator_prefix", "lockkeeper coordinator acquire queue:x --json", 77,
     "operation_not_permitted"},
    {"coordinator_anothers", "lockkeeper coordinator release src/a.py --json", 77, "not_owner"},
    {"coordinator_held", "lockkeeper coordinator acquire src/ --json", 75, "held"},
    {"coordinator_checked", "lockkeeper coordinator check 'src/*' --json", 75, "held"},
    {"pause_without_reason", "lockkeeper pause F-1 --json", 64, "usage"},
    {"pause_of_nothing", "lockkeeper pause '' --reason x --json", 64, "usage"},
    {"pause_of_an_odd_name", "lockkeeper pause 'a,b&c' --reason x --json", 65, "invalid_resource"},
    {"pause_for_no_time", "lockkeeper pause F-1 --reason x --ttl 0 --json", 65, "invalid_input"},
    {"resume_what_goes_on", "lockkeeper resume F-1 --json", 66, "not_found"},
    {"gate_of_two", "lockkeeper gate F-1 F-2 --json", 64, "usage"},
    {"gate_out_of_the_root", "lockkeeper gate ../x --json", 65, "invalid_resource"},
    {"run_for_an_odd_feature", "lockkeeper run --feature 'a b' src/b.py --json -- true", 65,
     "invalid_input"},
    {"ports_word", "lockkeeper ports take x --json", 64, "usage"},
    {"ports_beyond_the_last", "PORT_ALLOC_BASE=65500 lockkeeper ports allocate x --json", 78,
     "invalid_config"},
    {"ports_session", R"#(lockkeeper ports allocate "$(printf 'a\nb')" --json)#", 65,
     "invalid_input"},
    {"ports_of_nobody", "lockkeeper ports status nobody --json", 66, "not_found"},
    {"policy_of_nothing",
     "printf '[[policy]]\\nreason = \"x\"\\n' >lockkeeper.toml && lockkeeper acquire src/b.py "
     "--json",
     78, "invalid_config"},
    {"plan_missing", "lockkeeper validate nosuch.yaml --json", 66, "not_found"},
    {"plan_that_is_a_folder", "lockkeeper validate src --json", 65, "invalid_input"},
    {"plan_that_is_a_pipe", "mkfifo p && lockkeeper validate p --json", 65, "invalid_input"},
    {"plan_without_end", "lockkeeper validate /dev/zero --json", 73, "limit_exceeded"},
    {"plan_that_is_empty", "lockkeeper validate /dev/null --json", 65, "invalid_input"},
    {"plan_that_is_binary", "lockkeeper validate \"$(command -v lockkeeper)\" --json", 65,
     "invalid_input"},
    {"plan_of_64_MiB", "truncate -s 64M p && lockkeeper validate p --json", 65, "invalid_input"},
    {"plan_beyond_64_MiB", "truncate -s 65M p && lockkeeper validate p --json", 73,
     "limit_exceeded"},
    {"plan_of_blanks", "yes ' ' | head -c 60000000 >p && lockkeeper validate p --json", 65,
     "invalid_input"},
    {"plan_not_utf8", R"(printf 'packages: \377' >p && lockkeeper validate p --json)", 65,
     "invalid_input"},
    {"plan_with_an_object",
     "echo 'packages: !!python/object/apply:os.system [id]' >p && lockkeeper validate p --json", 65,
     "invalid_input"},
    {"plan_that_laughs",
     "(echo 'a0: &a0 [x]'; for i in $(seq 30); do j=$((i-1)); "
     "echo \"a$i: &a$i [*a$j,*a$j,*a$j,*a$j,*a$j,*a$j,*a$j,*a$j]\"; done) >p && "
     "lockkeeper validate p --json",
     65, "invalid_input"},
    {"plan_in_a_loop", "echo 'packages: &a [*a]' >p && lockkeeper validate p --json", 65,
     "invalid_input"},
    {"plan_with_a_key_twice", R"(printf 'a: 1\na: 2\n' >p && lockkeeper validate p --json)", 65,
     "invalid_input"},
    {"plan_too_deep", "head -c 100000 /dev/zero | tr '\\0' '[' >p && lockkeeper validate p --json",
     65, "invalid_input"},
    {"plan_of_two_documents", R"(printf 'a: 1\n---\nb: 2\n' >p && lockkeeper validate p --json)",
     65, "invalid_input"},
    {"plan_with_control_characters",
     R"(printf 'packages: [{package_id: "\\e[2J"}]' >p && lockkeeper validate p --json)", 65,
     "invalid_input"},
    {"one_plan_of_two_missing",
     "echo 'agents: [{agent: a, files: [x]}]' >p && lockkeeper validate nosuch p --json", 66,
     "not_found"},
    {"planning_nothing", "lockkeeper plan nosuch.yaml --json", 66, "not_found"},
    {"planning_a_folder", "lockkeeper plan src --json", 65, "invalid_input"},
    {"planning_an_empty_file", "lockkeeper plan /dev/null --json", 65, "invalid_input"},
    {"planning_a_laugh",
     "(echo 'a0: &a0 [x]'; for i in $(seq 30); do j=$((i-1)); "
     "echo \"a$i: &a$i [*a$j,*a$j,*a$j,*a$j,*a$j,*a$j,*a$j,*a$j]\"; done) >p && "
     "lockkeeper plan p --json",
     65, "invalid_input"},
    {"planning_a_cycle",
     "echo 'agents: [{agent: a, after: b}, {agent: b, after: a}]' >p && lockkeeper plan p --json",
     65, "invalid_input"},
    {"planning_all_against_all",
     "(echo 'agents:'; for i in $(seq 2100); do echo \"- {agent: a$i, files: [x]}\"; done) >p && "
     "lockkeeper plan p --json",
     73, "limit_exceeded"},
    {"resolution_that_is_none",
     "echo 'agents: [{agent: a, files: [x]}]' >p && lockkeeper plan p --apply 1 --json", 66,
     "not_found"},
    {"resolution_into_a_folder",
     "echo '[{agent: a, files: [x, y]}, {agent: b, files: [x, z]}]' >p && "
     "lockkeeper plan p --apply 1 --output src --json",
     65, "invalid_input"},
    {"resolution_into_nowhere",
     "echo '[{agent: a, files: [x, y]}, {agent: b, files: [x, z]}]' >p && "
     "lockkeeper plan p --apply 1 --output none/q --json",
     1, "failed"},
    {"resolution_over_the_plan",
     "echo '[{agent: a, files: [x, y]}, {agent: b, files: [x, z]}]' >p && "
     "lockkeeper plan p --apply 1 --output ./p --json",
     64, "usage"},
    {"fault_that_is_none", "LOCKKEEPER_TEST_FAULT=explode lockkeeper list --json", 65,
     "invalid_input"},
};

// What the table holds, as seen by others: every lease with its end.
std::string table(const Shell& shell) {
  const Ran ran = shell.run("rm -f lockkeeper.toml loop etc; lockkeeper list --json");
  EXPECT_EQ(ran.status, 0) << ran.out << ran.err;
  return ran.out;
}

class BadInput : public testing::TestWithParam<Row> {};

TEST_P(BadInput, has_its_code_and_changes_nothing) {
  const Row& row = GetParam();
  const Shell shell;
  ASSERT_EQ(shell.run("lockkeeper acquire src/a.py --agent holder").status, 0);
  const std::string before = table(shell);
  const Ran ran = shell.run(row.command);
  EXPECT_EQ(ran.status, row.status) << ran.out << ran.err;
  const Json reply = Json::parse(ran.out, nullptr, false);
  ASSERT_TRUE(reply.is_object()) << "one JSON object on stdout: " << ran.out;
  ASSERT_TRUE(reply.contains("error")) << ran.out;
  EXPECT_EQ(reply["error"].value("code", ""), row.code) << ran.out;
  EXPECT_FALSE(reply["error"].value("message", "").empty());
  EXPECT_FALSE(reply["error"].value("hint", "").empty()) << "one thing to do next: " << ran.out;
  EXPECT_EQ(table(shell), before);
}

INSTANTIATE_TEST_SUITE_P(Rows, BadInput, testing::ValuesIn(kRows),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(BadInput, in_a_repository_without_a_store_check_and_list_create_nothing) {
  const Shell shell;
  EXPECT_EQ(shell.run("lockkeeper check src/a.py").status, 0);
  EXPECT_EQ(shell.run("lockkeeper list").status, 0);
  EXPECT_EQ(shell.run("lockkeeper log").status, 0);
  EXPECT_EQ(shell.run("test ! -e .git/lockkeeper && test ! -e ../home/.local").status, 0);
}

TEST(BadInput, duplicates_and_patterns_that_match_nothing_are_fine) {
  const Shell shell;
  const Ran ran = shell.run("lockkeeper acquire src/a.py ./src/a.py src//a.py 'no/*.such' --json");
  EXPECT_EQ(ran.status, 0) << ran.out;
  EXPECT_EQ(Json::parse(ran.out)["lease"]["resources"].size(), 2U) << ran.out;
}

TEST(BadInput, a_full_stdout_is_not_success) {
  const Shell shell;
  EXPECT_EQ(shell.run("lockkeeper list --json >/dev/full").status, 1);
}

TEST(BadInput, words_reach_the_table_as_they_were_typed) {
  const Shell shell;
  const Ran ran = shell.run("lockkeeper acquire --literal '[slug]' '{}' ++ -- -x --json --json");
  EXPECT_EQ(ran.status, 0) << ran.out << ran.err;
  const Ran listed = shell.run("lockkeeper list --json");
  const Json list = Json::parse(listed.out);
  std::vector<std::string> keys;
  for (const Json& resource : list["leases"][0]["resources"]) keys.push_back(resource["key"]);
  EXPECT_EQ(keys, (std::vector<std::string>{"++", "--json", "-x", "[slug]", "{}"})) << listed.out;
}

TEST(BadInput, after_wait_comes_a_resource_and_not_a_duration) {
  const Shell shell;
  const Ran ran = shell.run("lockkeeper acquire --wait src/a.py --json");
  EXPECT_EQ(ran.status, 0) << ran.out << ran.err;
  EXPECT_EQ(Json::parse(ran.out)["lease"]["resources"][0]["key"], "src/a.py");
}

}  // namespace
}  // namespace lockkeeper::golden
