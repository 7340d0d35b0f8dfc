#include "realm/config.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "realm/config_schema.h"
#include "realm/resolve.h"
#include "realm/settings_testing.h"

namespace lockkeeper::realm {
namespace {

class Config : public SettingsFiles {
 protected:
  key::Resource resource(const std::string& text) const {
    return key::parse(text, loaded().key_rules(realm))->resource;
  }
};

// A parser that calls itself for each part of a key once used up the stack.
TEST_F(Config, F29_a_key_that_nests_too_deeply_is_refused) {
  std::string key = "a";
  for (int i = 0; i < 100'000; ++i) key += ".a";
  shared(key + " = 1\n");
  const Error error = refused();
  EXPECT_EQ(error.code, Code::kInvalidConfig);
  EXPECT_NE(error.message.find("lockkeeper.toml:1: more than 1000 dots in one line"),
            std::string::npos)
      << error.message;
}

TEST_F(Config, without_files_everything_is_a_default) {
  const Settings settings = loaded();
  EXPECT_EQ(settings.lease_default_ms.value, 3'600'000);
  EXPECT_EQ(settings.resources_per_agent.value, 10'000u);
  EXPECT_EQ(settings.durability.value, Durability::kFull);
  EXPECT_TRUE(settings.files.empty());
  for (const SettingRow& row : settings_rows(settings)) EXPECT_EQ(row.origin, "default");
}

TEST_F(Config, reads_every_key) {
  shared(
      "[lease]\ndefault = \"20m\"\nlongest = \"2h\"\nendless = false\norphan_grace = \"5s\"\n"
      "[limits]\nresources_per_agent = 50\nresources_per_request = 20\n"
      "[keys]\nprefixes = [\"team\", \"team\"]\nfeature_purposes = [\"schema\"]\nstrict = true\n"
      "[store]\ndurability = \"process\"\n[events]\nkept = 500\n"
      "[ports]\nbase = 20000\nrange = 10\nsessions = 5\nttl = \"1h\"\n"
      "[[protect]]\npaths = [\"migrations/\", \"team:core\"]\nagents = [\"dba\"]\nreason = "
      "\"r\"\n");
  const Settings settings = loaded();
  EXPECT_EQ(settings.lease_default_ms.value, 20 * 60'000);
  EXPECT_EQ(settings.lease_default_ms.origin.text(), repo.at("r/lockkeeper.toml:2"));
  EXPECT_EQ(settings.lease_longest_ms.value, 2 * 3'600'000);
  EXPECT_FALSE(settings.lease_endless.value);
  EXPECT_EQ(settings.orphan_grace_ms.value, 5'000);
  EXPECT_EQ(settings.resources_per_agent.value, 50u);
  EXPECT_EQ(settings.resources_per_request.value, 20u);
  EXPECT_EQ(settings.key_prefixes.value, std::vector<std::string>{"team"});
  EXPECT_EQ(settings.feature_purposes.value, (std::vector<std::string>{"pause", "schema"}));
  EXPECT_TRUE(settings.keys_strict.value);
  EXPECT_EQ(settings.durability.value, Durability::kProcess);
  EXPECT_EQ(settings.events_kept.value, 500u);
  EXPECT_EQ(settings.ports_base.value, 20'000u);
  EXPECT_EQ(settings.ports_range.value, 10u);
  EXPECT_EQ(settings.ports_sessions.value, 5u);
  EXPECT_EQ(settings.ports_ttl_ms.value, 3'600'000);
  ASSERT_EQ(settings.protect.size(), 1u);
  EXPECT_EQ(settings.protect[0].paths.size(), 2u);
  const key::Rules rules = settings.key_rules(realm);
  EXPECT_TRUE(rules.strict);
  EXPECT_EQ(rules.extra_prefixes, std::vector<std::string>{"team"});
}

TEST_F(Config, local_comes_before_repository_before_user) {
  user("[lease]\ndefault = \"1m\"\nlongest = \"5h\"\nendless = false\n");
  shared("[lease]\ndefault = \"2m\"\nlongest = \"6h\"\n");
  local("[lease]\ndefault = \"3m\"\n");
  const Settings settings = loaded();
  EXPECT_EQ(settings.lease_default_ms.value, 180'000);
  EXPECT_EQ(settings.lease_longest_ms.value, 6 * 3'600'000);
  EXPECT_FALSE(settings.lease_endless.value);
  EXPECT_EQ(settings.files,
            (std::vector<std::string>{repo.at("r/.git/lockkeeper/config.toml"),
                                      repo.at("r/lockkeeper.toml"),
                                      repo.at("home/.config/lockkeeper/config.toml")}));
}

TEST_F(Config, the_rows_of_show_can_be_read_back) {
  shared(
      "[lease]\ndefault = \"1h30m\"\nlongest = \"none\"\n[keys]\nprefixes = [\"team\"]\n"
      "[hook]\npolicy = \"ask\"\non_failure = \"pass\"\nignore = [\"/out/\"]\n");
  const auto rows = settings_rows(loaded());
  std::string text;
  for (const SettingRow& row : rows) text += row.name + " = " + row.value + "\n";
  Settings again;
  RawRules rules;
  ASSERT_TRUE(apply_config(text, "again", again, rules).has_value()) << text;
  EXPECT_EQ(again.lease_default_ms.value, 5'400'000);
  EXPECT_EQ(again.lease_longest_ms.value, kNoEnd);
  EXPECT_EQ(again.key_prefixes.value, std::vector<std::string>{"team"});
  EXPECT_EQ(again.durability.value, Durability::kFull);
  EXPECT_EQ(again.hook_policy.value, HookPolicy::kAsk);
  EXPECT_FALSE(again.hook_block_on_failure.value);
  EXPECT_EQ(again.hook_ignore.value, std::vector<std::string>{"/out/"});
  EXPECT_EQ(rows[0].origin, repo.at("r/lockkeeper.toml:2"));
}

TEST_F(Config, B16_values_are_json_too) {
  shared(
      "[lease]\ndefault = \"1h30m\"\n[keys]\nprefixes = [\"team\"]\n"
      "[[protect]]\npaths = [\"a/\"]\nreason = \"" +
      std::string(300, 'r') +
      "\"\n"
      "[[policy]]\nagents = [\"x*\"]\ndeny = [\"b\"]\n"
      "[[layout]]\nkind = \"mkdir\"\nroot = \"spec\"\n");
  std::map<std::string, Json> values;
  for (const SettingRow& row : settings_rows(loaded())) {
    values[row.name] = Json::parse(row.json, nullptr, false);
    EXPECT_FALSE(values[row.name].is_discarded()) << row.name << ": " << row.json;
  }
  EXPECT_EQ(values["lease.default"], "1h30m");
  EXPECT_EQ(values["keys.prefixes"], Json::array({"team"}));
  EXPECT_EQ(values["protect"]["paths"], Json::array({"a/"}));
  EXPECT_EQ(values["protect"]["reason"], std::string(300, 'r')) << "never cut";
  EXPECT_EQ(values["policy"]["deny"], Json::array({"b"}));
  EXPECT_EQ(values["layout"]["root"], "spec");
}

TEST_F(Config, B11_a_file_with_a_mistake_can_be_left_out) {
  user("[lease]\ndefault = \"2h\"\n");
  shared("[lease]\ndefault = \"3h\"\nendless = 7\n");
  local("[lease]\nlongest = \"4h\"\n");
  EXPECT_EQ(refused().code, Code::kInvalidConfig);
  std::vector<Error> mistakes;
  const auto settings = load_settings(realm, repo.env(), &mistakes);
  ASSERT_TRUE(settings);
  ASSERT_EQ(mistakes.size(), 1u);
  EXPECT_NE(mistakes[0].message.find("lockkeeper.toml:3"), std::string::npos);
  EXPECT_EQ(settings->lease_default_ms.value, 2 * 3'600'000) << "nothing of it is used";
  EXPECT_EQ(settings->lease_longest_ms.value, 4 * 3'600'000);
  EXPECT_TRUE(settings->partial);
  shared("");
  EXPECT_FALSE(loaded().partial);
}

TEST_F(Config, unknown_keys_come_with_the_nearest_known_one) {
  const auto hint_of = [&](const std::string& text) {
    shared(text);
    const Error error = refused();
    EXPECT_EQ(error.code, Code::kInvalidConfig) << text;
    EXPECT_NE(error.message.find("lockkeeper.toml:"), std::string::npos) << error.message;
    return error.hint;
  };
  EXPECT_EQ(hint_of("[leese]\ndefault = \"1h\"\n"), "did you mean lease?");
  EXPECT_EQ(hint_of("[lease]\ndefualt = \"1h\"\n"), "did you mean lease.default?");
  EXPECT_EQ(hint_of("[[protect]]\npath = [\"a\"]\n"), "did you mean protect.paths?");
  EXPECT_EQ(hint_of("durability = \"full\"\n"), "did you mean store.durability?");
  EXPECT_EQ(hint_of("[hook]\nonFailure = \"pass\"\n"), "did you mean hook.on_failure?");
  EXPECT_EQ(hint_of("[[hook.paths]]\n"), "did you mean hook.path?");
  for (const char* const text : {"[lease]\nttl = \"5m\"\n", "ttl = \"5m\"\n"}) {
    EXPECT_EQ(hint_of(text), "did you mean lease.default?") << "not ports.ttl";
  }
  EXPECT_EQ(hint_of("[lease]\nmax = \"5m\"\n"), "did you mean lease.longest?");
  EXPECT_EQ(hint_of("[lease]\ndurability = \"full\"\n"), "did you mean store.durability?");
  EXPECT_TRUE(hint_of("[zzzzzzzz]\n").starts_with("known here: lease"));
  EXPECT_TRUE(hint_of("[events]\nzzzzzz = 1\n").starts_with("known here: events.kept"));
}

TEST_F(Config, garbage_in_every_key_names_file_line_key_value_and_what_was_expected) {
  const std::vector<std::string> keys = {"lease.default",
                                         "lease.longest",
                                         "lease.endless",
                                         "lease.orphan_grace",
                                         "limits.resources_per_agent",
                                         "limits.resources_per_request",
                                         "keys.prefixes",
                                         "keys.feature_purposes",
                                         "keys.strict",
                                         "store.durability",
                                         "events.kept",
                                         "ports.base",
                                         "ports.range",
                                         "ports.sessions",
                                         "ports.ttl",
                                         "hook.policy",
                                         "hook.wait",
                                         "hook.worktrees",
                                         "hook.on_failure",
                                         "hook.offline",
                                         "hook.wake",
                                         "hook.ignore",
                                         "git.policy",
                                         "git.people",
                                         "snapshots.enabled",
                                         "snapshots.keep",
                                         "snapshots.size",
                                         "snapshots.file",
                                         "snapshots.only_hash",
                                         "snapshots.ignored",
                                         "worktrees.copy",
                                         "worktrees.link",
                                         "server.offline"};
  const auto rows = settings_rows(Settings{});
  ASSERT_EQ(keys.size(), rows.size()) << "a new key needs a row here";
  const std::vector<std::string> garbage = {
      "\"garbage!\"", "-1",      "1e300",          "nan",
      "1979-05-27",   "{}",      "[[1]]",          "[\"UPPER\"]",
      "[\"a\", 1]",   "\"-5s\"", "\"999999999h\"", "9223372036854775807",
      "\"\"",         "[\"\"]"};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(keys[i], rows[i].name);
    for (const std::string& value : garbage) {
      const bool patterns = keys[i] == "hook.ignore" || keys[i] == "snapshots.only_hash" ||
                            keys[i].starts_with("worktrees.");
      if (patterns && value == "[\"UPPER\"]") continue;  // a name like any other
      shared("\n" + keys[i] + " = " + value + "\n");
      const Error error = refused();
      EXPECT_EQ(error.code, Code::kInvalidConfig) << keys[i] << value;
      EXPECT_NE(error.message.find(repo.at("r/lockkeeper.toml:2")), std::string::npos)
          << error.message;
      EXPECT_NE(error.message.find(keys[i]), std::string::npos) << error.message;
      EXPECT_NE(error.message.find("expected"), std::string::npos) << error.message;
    }
  }
}

TEST_F(Config, values_are_bounded) {
  const std::vector<std::string> bad = {"limits.resources_per_agent = 0",
                                        "limits.resources_per_agent = 1000001",
                                        "limits.resources_per_request = 0",
                                        "limits.resources_per_request = 10001",
                                        "events.kept = 99",
                                        "events.kept = 10000001",
                                        "ports.base = 1023",
                                        "ports.base = 65533",
                                        "ports.range = 3",
                                        "ports.sessions = 0",
                                        "ports.sessions = 1001",
                                        "ports.ttl = \"none\"",
                                        "hook.wait = \"10001ms\"",
                                        "hook.wait = \"none\"",
                                        "hook = 3",
                                        "[[hook]]",
                                        "lease.default = \"999ms\"",
                                        "lease.longest = \"0\"",
                                        "lease.default = \"101000000h\"",
                                        "lease.orphan_grace = \"25h\"",
                                        "lease = 3",
                                        "protect = 3",
                                        "protect = [3]",
                                        "[protect]"};
  for (const std::string& line : bad) {
    shared(line);
    EXPECT_EQ(refused().code, Code::kInvalidConfig) << line;
  }
  for (const char* key : {"keys.prefixes", "keys.feature_purposes"}) {
    shared(std::string(key) + " = [\"" + std::string(64, 'a') + "\"]\n");
    loaded();
    shared(std::string(key) + " = [\"" + std::string(65, 'a') + "\"]\n");
    EXPECT_EQ(refused().code, Code::kInvalidConfig) << key;
  }
  std::string many = "keys.prefixes = [";
  for (int i = 0; i < 65; ++i) many += "\"p" + std::to_string(i) + "\",";
  shared(many + "]\n");
  EXPECT_NE(refused().message.find("65 entries"), std::string::npos) << refused().message;
  many.clear();
  for (int i = 0; i < 52; ++i) many += "[[protect]]\npaths = [\"a\", \"b\", \"c\", \"d\", \"e\"]\n";
  shared(many);
  EXPECT_NE(refused().message.find("260 in this file"), std::string::npos) << refused().message;
}

TEST_F(Config, garbage_in_protect_rules) {
  const std::vector<std::string> bad = {
      "paths = []",
      "agents = [\"a\"]",
      "paths = \"a\"",
      "paths = [3]",
      "paths = [\"../out\"]",
      "paths = [\"/abs\"]",
      "paths = [\"\"]",
      "paths = [\"a\\\\b\"]",
      "paths = [\"nonsense:x\"]",
      "paths = [\"[\"]",
      "paths = [\"a\"]\nagents = [\"\"]",
      "paths = [\"a\"]\nagents = [\"a\\nb\"]",
      "paths = [\"a\"]\nagents = 3",
      "paths = [\"a\"]\nreason = 3",
      "paths = [\"a\"]\nreason = \"" + std::string(501, 'x') + "\""};
  for (const std::string& rule : bad) {
    shared("[[protect]]\n" + rule + "\n");
    const Error error = refused();
    EXPECT_EQ(error.code, Code::kInvalidConfig) << rule;
    EXPECT_NE(error.message.find(repo.at("r/lockkeeper.toml:")), std::string::npos)
        << error.message;
  }
}

TEST_F(Config, a_file_that_is_no_config_is_refused) {
  for (const std::string& text :
       {std::string("[lease\n"), std::string("a = = b"), std::string("\xff\xfe"),
        std::string("x = \"\0\"", 7), std::string(300'000, '#'), "a = " + std::string(5000, '['),
        std::string("lease.default = \"1h\"\nlease.default = \"2h\"\n")}) {
    shared(text);
    const Error error = refused();
    EXPECT_EQ(error.code, Code::kInvalidConfig);
    EXPECT_NE(error.message.find("lockkeeper.toml"), std::string::npos) << error.message;
    EXPECT_TRUE(is_valid_utf8(error.message));
  }
}

// toml++ asserts that a key begins here, and takes some letters for unreachable; a debug build died
// of the first, a sanitizer of the second.
TEST_F(Config, F29_what_toml_does_not_expect_is_refused) {
  for (const char* text : {"[=a]\n", "[a.=b]\n", "[[#]]\n", "x = {=1}\n", "\u00e9 = 1\n"}) {
    shared(text);
    EXPECT_EQ(refused().code, Code::kInvalidConfig) << text;
  }
}

TEST_F(Config, I10_a_file_that_is_there_but_cannot_be_seen_is_not_absent) {
  repo.folder("r/lockkeeper.toml");
  EXPECT_EQ(refused().code, Code::kInvalidConfig);
  std::filesystem::remove(repo.at("r/lockkeeper.toml"));
  ASSERT_EQ(::mkfifo(repo.at("r/lockkeeper.toml").c_str(), 0600), 0);
  EXPECT_EQ(refused().code, Code::kInvalidConfig);
  std::filesystem::remove(repo.at("r/lockkeeper.toml"));
  repo.write("elsewhere.toml", "[lease]\ndefault = \"7m\"\n");
  repo.link(repo.at("elsewhere.toml"), "r/lockkeeper.toml");
  EXPECT_EQ(refused().code, Code::kInvalidConfig);
  EXPECT_NE(refused().message.find("symlink"), std::string::npos) << refused().message;
}

TEST_F(Config, the_users_own_file_may_be_a_symlink) {
  repo.write("dotfiles/lk.toml", "[lease]\ndefault = \"7m\"\n");
  repo.link(repo.at("dotfiles/lk.toml"), "home/.config/lockkeeper/config.toml");
  EXPECT_EQ(loaded().lease_default_ms.value, 7 * 60'000);
  const auto no_home = load_settings(realm, environment_of({}));
  ASSERT_TRUE(no_home.has_value());
  EXPECT_EQ(no_home->lease_default_ms.value, 3'600'000);
}

TEST_F(Config, the_default_fits_the_longest) {
  shared("[lease]\nlongest = \"30m\"\n");
  EXPECT_EQ(loaded().lease_default_ms.value, 30 * 60'000);
  user("[lease]\ndefault = \"4h\"\n");  // a user's taste does not make the repository unusable
  EXPECT_EQ(loaded().lease_default_ms.value, 30 * 60'000);
  shared("[lease]\ndefault = \"1h\"\nlongest = \"30m\"\n");
  EXPECT_EQ(refused().code, Code::kInvalidConfig);
  shared("[lease]\ndefault = \"none\"\nendless = false\n");
  EXPECT_EQ(refused().code, Code::kInvalidConfig);
  user("[lease]\ndefault = \"none\"\n");
  shared("[lease]\nendless = false\nlongest = \"none\"\n");
  EXPECT_EQ(loaded().lease_default_ms.value, 3'600'000);
}

TEST_F(Config, M12_lease_ttls_are_checked) {
  Settings settings = loaded();
  EXPECT_EQ(lease_ttl(settings, std::nullopt).value(), 3'600'000);
  EXPECT_EQ(lease_ttl(settings, 5'000).value(), 5'000);
  EXPECT_EQ(lease_ttl(settings, kNoEnd).value(), kNoEnd);
  EXPECT_EQ(lease_ttl(settings, 0).error().code, Code::kInvalidInput);
  EXPECT_EQ(lease_ttl(settings, -5).error().code, Code::kInvalidInput);
  EXPECT_EQ(lease_ttl(settings, kLongestDurationMs).error().code, Code::kLimitExceeded);
  settings.lease_longest_ms = {7'200'000, {"f.toml", 2}};
  const auto too_long = lease_ttl(settings, kNoEnd);
  ASSERT_FALSE(too_long.has_value()) << "M12: one limit, also for none";
  EXPECT_EQ(too_long.error().code, Code::kLimitExceeded);
  EXPECT_EQ(too_long.error().hint.find("none"), std::string::npos);
  settings.lease_endless = {true, {"f.toml", 3}};
  EXPECT_EQ(lease_ttl(settings, kNoEnd).value(), kNoEnd) << "said in so many words";
  settings.lease_endless = {false, {"f.toml", 3}};
  const auto endless = lease_ttl(settings, kNoEnd);
  ASSERT_FALSE(endless.has_value());
  EXPECT_EQ(endless.error().code, Code::kOperationNotPermitted);
  EXPECT_NE(endless.error().message.find("f.toml:3"), std::string::npos);
}

TEST_F(Config, protected_paths_are_for_the_named_agents_alone) {
  shared(
      "[[protect]]\npaths = [\"migrations/**\", \"flag:pay-*\"]\nagents = [\"dba\"]\n"
      "reason = \"one at a time\"\n\n[[protect]]\npaths = [\"LICENSE\"]\n");
  const Settings settings = loaded();
  EXPECT_TRUE(check_allowed(settings, "dba", resource("migrations/1.sql")).has_value());
  EXPECT_TRUE(check_allowed(settings, "web", resource("src/a.py")).has_value());
  const auto no = check_allowed(settings, "web", resource("migrations/1.sql"));
  ASSERT_FALSE(no.has_value());
  EXPECT_EQ(no.error().code, Code::kOperationNotPermitted);
  EXPECT_NE(no.error().message.find("migrations/**"), std::string::npos) << no.error().message;
  EXPECT_NE(no.error().message.find("lockkeeper.toml:1"), std::string::npos);
  EXPECT_NE(no.error().message.find("one at a time"), std::string::npos);
  EXPECT_NE(no.error().hint.find("dba"), std::string::npos);
  // By overlap: a wider request does not slip past the rule.
  for (const char* wide : {"./", "migrations/", "**/*.sql", "migrations/2.sql", "flag:pay-1"}) {
    EXPECT_FALSE(check_allowed(settings, "web", resource(wide)).has_value()) << wide;
  }
  EXPECT_FALSE(check_allowed(settings, "dba", resource("LICENSE")).has_value());
}

// Failed before: the rule was read without the disk and met neither of the two.
TEST_F(Config, a_protected_path_is_read_as_a_request_would_be) {
  repo.write("r/app/[slug]/page.tsx", "");
  repo.folder("r/real");
  repo.link("real", "r/alias");
  shared("[[protect]]\npaths = [\"app/[slug]/page.tsx\", \"alias/\"]\n");
  const Settings settings = loaded();
  Resolver resolver(realm, settings.key_rules(realm), {}, repo.env());
  for (const char* typed : {"app/[slug]/page.tsx", "alias/x", "real/x"}) {
    const auto asked = resolver.resolve(typed);
    ASSERT_TRUE(asked.has_value()) << typed;
    EXPECT_FALSE(check_allowed(settings, "a", asked->resource).has_value()) << typed;
  }
}

TEST_F(Config, no_file_lifts_anothers_protection) {
  user("[[protect]]\npaths = [\"a\"]\n");
  shared("[[protect]]\npaths = [\"b\"]\n");
  local("[[protect]]\npaths = [\"c\"]\n");
  const Settings settings = loaded();
  EXPECT_EQ(settings.protect.size(), 3u);
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_FALSE(check_allowed(settings, "x", resource(name)).has_value()) << name;
  }
  const auto rows = settings_rows(settings);
  EXPECT_EQ(std::ranges::count(rows, "protect", &SettingRow::name), 3);
}

}  // namespace
}  // namespace lockkeeper::realm
