// What the program tells people: who they are, what is theirs, what to do next.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <map>

#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class People : public testing::Test {
 protected:
  People() { stage_.env["LK"] = Stage::program(); }

  Answer shell(const std::string& script) {
    return stage_.finish(stage_.command({"sh", "-c", script}));
  }

  // At a terminal of its own, where stdout and stderr are one.
  Process at_terminal(const std::string& agent, const Words& words) {
    Launch launch = stage_.launch(agent, words);
    launch.terminal = true;
    return Process(std::move(launch));
  }

  Stage stage_;
};

TEST_F(People, B6_WhoamiSaysWhoAndWhy) {
  STAGE_IS_LOCAL("the hub has made the table");
  const Json named = stage_.expect(0, "ann", {"whoami"}).json();
  EXPECT_EQ(named["agent"], "ann");
  EXPECT_EQ(named["agent_from"], "LOCKKEEPER_AGENT");
  EXPECT_TRUE(named["session"].is_null());
  EXPECT_EQ(named["realm"], stage_.repo());
  EXPECT_EQ(named["realm_from"], "the current folder");
  EXPECT_EQ(named["store"], stage_.store());
  EXPECT_EQ(named["store_exists"], false);
  EXPECT_TRUE(named["under"].is_null());
  stage_.env["CLAUDECODE"] = "1";
  stage_.env["CLAUDE_CODE_SESSION_ID"] = "s1";
  const std::string text = stage_.as("", {"whoami"}).out;
  EXPECT_THAT(text, HasSubstr("claude-code"));
  EXPECT_THAT(text, HasSubstr("from CLAUDE_CODE_SESSION_ID"));
  const Answer inside = shell("\"$LK\" run a -- \"$LK\" whoami --json");
  EXPECT_THAT(inside.json()["session"].get<std::string>(), StartsWith("s1/run-"));
  EXPECT_EQ(inside.json()["realm_from"], "LOCKKEEPER_REALM");
  EXPECT_TRUE(inside.json()["under"].is_string());
}

// A session was told that it holds what its subagent works on.
TEST_F(People, ASessionIsToldWhatItsSubagentHolds) {
  const auto as = [&](const std::string& session, Words words) {
    words.insert(words.end(), {"--session", session});
    return stage_.as("ann", words);
  };
  EXPECT_EQ(as("S", {"acquire", "y"}).status, 0);
  EXPECT_EQ(as("S/x", {"acquire", "y"}).status, 0);
  const Answer renewed = as("S", {"acquire", "y"});
  EXPECT_EQ(renewed.status, 0);
  EXPECT_THAT(renewed.err, HasSubstr("y is held by your subagent x"));
  const Json json = as("S", {"acquire", "y", "--json"}).json();
  EXPECT_EQ(json["outcome"], "renewed");
  EXPECT_EQ(json["conflicts"][0]["session"], "S/x");
  for (const Words& words : {Words{"check", "y"}, Words{"check", "--held", "y"}}) {
    const Answer checked = as("S", words);
    EXPECT_EQ(checked.status, 75) << checked.all();
    EXPECT_THAT(checked.err, HasSubstr("y is held by your subagent x"));
  }
  EXPECT_EQ(as("S/x", {"check", "--held", "y"}).status, 0);
  EXPECT_EQ(as("S", {"release", "y"}).status, 0);
  const Answer released = as("S", {"release", "y"});
  EXPECT_EQ(released.status, 77);
  EXPECT_THAT(released.err, HasSubstr("y is held by your subagent x, which alone may release it"));
  const Answer late = as("S", {"renew", "y"});
  EXPECT_EQ(late.status, 77);
  EXPECT_THAT(late.err, HasSubstr("y is held by your subagent x"));
}

TEST_F(People, B6_ListMarksAndSelectsWhatIsOnesOwn) {
  stage_.expect(0, "ann", {"acquire", "b", "a"});
  stage_.expect(0, "bob", {"acquire", "c"});
  const Json own = stage_.expect(0, "ann", {"list", "--mine"}).json();
  ASSERT_EQ(own["leases"].size(), 1U);
  EXPECT_EQ(own["leases"][0]["mine"], true);
  const Json all = stage_.expect(0, "ann", {"list"}).json();
  for (const Json& lease : all["leases"]) {
    EXPECT_EQ(lease["mine"], lease["agent"] == "ann");
  }
  const std::string text = stage_.as("ann", {"list"}).out;
  EXPECT_THAT(text, HasSubstr("ann (you)"));
  EXPECT_THAT(text, Not(HasSubstr("bob (you)")));
  EXPECT_LT(text.find("\na "), text.find("\nb ")) << "by path";
  EXPECT_LT(text.find("\nb "), text.find("\nc "));
  EXPECT_THAT(stage_.as("cat", {"list", "--mine"}).out, HasSubstr("you hold nothing"));
  const Json named = stage_.expect(0, "cat", {"list", "--mine", "--agent", "bob"}).json();
  ASSERT_EQ(named["leases"].size(), 1U) << "--agent says who asks";
  EXPECT_EQ(named["leases"][0]["mine"], true);
}

