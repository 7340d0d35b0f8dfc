// What the command line itself does with verbs and their subcommands: choose, explain, refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/parse.h"
#include "cli/output.h"
#include "cli/shape.h"
#include "cli/verbs/testing.h"

namespace lockkeeper::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr int kUsageStatus = 64;

void expect_help(const std::vector<std::string>& words, const std::string& usage) {
  std::vector<std::string> asked = words;
  asked.emplace_back("--help");
  const std::string help = said(asked);
  EXPECT_THAT(help, AllOf(StartsWith("Examples:\n  lockkeeper "), HasSubstr("Usage: " + usage)));
  std::size_t columns = 0;
  for (const char c : help) {
    columns = c == '\n' ? 0 : columns + ((c & '\xc0') != '\x80' ? 1U : 0U);
    ASSERT_LE(columns, 80U) << usage;
  }
}

TEST(Verbs, each_has_examples_a_summary_and_help_within_80_columns) {
  for (const Verb& verb : all_verbs()) {
    if (verb.name == "git-hook" || verb.name == "relay") continue;  // nobody types them
    EXPECT_FALSE(verb.summary.empty()) << verb.name;
    EXPECT_LE(verb.name.size(), 11U);
    const std::string name(verb.name);
    if (verb.run != nullptr) {
      expect_help({name}, "lockkeeper " + name + " [OPTIONS]");
      continue;
    }
    expect_help({name}, "lockkeeper " + name + " SUBCOMMAND [OPTIONS]\n");
    for (const Verb& subcommand : verb.subcommands()) {
      if (subcommand.summary.empty()) continue;
      const std::string below(subcommand.name);
      EXPECT_THAT(said({name, "--help"}), HasSubstr("\n  " + below + "  "));
      expect_help({name, below}, "lockkeeper " + name + " " + below + " [OPTIONS]");
    }
  }
}

TEST(Verbs, no_line_of_help_is_broken_twice) {
  constexpr std::size_t kHelpColumns = 54;
  service::Runtime runtime;
  runtime.env = [](const char*) { return std::nullopt; };
  CliEnvironment environment;
  environment.runtime = &runtime;
  environment.verbs = all_verbs();
  for (const VerbShape& verb : program_shape(environment).subcommands) {
    std::vector<VerbShape> all = verb.subcommands;
    all.push_back(verb);
    for (const VerbShape& each : all) {
      for (const Arguments::Declared& declared : each.arguments) {
        const std::vector<std::string> lines = words_in(declared.help, "\n");
        for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
          EXPECT_LE(width(lines[i]), kHelpColumns) << verb.name << " " << declared.name;
        }
      }
    }
  }
}

TEST(Verbs, usage_shows_what_may_be_omitted) {
  EXPECT_THAT(said({"release", "--help"}), HasSubstr("lockkeeper release [OPTIONS] [RESOURCE…]\n"));
  EXPECT_THAT(said({"break", "--help"}), HasSubstr("lockkeeper break [OPTIONS] [RESOURCE…]\n"));
  EXPECT_THAT(said({"workflow", "run", "--help"}),
              HasSubstr("lockkeeper workflow run [OPTIONS] FILE [-- COMMAND…]\n"));
}

TEST(Verbs, help_of_help_is_the_overview) {
  EXPECT_EQ(said({"help", "help"}), said({"help"}));
  EXPECT_EQ(said({"help", "version"}), said({"help"}));
}

TEST(Verbs, B14_the_overview_shows_every_verb_once_in_a_group_within_80_columns) {
  std::multiset<std::string> grouped;
  for (const VerbGroup& group : verb_groups()) {
    for (const std::string& name : words_in(group.verbs, " ")) grouped.insert(name);
  }
  std::multiset<std::string> all;
  for (const Verb& verb : all_verbs()) {
    if (!verb.summary.empty()) all.emplace(verb.name);
  }
  EXPECT_EQ(grouped, all);
  const std::string overview = said({"--help"});
  for (const std::string& name : all) EXPECT_THAT(overview, HasSubstr("\n  " + name + "  "));
  for (const VerbGroup& group : verb_groups()) {
    EXPECT_THAT(overview, HasSubstr("\n" + std::string(group.title) + ":\n"));
  }
  for (const std::string& line : words_in(overview, "\n")) EXPECT_LE(width(line), 80U) << line;
}

