#include "install/toml_edit.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/random.h"

namespace lockkeeper::install {
namespace {

const std::vector<std::string> kTable = {"mcp_servers", "lockkeeper"};

Json fields() {
  return {{"command", "/opt/a \"b\"/lockkeeper"}, {"args", {"mcp"}}};
}

std::string put(const std::string& text, const Json& wanted = fields()) {
  const auto done = put_toml_table(text, "config.toml", kTable, wanted);
  return done ? *done : done.error().message;
}

std::string removed(const std::string& text) {
  const auto done = remove_toml_table(text, "config.toml", kTable);
  return done ? *done : done.error().message;
}

const std::string kBlock =
    "[mcp_servers.lockkeeper]\ncommand = \"/opt/a \\\"b\\\"/lockkeeper\"\nargs = [\"mcp\"]";

TEST(TomlEdit, AddsATableAtTheEnd) {
  EXPECT_EQ(put(""), kBlock + "\n");
  EXPECT_EQ(put("model = 'x' # mine\n"), "model = 'x' # mine\n\n" + kBlock + "\n");
  EXPECT_EQ(put("[a]\nb = 1"), "[a]\nb = 1\n\n" + kBlock);
  EXPECT_EQ(put(put("a = 1\n")), put("a = 1\n")) << "a second time changes nothing";
}

TEST(TomlEdit, WhatIsAddedAndRemovedLeavesTheSameBytes) {
  const std::vector<std::string> pieces = {"a = 1",
                                           "[mcp_servers.other]",
                                           "b = \"\"\"\n[mcp_servers.lockkeeper]\n\"\"\"",
                                           "# [comment]",
                                           "",
                                           "   ",
                                           "[[list]]",
                                           "c = [ # [x]\n 1,\n ]",
                                           "d.e = { f = '# no' }",
                                           "'q.[' = '''\n[x]\n''''",
                                           "[\"x.y\".'z']",
                                           "g = 1979-05-27T07:32:00Z",
                                           "h = nan",
                                           "[mcp_servers]",
                                           "\tk = \"\\\"[\"  # end"};
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SeededRandom random(seed);
    const std::string newline = random_below(random, 4) == 0 ? "\r\n" : "\n";
    std::string text = random_below(random, 9) == 0 ? "\xEF\xBB\xBF" : "";
    for (auto count = random_below(random, 8); count > 0; --count) {
      text += pieces[random_below(random, pieces.size())];
      if (count > 1 || random_below(random, 3) > 0) text += newline;
    }
    if (!toml_as_json(text, "x")) continue;  // a key twice
    const auto with = put_toml_table(text, "x", kTable, fields());
    ASSERT_TRUE(with) << "seed " << seed << ": " << with.error().message << "\n" << text;
    const auto back = remove_toml_table(*with, "x", kTable);
    ASSERT_TRUE(back) << "seed " << seed << ": " << back.error().message << "\n" << *with;
    ASSERT_EQ(*back, text) << "seed " << seed;
  }
}

TEST(TomlEdit, ChangesOnlyItsOwnFields) {
  EXPECT_EQ(put("[mcp_servers.lockkeeper] # ours\ncommand = 'old' # here\nenabled = false\n\n[z]\n",
                {{"command", "new"}, {"args", {"mcp"}}}),
            "[mcp_servers.lockkeeper] # ours\nargs = [\"mcp\"]\ncommand = \"new\" # here\n"
            "enabled = false\n\n[z]\n");
  EXPECT_EQ(put("[mcp_servers.lockkeeper]", {{"command", "new"}}),
            "[mcp_servers.lockkeeper]\ncommand = \"new\"\n");
}

TEST(TomlEdit, RemovesTheTablesInIt) {
  EXPECT_EQ(removed("[a]\nx = 1\n\n[mcp_servers.lockkeeper]\ncommand = 'c'\n"
                    "[mcp_servers.lockkeeper.env]\nX = 'y'\n\n# of b\n[b]\n"),
            "[a]\nx = 1\n\n# of b\n[b]\n");
  EXPECT_EQ(removed("[mcp_servers.\"lockkeeper\"]\ncommand = 'c'"), "");
  EXPECT_EQ(removed("[mcp_servers.other]\n"), "[mcp_servers.other]\n");
}

TEST(TomlEdit, RefusesWhatItCannotChangeByText) {
  const std::string refusal =
      "config.toml: the table mcp_servers.lockkeeper is written in a way that is not changed by "
      "text";
  EXPECT_EQ(put("mcp_servers = { other = { command = 'x' } }\n"), refusal);
  EXPECT_EQ(put("mcp_servers.lockkeeper.command = 'x'\n"), refusal);
  EXPECT_EQ(removed("[mcp_servers]\nlockkeeper = { command = 'x' }\n"), refusal);
  EXPECT_EQ(removed("[mcp_servers]\nlockkeeper.command = 'x'\n"), refusal);
}

TEST(TomlEdit, SaysWhereAFileIsWrong) {
  EXPECT_TRUE(put("a = 1\nb = = 2\n").starts_with("config.toml:2:5: not TOML: "))
      << put("a = 1\nb = = 2\n");
  EXPECT_EQ(put("a" + std::string(2000, '.')), "config.toml:1: nested too deeply");
}

TEST(TomlEdit, OneFieldIsRemovedAndTheTableIfItWasAlone) {
  const auto without_b = [](const std::string& text) {
    const auto done = remove_toml_field(text, "config.toml", {"a"}, "b");
    return done ? *done : done.error().message;
  };
  EXPECT_EQ(without_b("x = 1\n\n[a]\nb = 1\n"), "x = 1\n");
  EXPECT_EQ(without_b("[a]\n# why\nb = [\n 1,\n] # mine\nc = 2\n"), "[a]\n# why\nc = 2\n");
  EXPECT_EQ(without_b("[a]\nc = 2\nb = 1"), "[a]\nc = 2\n");
  for (const char* const text :
       {"", "b = 1\n", "[a]\nc = 1\n", "[x]\nb = 1\n[[y]]\nb = 2\n", "a = 1\n"}) {
    EXPECT_EQ(without_b(text), text);
  }
  EXPECT_TRUE(without_b("a = { b = 1, c = 2 }\n").contains("the table a is written in a way"));
  EXPECT_TRUE(without_b("a.b = 1\na.c = 2\n").contains("the table a is written in a way"));
}

}  // namespace
}  // namespace lockkeeper::install