TEST_F(People, B13_ALeaseIsNamedByAPartOfItsIdThatNoOtherHas) {
  const std::string first = stage_.expect(0, "ann", {"acquire", "a"}).lease();
  const std::string second = stage_.expect(0, "ann", {"acquire", "b"}).lease();
  const Answer many = stage_.expect(65, "ann", {"release", "--lease", first.substr(0, 8)});
  EXPECT_THAT(many.json()["error"]["message"].get<std::string>(), HasSubstr("fits 2 leases"));
  stage_.expect(66, "ann", {"release", "--lease", "ffffffffffff"});
  stage_.expect(66, "ann", {"release", "--lease", first.substr(29)});
  stage_.expect(66, "ann", {"renew", "--lease", "no id"});
  EXPECT_EQ(stage_.list()["leases"].size(), 2U);
  stage_.expect(0, "ann", {"renew", "--lease", second.substr(20)});
  stage_.expect(0, "ann", {"release", "--lease", first.substr(20)});
  const std::string shown = stage_.as("ann", {"list"}).out;
  EXPECT_THAT(shown, HasSubstr(" " + second.substr(26) + " "));
  stage_.expect(0, "bob", {"break", "--lease", second.substr(26), "--reason", "x"});
  EXPECT_EQ(stage_.list()["leases"].size(), 0U);
}

TEST_F(People, AReleaseThatComesTooLateSaysSo) {
  stage_.expect(0, "ann", {"acquire", "a", "--ttl", "10ms"});
  ASSERT_TRUE(eventually([&] { return stage_.list()["leases"].empty(); }));
  const Answer late = stage_.as("ann", {"release", "a"});
  EXPECT_EQ(late.status, 0);
  EXPECT_THAT(late.err, HasSubstr("your lease on a had already ended (expired); nobody has taken"));
}

TEST_F(People, AReasonGivenWithARenewalIsShownFromThenOn) {
  stage_.expect(0, "ann", {"acquire", "a", "--session", "s", "--reason", "one"});
  stage_.expect(0, "ann", {"acquire", "a", "--session", "s", "--reason", "two"});
  EXPECT_EQ(stage_.list()["leases"][0]["reason"], "two");
  EXPECT_EQ(stage_.as("ann", {"acquire", "b", "--reason", "one"}).status, 0);
  EXPECT_THAT(stage_.as("ann", {"acquire", "b", "--reason", "two"}).err,
              HasSubstr(" ago (\"one\"); if that was not you"));
}

TEST_F(People, TheStoreToRemoveCanBeNamed) {
  STAGE_IS_LOCAL("a table is named");
  const std::string other = "lmdb:" + stage_.path("other");
  stage_.expect(0, "ann", {"acquire", "a"});
  stage_.expect(0, "ann", {"acquire", "a", "--store", other});
  const auto remove = [&](const char* how) {
    return Words{"purge", "--remove-store", how, "--store", other};
  };
  const Answer held = stage_.expect(75, "ann", remove("--yes"));
  EXPECT_THAT(held.json()["error"]["hint"].get<std::string>(),
              HasSubstr("lockkeeper purge --remove-store --force --store " + other));
  stage_.expect(0, "ann", remove("--force"));
  EXPECT_FALSE(std::filesystem::exists(stage_.path("other/data.mdb")));
  EXPECT_EQ(stage_.list()["leases"].size(), 1U);
}

TEST_F(People, AListOfResourcesMayHaveCommentsAndBlankLines) {
  stage_.file("list", "# what the release needs\n\na\n  \t\n  # and\nb\n./#c\n");
  const Json lease = stage_.expect(0, "ann", {"acquire", "--from", "list"}).json()["lease"];
  ASSERT_EQ(lease["resources"].size(), 3U) << lease;
  EXPECT_EQ(lease["resources"][0]["key"], "#c");
  stage_.file("none", "# nothing\n");
  stage_.expect(64, "ann", {"acquire", "--from", "none"});
  EXPECT_EQ(shell("printf '#d\\n' | \"$LK\" acquire --agent ann - | grep -c '^granted #d '").out,
            "1\n")
      << "a name, because programs write no comments";
}