TEST(Verbs, B14_the_usual_names_of_other_tools_are_understood) {
  for (const VerbAlias& alias : verb_aliases()) {
    const std::string name(alias.name), verb(alias.verb);
    EXPECT_EQ(said({name, "--help"}), said({verb, "--help"}));
    EXPECT_EQ(said({"help", name}), said({verb, "--help"}));
    EXPECT_THAT(said({"--help"}), HasSubstr(name + " (" + verb + ")"));
  }
  EXPECT_EQ(said({"unlock", "-h"}), said({"release", "-h"}));
  EXPECT_EQ(said({"version"}), said({"--version"}));
  EXPECT_EQ(said({"-V"}), said({"--version"}));
  EXPECT_EQ(said({"version", "--json"}), said({"--version", "--json"}));
  EXPECT_THAT(said({"log", "--help"}), HasSubstr("\n  -f, --follow "));
}

TEST(Verbs, HelpIsAnObjectWithJson) {
  const auto help = [](const std::vector<std::string>& words) {
    const std::string text = said(words);
    EXPECT_THAT(text, StartsWith("{\"help\":\""));
    return service::Json::parse(text, nullptr, false).value("help", "");
  };
  EXPECT_EQ(help({"help", "--json"}), said({"--help"}));
  EXPECT_EQ(help({"--json", "--help"}), said({"--help"}));
  EXPECT_EQ(help({"help", "--json", "check"}), said({"check", "--help"}));
  EXPECT_EQ(help({"help", "check", "--json"}), said({"check", "--help"}));
  EXPECT_EQ(help({"help", "task", "--json", "list"}), said({"task", "list", "--help"}));
  EXPECT_EQ(help({"help", "--json", "task"}), said({"task", "--help"}));
  EXPECT_THAT(answer({"help", "--json", "chekc"}).out, HasSubstr("did you mean lockkeeper check?"));
  EXPECT_THAT(answer({"help", "--jsn"}).err, HasSubstr("unknown flag \"--jsn\""));
  EXPECT_THAT(answer({"help", "check", "more"}).err, HasSubstr("unexpected argument \"more\""));
}

TEST(Verbs, B14_an_unknown_flag_without_a_verb_is_named_with_the_nearest) {
  const Answer got = answer({"--hlep"});
  EXPECT_EQ(got.status, kUsageStatus);
  EXPECT_EQ(got.err, "lockkeeper: unknown flag \"--hlep\"\n  hint: did you mean --help?\n");
  EXPECT_EQ(answer({"-x"}).err,
            "lockkeeper: unknown flag \"-x\"\n  hint: see: lockkeeper --help\n");
  EXPECT_THAT(answer({"--json", "--vresion"}).out, HasSubstr("did you mean --version?"));
  EXPECT_THAT(answer({"--agent", "ann"}).err, HasSubstr("no verb was given"));
}

TEST(Verbs, a_flag_without_its_value_names_the_one_that_ends_like_it) {
  EXPECT_EQ(answer({"purge", "--store"}).err,
            "lockkeeper: purge: --store needs a value\n"
            "  hint: write it as --store URL, or did you mean --remove-store?\n");
}

TEST(Verbs, B14_a_place_after_status_is_answered_with_under) {
  EXPECT_EQ(answer({"status", "src/"}).err,
            "lockkeeper: list: unexpected argument \"src/\"\n"
            "  hint: name a place with --under src/\n");
}

TEST(Subcommands, help_is_had_in_every_order) {
  const std::string help = said({"task", "acquire", "--help"});
  EXPECT_THAT(help, AllOf(HasSubstr("Usage: lockkeeper task acquire [OPTIONS] TASK\n"),
                          HasSubstr("--file FILE"), Not(HasSubstr("--returned"))));
  EXPECT_EQ(said({"task", "--help", "acquire"}), help);
  EXPECT_EQ(said({"--help", "task", "acquire"}), help);
  EXPECT_EQ(said({"help", "task", "acquire"}), help);
  EXPECT_EQ(said({"task", "--root", "sweep", "acquire", "-h"}), help) << "sweep is a folder here";
  EXPECT_EQ(said({"help", "task"}), said({"task", "-h"}));
}

