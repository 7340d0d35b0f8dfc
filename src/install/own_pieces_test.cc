#include "install/own_pieces.h"

#include <nlohmann/json.hpp>

#include "base/parse.h"
#include "install/install_testing.h"
#include "install/record.h"
#include "install/toml_edit.h"

namespace lockkeeper::install {
namespace {

class OwnPieces : public InstallTest {
 protected:
  Request own(std::vector<Piece> pieces) const {
    Request wanted = request({}, Scope::kProject);
    wanted.more = std::move(pieces);
    return wanted;
  }
  std::string local() const { return at("repo/.git/lockkeeper/config.toml"); }
  Request policy(const std::string& word) const {
    return own({policy_piece(Scope::kProject, local(), word)});
  }
  Request everything_of_ours() const {
    return own({policy_piece(Scope::kProject, local(), "warn"), settings_piece(machine()),
                advice_piece(machine(), "AGENTS.md"), advice_piece(machine(), "CLAUDE.md")});
  }
};

TEST_F(OwnPieces, UninstallLeavesNoTrace) {
  const auto before = everything();
  install(everything_of_ours());
  EXPECT_EQ(read("repo/.git/lockkeeper/config.toml"), "[hook]\npolicy = \"warn\"\n");
  EXPECT_EQ(mode("repo/.git/lockkeeper"), 0700U);
  EXPECT_EQ(mode("repo/.git/lockkeeper/config.toml"), 0600U);
  EXPECT_EQ(mode("repo/AGENTS.md"), 0644U);
  EXPECT_EQ(mode("repo/lockkeeper.toml"), 0644U);
  EXPECT_EQ(read("repo/AGENTS.md"), read("repo/CLAUDE.md"));
  EXPECT_FALSE(read("repo/.git/info/exclude").contains("AGENTS.md")) << "it is to be committed";
  uninstall(everything_of_ours());
  EXPECT_EQ(everything(), before);
  EXPECT_EQ(read("repo/.git/lockkeeper/config.toml"), "(none)");
  EXPECT_EQ(mode("repo/.git/lockkeeper"), 0U);
}

TEST_F(OwnPieces, UninstallRestoresEveryByteOfWhatWasThere) {
  write("repo/AGENTS.md", "# Rules\r\n\r\nBe kind.");
  write("repo/CLAUDE.md", "Read the tests.\n");
  write("repo/lockkeeper.toml", "# mine\n");
  write("repo/.git/lockkeeper/config.toml", "[hook] # mine\npolicy = 'ask' # why\n[lease]");
  const auto before = everything();
  install(everything_of_ours());
  EXPECT_EQ(read("repo/lockkeeper.toml"), "# mine\n") << "one that is there stays";
  EXPECT_EQ(read("repo/.git/lockkeeper/config.toml"),
            "[hook] # mine\npolicy = \"warn\" # why\n[lease]");
  uninstall(everything_of_ours());
  EXPECT_EQ(everything(), before);
  EXPECT_EQ(read("repo/.git/lockkeeper/config.toml"),
            "[hook] # mine\npolicy = 'ask' # why\n[lease]");
}

TEST_F(OwnPieces, OfAFileThatHasChangedOnlyOurPartIsRemoved) {
  write("repo/AGENTS.md", "# Rules\n");
  install(everything_of_ours());
  write("repo/AGENTS.md", read("repo/AGENTS.md") + "\nMore of mine.\n");
  write("repo/lockkeeper.toml", read("repo/lockkeeper.toml") + "[lease]\ndefault = \"2h\"\n");
  const std::string settings = read("repo/lockkeeper.toml");
  write("repo/.git/lockkeeper/config.toml",
        "[hook]\n# mine\npolicy = \"warn\"\nwake = true\n\n[lease]\ndefault = \"2h\"\n");
  uninstall(everything_of_ours());
  EXPECT_EQ(read("repo/AGENTS.md"), "# Rules\n\nMore of mine.\n");
  EXPECT_EQ(read("repo/lockkeeper.toml"), settings) << "it is the team's by now";
  EXPECT_EQ(read("repo/.git/lockkeeper/config.toml"),
            "[hook]\n# mine\nwake = true\n\n[lease]\ndefault = \"2h\"\n");
}

TEST_F(OwnPieces, ThePolicyOfBeforeComesBackIntoAFileThatHasChanged) {
  write("repo/.git/lockkeeper/config.toml", "[hook]\npolicy = \"block\"\n");
  install(policy("warn"));
  write("repo/.git/lockkeeper/config.toml", read("repo/.git/lockkeeper/config.toml") + "# more\n");
  install(policy("off"));
  uninstall(policy(""));
  EXPECT_EQ(read("repo/.git/lockkeeper/config.toml"), "[hook]\npolicy = \"block\"\n# more\n");
}

TEST_F(OwnPieces, APolicyThatWeDidNotWriteStays) {
  write("repo/.git/lockkeeper/config.toml", "[hook]\npolicy = \"block\"\n");
  write("repo/lockkeeper.toml", "# a colleague's\n");
  const auto before = everything();
  uninstall(everything_of_ours());
  EXPECT_EQ(everything(), before);
  EXPECT_EQ(read("repo/.git/lockkeeper/config.toml"), "[hook]\npolicy = \"block\"\n");
}

TEST_F(OwnPieces, AdviceKeepsTheLineEndsOfItsFile) {
  const Request advice = own({advice_piece(machine(), "AGENTS.md")});
  for (const std::string mine : {"# Rules\r\nBe kind.\r\n", "# Rules\r\nBe kind."}) {
    write("repo/AGENTS.md", mine);
    install(advice);
    const std::string text = read("repo/AGENTS.md");
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; ++at) {
      ASSERT_EQ(text[at - 1], '\r') << text;
    }
    write("repo/AGENTS.md", "Mine.\r\n" + text);
    uninstall(advice);
    EXPECT_EQ(read("repo/AGENTS.md"), "Mine.\r\n" + mine);
  }
}

TEST_F(OwnPieces, AdviceIsReplacedWhereItIsAndDamagedMarksAreRefused) {
  write("repo/AGENTS.md",
        "above\n\n<!-- lockkeeper: begin -->\nOUTDATED\n<!-- lockkeeper: end -->\nbelow\n");
  const Request advice = own({advice_piece(machine(), "AGENTS.md")});
  install(advice);
  const std::string text = read("repo/AGENTS.md");
  EXPECT_TRUE(text.starts_with("above\n\n<!-- lockkeeper: begin -->\n")) << text;
  EXPECT_TRUE(text.ends_with("<!-- lockkeeper: end -->\nbelow\n")) << text;
  EXPECT_FALSE(text.contains("OUTDATED"));
  uninstall(advice);
  EXPECT_EQ(read("repo/AGENTS.md"), "above\nbelow\n");
  for (const char* const damaged :
       {"<!-- lockkeeper: begin -->\nold\n", "<!-- lockkeeper: end -->\n<!-- lockkeeper: begin -->",
        "<!-- lockkeeper: begin --><!-- lockkeeper: end --><!-- lockkeeper: end -->"}) {
    write("repo/AGENTS.md", damaged);
    EXPECT_TRUE(refused(advice).contains("AGENTS.md: the marks ")) << refused(advice);
    EXPECT_EQ(read("repo/AGENTS.md"), damaged);
  }
}

TEST_F(OwnPieces, TwoNamesOfOneFileGetTheAdviceOnce) {
  write("repo/AGENTS.md", "# Rules\n");
  place_.link("AGENTS.md", "repo/CLAUDE.md");
  install(own({advice_piece(machine(), "AGENTS.md"), advice_piece(machine(), "CLAUDE.md")}));
  const std::string text = read("repo/AGENTS.md");
  EXPECT_EQ(text.find("lockkeeper: begin"), text.rfind("lockkeeper: begin"));
  uninstall(own({advice_piece(machine(), "CLAUDE.md")}));
  EXPECT_EQ(read("repo/AGENTS.md"), "# Rules\n");
}

TEST_F(OwnPieces, EveryLineOfTheSettingsIsACommentAndWithoutItTheyAreToml) {
  install(own({settings_piece(machine())}));
  std::string bare;
  for (const std::string& line : words_in(read("repo/lockkeeper.toml"), "\n")) {
    EXPECT_TRUE(line.starts_with("# ")) << line;
    const bool setting = line.contains(" = ") || line.starts_with("# [");
    if (setting) bare += line.substr(2) + "\n";
  }
  const auto read_back = toml_as_json(bare, "lockkeeper.toml");
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ((*read_back)["hook"]["policy"], "wait");
  EXPECT_EQ((*read_back)["protect"].size(), 1U);
}

TEST_F(OwnPieces, TheRecordRemembersLayouts) {
  const std::string folder = at("home/.local/state/lockkeeper");
  {
    auto record = Record::load_locked(folder);
    ASSERT_TRUE(record);
    record->put_layout({"/store", "mkdir-1"});
    record->put_layout({"/store", "mkdir-1"});
    record->put_layout({"/other", "mkdir-2"});
    ASSERT_TRUE(record->save());
  }
  auto record = Record::load(folder);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->layouts().size(), 2U);
  record->erase_layouts("/store");
  ASSERT_EQ(record->layouts().size(), 1U);
  EXPECT_EQ(record->layouts()[0].id, "mkdir-2");
  write("home/.local/state/lockkeeper/installed.json", R"({"files":[],"layouts":[{"id":1}]})");
  EXPECT_FALSE(Record::load(folder)) << "damaged";
}

TEST(OwnSlots, OnlyThoseOfClientsStartTheProgram) {
  for (const char* const slot : {"claude hooks", "opencode plugin", "codex server"}) {
    EXPECT_TRUE(slot_starts_program(slot)) << slot;
  }
  for (const char* const slot : {"policy", "settings", "advice", "line /.codex/hooks.json"}) {
    EXPECT_FALSE(slot_starts_program(slot)) << slot;
  }
}

}  // namespace
}  // namespace lockkeeper::install