TEST_F(People, B13_LogShowsTheLastEvents) {
  for (const char* name : {"a", "b", "c"}) stage_.expect(0, "ann", {"acquire", name});
  const auto all = stage_.expect(0, "", {"log"}).lines();
  const auto last = stage_.expect(0, "", {"log", "-n", "2"}).lines();
  ASSERT_EQ(last.size(), 2U);
  EXPECT_EQ(last[0], all[all.size() - 2]);
  EXPECT_EQ(last[1], all.back());
  EXPECT_EQ(stage_.expect(0, "", {"log", "-n", "99"}).lines().size(), all.size());
  stage_.expect(65, "", {"log", "-n", "0"});
  Process log = stage_.start("", {"log", "-f", "-n1", "--json"});
  ASSERT_TRUE(eventually([&] { return log.out().find("\"c\"") != std::string::npos; }));
  EXPECT_EQ(log.out().find("\"b\""), std::string::npos);
  log.signal(SIGINT);
  EXPECT_EQ(log.wait(), 130);
}

TEST_F(People, B4_ACodingAgentWithoutASessionIdIsKnownByItsProcess) {
  stage_.env["GEMINI_CLI"] = "1";
  const auto session = [&](const std::string& command) {
    return shell(command + " whoami --json").json()["session"].get<std::string>();
  };
  const std::string own = session("\"$LK\"");
  EXPECT_THAT(own, StartsWith("proc-"));
  EXPECT_EQ(session("setsid -w sh -c 'env timeout 60 \"$LK\" whoami --json'; :"), own);
  EXPECT_EQ(session("nice bash -c '\"$LK\" whoami --json'; :"), own);
  // Another client. It is not a shell, whatever it calls itself.
  const std::string other = "find . -maxdepth 0 -exec \"$LK\" whoami --json \\; ; :";
  EXPECT_NE(session(other), own);
  EXPECT_EQ(shell("\"$LK\" acquire a --reason one").status, 0);
  EXPECT_EQ(shell("find . -maxdepth 0 -exec \"$LK\" check a \\; | grep -c mine").out, "0\n");
}

TEST_F(People, B4_ARenewalForAnotherReasonWarns) {
  stage_.expect(0, "ann", {"acquire", "a", "--reason", "parser"});
  EXPECT_TRUE(stage_.expect(0, "ann", {"acquire", "a"}).json()["warnings"].is_null());
  const Json again = stage_.expect(0, "ann", {"acquire", "a", "--reason", "docs"}).json();
  EXPECT_EQ(again["outcome"], "renewed");
  EXPECT_THAT(again["warnings"][0].get<std::string>(),
              testing::AllOf(HasSubstr("\"parser\""), HasSubstr("--session")));
}