TEST(Subcommands, help_refuses_more_words_than_it_can_use) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"help", "acquire", "junk"}, {"help", "task", "acquire", "junk"}}) {
    const Answer got = answer(words);
    EXPECT_EQ(got.status, kUsageStatus);
    EXPECT_EQ(got.err,
              "lockkeeper: help: unexpected argument \"junk\"\n"
              "  hint: lockkeeper help VERB [SUBCOMMAND]\n");
  }
}

TEST(Subcommands, one_without_a_summary_is_shown_nowhere) {
  for (const auto& [verb, hidden] : {std::pair("workflow", " keep"), {"completion", "agents"}}) {
    EXPECT_THAT(said({verb, "--help"}), Not(HasSubstr(hidden)));
    EXPECT_THAT(answer({verb}).err, Not(HasSubstr(hidden)));
  }
  EXPECT_THAT(answer({"workflow", "kep"}).err, Not(HasSubstr("did you mean")));
}

TEST(Subcommands, a_word_that_is_none_is_named_with_the_nearest) {
  const Answer near = answer({"task", "aquire", "T-1"});
  EXPECT_EQ(near.status, kUsageStatus);
  EXPECT_EQ(near.err,
            "lockkeeper: task has no subcommand \"aquire\"\n"
            "  hint: did you mean lockkeeper task acquire?\n");
  EXPECT_EQ(answer({"task", "--json", "grab"}).out,
            "{\"error\":{\"code\":\"usage\",\"message\":\"task has no subcommand \\\"grab\\\"\","
            "\"hint\":\"see: lockkeeper task --help\"}}\n");
  EXPECT_EQ(answer({"layout"}).err,
            "lockkeeper: layout needs a subcommand: add, remove, list or ignore\n"
            "  hint: see: lockkeeper layout --help\n");
}

// Otherwise a flag before the subcommand could not be distinguished from its value.
TEST(Subcommands, a_flag_takes_a_value_in_all_of_a_verb_or_in_none) {
  service::Runtime runtime;
  runtime.env = [](const char*) { return std::nullopt; };
  CliEnvironment environment;
  environment.runtime = &runtime;
  for (const Verb& verb : all_verbs()) {
    std::map<std::string, bool> takes_next;
    for (const VerbShape& each : verb_shape(environment, verb).subcommands) {
      for (const Arguments::Declared& flag : each.arguments) {
        const auto known = takes_next.emplace(flag.name, flag.takes_next()).first;
        EXPECT_EQ(known->second, flag.takes_next()) << verb.name << " " << flag.name;
      }
    }
  }
}

TEST(Subcommands, a_flag_of_another_subcommand_is_not_known) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"workflow", "run", "plan.yaml", "--scopes", "x"},
        {"workflow", "--scopes", "x", "run", "plan.yaml"},
        {"workflow", "clean", "--output", "out", "--add", "x"},
        {"task", "release", "T-1", "--file", "x"},
        {"message", "list", "--holder", "x"}}) {
    const Answer got = answer(words);
    EXPECT_EQ(got.status, kUsageStatus);
    EXPECT_THAT(got.err, HasSubstr("unknown flag"));
  }
  EXPECT_EQ(answer({"task", "release", "T-1", "--file", "x"}).err,
            "lockkeeper: task release: unknown flag \"--file\"\n"
            "  hint: see: lockkeeper task release --help\n");
}

TEST(Subcommands, a_stray_word_is_answered_with_the_flag_for_files) {
  EXPECT_EQ(answer({"task", "acquire", "T-1", "src/a.py"}).err,
            "lockkeeper: task acquire: unexpected argument \"src/a.py\"\n"
            "  hint: name files with --file\n");
}

TEST(Subcommands, config_names_the_file_in_which_settings_are_changed) {
  EXPECT_EQ(answer({"config", "set"}).err,
            "lockkeeper: config has no subcommand \"set\"\n"
            "  hint: change settings in lockkeeper.toml; show them with: lockkeeper config show\n");
}

TEST(Subcommands, a_hidden_flag_is_parsed_and_not_shown) {
  EXPECT_THAT(said({"coordmcp", "get_locked_files", "--help"}), Not(HasSubstr("--agent-id")));
  EXPECT_THAT(said({"workflow", "clean", "--help"}), Not(HasSubstr("--agent")));
  EXPECT_EQ(answer({"workflow", "clean", "--output", "", "--agent", "a"}).err,
            "lockkeeper: --output is empty\n  hint: name a folder: --output DIR\n");
}

}  // namespace
}  // namespace lockkeeper::cli