TEST_F(People, B4_ARenewalFromAProcessThatIsYoungerThanTheLeaseWarns) {
  stage_.expect(0, "ann", {"acquire", "a"});
  stage_.pass_ms(1'500);
  stage_.env["LK"] = Stage::preloadable();
  stage_.env["LOCKKEEPER_AGENT"] = "ann";
  const Answer again = shell("find . -maxdepth 0 -exec \"$LK\" acquire a \\;");
  EXPECT_THAT(again.err, HasSubstr("if that was not you, give each of you a --session"));
}

TEST_F(People, B5_AToolThatStartsEachCommandInANewSessionIsOneOwner) {
  EXPECT_EQ(shell("setsid -w \"$LK\" acquire a && setsid -w \"$LK\" release a").status, 0);
}

TEST_F(People, B5_ARefusalThatMayBeOnesOwnSaysSo) {
  EXPECT_EQ(shell("find . -maxdepth 0 -exec \"$LK\" acquire a \\;").status, 0);
  const std::string session = stage_.list()["leases"][0]["session"].get<std::string>();
  const Answer refused = shell("\"$LK\" acquire a");
  EXPECT_EQ(refused.status, 75);
  EXPECT_THAT(refused.err, HasSubstr("this may be you"));
  EXPECT_THAT(refused.err, HasSubstr("add --session " + session));
  EXPECT_THAT(shell("\"$LK\" release a").err, HasSubstr("this may be you"));
  const Answer all = shell("\"$LK\" release --all");
  EXPECT_THAT(all.out, HasSubstr("nothing to release"));
  EXPECT_THAT(all.err, HasSubstr("this may be you: add --session " + session));
  EXPECT_EQ(shell("\"$LK\" release a --session " + session).status, 0);
}

TEST_F(People, B5_ARefusalByAnotherNameOrNamedSessionDoesNot) {
  stage_.expect(0, "bob", {"acquire", "a"});
  stage_.expect(0, "ann", {"acquire", "b", "--session", "s1"});
  EXPECT_THAT(stage_.as("ann", {"acquire", "a"}).err, Not(HasSubstr("may be you")));
  EXPECT_THAT(stage_.as("ann", {"acquire", "b", "--session", "s2"}).err,
              Not(HasSubstr("may be you")));
}

TEST_F(People, B10_AHintRepeatsTheWholeCommand) {
  stage_.expect(0, "bob", {"acquire", "a b"});
  const Json refused = stage_
                           .expect(75, "",
                                   {"acquire", "a b", "--agent", "ann", "--reason", "it's late",
                                    "--ttl", "5m", "--task", "T-1"})
                           .json();
  EXPECT_THAT(refused["error"]["hint"].get<std::string>(),
              HasSubstr("lockkeeper acquire 'a b' --ttl 5m --reason 'it'\\''s late' --task T-1 "
                        "--agent ann --wait=10m"));
  const Json run = stage_.expect(75, "ann", {"run", "a b", "--", "echo", "x y"}).json();
  EXPECT_THAT(run["error"]["hint"].get<std::string>(),
              HasSubstr("lockkeeper run 'a b' --wait=10m -- echo 'x y'"));
}

TEST_F(People, B11_LookingAndGivingBackWorkWithAMistakeInTheSettings) {
  stage_.expect(0, "ann", {"acquire", "a"});
  stage_.file("lockkeeper.toml", "[lease]\ndefualt = \"1h\"\n");
  stage_.expect(78, "ann", {"acquire", "b"});
  stage_.expect(78, "ann", {"check", "a"});
  for (const Words& words :
       {Words{"list"}, {"list", "--mine"}, {"log"}, {"check", "--held", "a"}, {"whoami"}}) {
    if (through_hub() && words[0] == "check") continue;  // to a hub, a check is a check
    const Answer answer = stage_.as("ann", words);
    EXPECT_EQ(answer.status, 0) << words[0] << answer.all();
    if (words[0] != "whoami") {
      EXPECT_THAT(answer.err, HasSubstr("warning: " + stage_.repo() + "/lockkeeper.toml:2"));
    }
  }
  EXPECT_THAT(stage_.as("ann", {"doctor"}).out, HasSubstr("identity: ann"));
  EXPECT_THAT(stage_.as("ann", {"release", "a"}).out, HasSubstr("released a"));
  EXPECT_EQ(stage_.list()["leases"].size(), 0U);
}

TEST_F(People, B11_ALayoutOfSettingsWithAMistakeIsNotGivenUp) {
  stage_.file("lockkeeper.toml", "[[layout]]\nkind = \"mkdir\"\nroot = \"spec\"\n");
  stage_.file("spec/x");
  stage_.expect(0, "ann", {"acquire", "src/a.py"});
  const std::string shown = stage_.repo() + "/spec/.locks/files/src__a.py";
  ASSERT_TRUE(exists(shown));
  stage_.file("lockkeeper.toml", "[[layout]]\nkind = \"mkdri\"\nroot = \"spec\"\n");
  EXPECT_EQ(stage_.as("ann", {"list"}).status, 0);
  EXPECT_TRUE(exists(shown)) << "it still shows what is held";
  for (const Words& door :
       {Words{"config", "show"}, {"doctor"}, {"coordmcp", "get_locked_files"}}) {
    const std::string told = stage_.as("ann", door).all();  // some of it is JSON
    EXPECT_THAT(told, HasSubstr("unknown kind")) << door.front();
    EXPECT_THAT(told, HasSubstr("mkdri")) << door.front();
  }
  EXPECT_EQ(stage_.as("ann", {"release", "--all"}).status, 0);
  EXPECT_FALSE(exists(shown));
}

TEST_F(People, B11_ALayoutInAWrongPlaceKeepsNobodyFromGivingBack) {
  stage_.expect(0, "ann", {"acquire", "a"});
  for (const char* const root : {"/usr", "gone/spec"}) {
    SCOPED_TRACE(root);
    stage_.file("lockkeeper.toml",
                std::string("[[layout]]\nkind = \"mkdir\"\nroot = \"") + root + "\"\n");
    const Answer refused = stage_.as("ann", {"acquire", "b"});
    EXPECT_EQ(refused.status, 78) << refused.all();
    EXPECT_THAT(refused.err, HasSubstr("lockkeeper.toml"));
    EXPECT_EQ(stage_.as("ann", {"list"}).status, 0);
    EXPECT_EQ(stage_.as("ann", {"break", "b", "--reason", "x"}).status, 66);
  }
  EXPECT_THAT(stage_.as("ann", {"release", "a"}).out, HasSubstr("released a"));
}

TEST_F(People, B12_TheHistoryIsDeletedOnlyOnRequestAndOnRecord) {
  stage_.expect(0, "ann", {"acquire", "a"});
  const Answer refused = stage_.expect(64, "ann", {"purge", "--history"});
  EXPECT_THAT(refused.json()["error"]["hint"].get<std::string>(),
              HasSubstr("lockkeeper purge --history --yes"));
  EXPECT_EQ(stage_.expect(0, "", {"log"}).lines().size(), 1U);
  for (const auto& [said, status] : {std::pair("n\n", 1), {"\n", 1}, {"y\n", 0}}) {
    Process purge = at_terminal("ann", {"purge", "--history"});
    ASSERT_TRUE(eventually([&] { return purge.out().find("[y/N]") != std::string::npos; }));
    purge.type(said);
    EXPECT_EQ(purge.wait(), status) << said;
    const auto events = stage_.expect(0, "", {"log"}).lines();
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0]["event"], status == 0 ? "purged" : "granted");
  }
  stage_.expect(0, "bob", {"purge", "--history", "--yes"});
  const auto events = stage_.expect(0, "", {"log"}).lines();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0]["event"], "purged");
  EXPECT_EQ(events[0]["agent"], "bob");
}

TEST_F(People, AnEmptyLogSaysSoAtATerminalOnly) {
  Process log = at_terminal("ann", {"log"});
  EXPECT_EQ(log.wait(), 0);
  EXPECT_THAT(log.out(), HasSubstr("nothing has happened in " + stage_.repo()));
  EXPECT_EQ(stage_.as("ann", {"log"}).out, "");
}

TEST_F(People, B16_JsonHasValuesAndEveryVerbHasJson) {
  stage_.file("lockkeeper.toml",
              "[lease]\nendless = false\n[keys]\nprefixes = [\"team\"]\n"
              "[[protect]]\npaths = [\"a/\"]\nagents = [\"lead\"]\n");
  std::map<std::string, Json> values;
  const Json shown = stage_.expect(0, "", {"config", "show"}).json();
  for (const Json& row : shown["settings"]) {
    values[row["name"].get<std::string>()] = row["value"];
  }
  EXPECT_EQ(values["lease.default"], "1h");
  EXPECT_EQ(values["lease.endless"], false);
  EXPECT_EQ(values["keys.prefixes"], Json::array({"team"}));
  EXPECT_EQ(values["protect"], (Json{{"paths", {"a/"}}, {"agents", {"lead"}}}));
  EXPECT_THAT(stage_.expect(0, "", {"completion", "bash"}).json()["script"].get<std::string>(),
              HasSubstr("complete -F _lockkeeper"));
  EXPECT_EQ(stage_.expect(0, "ann", {"run", "b", "--", "echo", "hello"}).out, "hello\n")
      << "stdout belongs to the command";
}

TEST_F(People, B17_TheServerAtATerminalSaysWhatItWaitsFor) {
  Process server = at_terminal("", {"mcp"});
  EXPECT_TRUE(eventually([&] {
    return server.out().find("an MCP client is expected on stdin") != std::string::npos;
  })) << server.out();
  server.type("\x04");
  EXPECT_EQ(server.wait(), 0);
  EXPECT_EQ(stage_.as("", {"mcp"}).err, "");
}

TEST_F(People, B18_ACommandMayHoldThousandsOfResources) {
  std::string names;
  for (int i = 0; i < 4'000; ++i)
    names += "some/long/folder/name/of/this/file/" + std::to_string(i) + "\n";
  write_text(stage_.path("names"), names);
  const std::string script =
      "test ${#LOCKKEEPER_SCOPE} -lt 100000 && grep -c '^- some/' \"$LOCKKEEPER_SCOPE_FILE\" && "
      "echo \"$LOCKKEEPER_SCOPE_FILE\" >kept";
  const Answer ran =
      stage_.as("ann", {"run", "--from", stage_.path("names"), "--", "sh", "-c", script});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out, "4000\n");
  std::string kept = read_text(stage_.repo() + "/kept");
  ASSERT_FALSE(kept.empty());
  kept.pop_back();
  EXPECT_FALSE(exists(kept)) << "it ends with the run";
  EXPECT_EQ(
      stage_.as("ann", {"run", "a", "--", "sh", "-c", "echo \"<$LOCKKEEPER_SCOPE_FILE>\""}).out,
      "<>\n");
}

// Leases that are granted in one commit have the same fence.
TEST_F(People, A13_AFenceCheckIsAboutOnesOwnLeaseOrANamedOne) {
  stage_.expect(0, "ann", {"acquire", "a"});
  Process bob = stage_.start("bob", {"acquire", "a", "--mode", "shared", "--wait", "--json"});
  Process cat = stage_.start("cat", {"acquire", "a", "--mode", "shared", "--wait", "--json"});
  ASSERT_TRUE(stage_.queue_grows_to(2));
  stage_.expect(0, "ann", {"release", "a"});
  ASSERT_EQ(bob.wait(), 0);
  ASSERT_EQ(cat.wait(), 0);
  const Answer of_bob{0, bob.out(), ""};
  const Answer of_cat{0, cat.out(), ""};
  const std::string fence = std::to_string(of_bob.fence());
  ASSERT_EQ(of_cat.fence(), of_bob.fence());
  stage_.expect(0, "bob", {"check", "a", "--fence", fence});
  stage_.expect(79, "bob", {"check", "a", "--fence", fence, "--mode", "exclusive"});
  stage_.expect(79, "ann", {"check", "a", "--fence", fence});
  stage_.expect(0, "ann", {"check", "a", "--fence", fence, "--lease", of_bob.lease()});
  stage_.expect(64, "ann", {"check", "a", "--lease", of_bob.lease()});
  stage_.expect(0, "bob", {"release", "a"});
  stage_.expect(79, "bob", {"check", "a", "--fence", fence});
  stage_.expect(79, "ann", {"check", "a", "--fence", fence, "--lease", of_bob.lease()});
  stage_.expect(0, "cat", {"check", "a", "--fence", fence});
}

// "build-7/2" is a part of "build-7", perhaps by accident.
TEST_F(People, WhoeverWorksInsideAnotherAgentsLeaseIsTold) {
  stage_.expect(0, "ann", {"acquire", "f", "--session", "s"});
  const std::string told =
      "you work inside ann's lease on f, because session s/x is a part of session s";
  EXPECT_THAT(stage_.as("bob", {"acquire", "f", "--session", "s/x"}).err,
              HasSubstr("warning: " + told));
  stage_.expect(0, "bob", {"release", "--all", "--session", "s/x"});
  const Answer json = stage_.expect(0, "bob", {"acquire", "f", "--session", "s/x"});
  EXPECT_EQ(json.json()["warnings"], Json({told}));
  stage_.expect(0, "bob", {"release", "--all", "--session", "s/x"});
  const Answer own = stage_.expect(0, "ann", {"acquire", "f", "--session", "s/y"});
  EXPECT_FALSE(own.json().contains("warnings")) << "her own name: " << own.out;
}

TEST_F(People, WhoeverIsStartedUnderALeaseIsNotWarnedOfIt) {
  stage_.expect(0, "ann", {"acquire", "f", "--session", "s"});
  const Answer run = stage_.as("ann", {"run", "g", "--session", "s", "--", "sh", "-c",
                                       "\"$LK\" acquire f --agent bob --session s/x"});
  EXPECT_EQ(run.status, 0) << run.all();
  EXPECT_EQ(run.all().find("you work inside"), std::string::npos) << run.all();
}

TEST_F(People, WhatTheRulesForbidIsFreeWithAWarning) {
  stage_.file("lockkeeper.toml", "[[policy]]\nagents = [\"ann\"]\ndeny = [\"src/\"]\n");
  const Answer told = stage_.as("ann", {"check", "src/a.py"});
  EXPECT_EQ(told.out, "free\n");
  EXPECT_THAT(told.err, HasSubstr("warning: a request would be refused: \"src/a.py\" may not be "
                                  "locked by \"ann\""));
  EXPECT_EQ(stage_.expect(0, "ann", {"check", "src/a.py"}).json()["warnings"].size(), 1U);
  EXPECT_FALSE(stage_.expect(0, "bob", {"check", "src/a.py"}).json().contains("warnings"));
}

}  // namespace
}  // namespace lockkeeper::stage
