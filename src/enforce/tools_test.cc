#include "enforce/tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "enforce/payloads_testing.h"

namespace lockkeeper::enforce {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;
using What = Touch::What;

ToolCall call_of(const std::string& tool, json input) {
  return {"id", tool, std::move(input), Outcome::kUnknown};
}

Touch touch(Client client, const std::string& tool, json input,
            const std::vector<ToolRule>& rules = {}) {
  const auto made = touch_of(client, call_of(tool, std::move(input)), rules);
  EXPECT_TRUE(made.has_value()) << tool << ": " << made.error().message;
  return made ? *made : Touch{};
}

Error refusal(Client client, const std::string& tool, json input,
              const std::vector<ToolRule>& rules = {}) {
  const auto made = touch_of(client, call_of(tool, std::move(input)), rules);
  EXPECT_FALSE(made.has_value()) << tool;
  if (made) return {};
  EXPECT_FALSE(hidden_in(made.error().message)) << made.error().message;
  return made.error();
}

const std::string kTwoFiles =
    "*** Begin Patch\n*** Update File: a.c\n*** Move to: b.c\n@@\n+x\n*** Add File: n.c\n+y\n"
    "*** End Patch\n";

struct Editing {
  Client client;
  const char* tool;
  const char* input;
  bool whole;
};

class EveryEdit : public testing::TestWithParam<Editing> {};

TEST_P(EveryEdit, NamesItsFile) {
  const Editing& edit = GetParam();
  const Touch made = touch(edit.client, edit.tool, json::parse(edit.input));
  EXPECT_EQ(made.what, What::kEdit);
  EXPECT_THAT(made.paths, ElementsAre("f"));
  if (edit.whole) {
    EXPECT_THAT(made.replaced, ElementsAre("f"));
  } else {
    EXPECT_THAT(made.replaced, IsEmpty());
  }
}

TEST(Tools, AMissingPathOfAKnownToolIsAskedForByItsName) {
  EXPECT_EQ(refusal(Client::kClaude, "Edit", json::object()).hint,
            "repeat the call with \"file_path\"");
  EXPECT_THAT(refusal(Client::kCopilot, "Write", json::object()).hint,
              testing::HasSubstr("\"path\""));
}

// Without its path, or with another thing in its place, the call is refused and not overlooked.
TEST_P(EveryEdit, IsRefusedWithoutAPath) {
  const Editing& edit = GetParam();
  EXPECT_EQ(refusal(edit.client, edit.tool, json::object()).code, Code::kInvalidInput);
  EXPECT_EQ(refusal(edit.client, edit.tool, "text").code, Code::kInvalidInput);
  json input = json::parse(edit.input);
  for (auto& [name, value] : input.items()) {
    if (value != "f") continue;
    for (const json& wrong :
         {json(nullptr), json(7), json::object(), json(""), json(std::string("a\0b", 3)),
          json(std::string(5000, 'x')), json::array({1}), json::array()}) {
      json changed = input;
      changed[name] = wrong;
      EXPECT_EQ(refusal(edit.client, edit.tool, changed).code, Code::kInvalidInput) << changed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Tools, EveryEdit,
    testing::Values(
        Editing{Client::kClaude, "Write", R"({"file_path":"f","content":"x"})", true},
        Editing{Client::kClaude, "Edit", R"({"file_path":"f"})", false},
        Editing{Client::kClaude, "MultiEdit", R"({"file_path":"f","edits":[]})", false},
        Editing{Client::kClaude, "NotebookEdit", R"({"notebook_path":"f"})", false},
        Editing{Client::kClaude, "mcp__filesystem__write_file", R"({"path":"f"})", true},
        Editing{Client::kClaude, "mcp__filesystem__edit_file", R"({"path":"f"})", false},
        Editing{Client::kClaude, "mcp__fs__create_directory", R"({"path":"f"})", false},
        Editing{Client::kCodex, "mcp__filesystem__write_file", R"({"path":"f"})", true},
        Editing{Client::kGemini, "write_file", R"({"file_path":"f"})", true},
        Editing{Client::kGemini, "replace", R"({"file_path":"f"})", false},
        Editing{Client::kGemini, "mcp_filesystem_write_file", R"({"path":"f"})", true},
        Editing{Client::kCopilot, "create", R"({"path":"f","file_text":"x"})", true},
        Editing{Client::kCopilot, "edit", R"({"path":"f"})", false},
        Editing{Client::kCopilot, "str_replace_editor", R"({"command":"create","path":"f"})", true},
        Editing{Client::kCopilot, "str_replace_editor", R"({"command":"insert","path":"f"})",
                false},
        Editing{Client::kCopilot, "Edit", R"({"path":"f"})", false},
        Editing{Client::kCopilot, "Write", R"({"path":"f"})", true},
        Editing{Client::kCopilot, "filesystem-write_file", R"({"path":"f"})", true},
        Editing{Client::kOpencode, "write", R"({"filePath":"f"})", true},
        Editing{Client::kOpencode, "edit", R"({"filePath":"f"})", false},
        Editing{Client::kOpencode, "multiedit", R"({"filePath":"f"})", false},
        Editing{Client::kOpencode, "filesystem_edit_file", R"({"path":"f"})", false},
        Editing{Client::kCursor, "Write", R"({"file_path":"f"})", true},
        Editing{Client::kCursor, "Delete", R"({"path":"f"})", false},
        Editing{Client::kCursor, "StrReplace", R"({"path":"f"})", false},
        Editing{Client::kCursor, "TabWrite", R"({"file_path":"f"})", false},
        Editing{Client::kCursor, "MCP:write_file", R"({"path":"f"})", true}));

TEST(Tools, AMoveTouchesBothPlaces) {
  const Touch made =
      touch(Client::kClaude, "mcp__filesystem__move_file", {{"source", "a"}, {"destination", "b"}});
  EXPECT_THAT(made.paths, ElementsAre("a", "b"));
  EXPECT_THAT(made.replaced, ElementsAre("b"));
  EXPECT_EQ(refusal(Client::kClaude, "mcp__filesystem__move_file", {{"source", "a"}}).code,
            Code::kInvalidInput);
}

TEST(Tools, APatchTouchesAllItsFiles) {
  struct Case {
    Client client;
    const char* tool;
    json input;
  };
  for (const Case& each :
       {Case{Client::kCodex, "apply_patch", {{"command", kTwoFiles}}},
        Case{Client::kCodex, "apply_patch", kTwoFiles},
        Case{Client::kCodex, "Bash", {{"command", "apply_patch <<'EOF'\n" + kTwoFiles + "EOF"}}},
        Case{Client::kCodex, "shell", {{"command", {"apply_patch", kTwoFiles}}}},
        Case{Client::kCodex,
             "shell",
             {{"command", {"bash", "-lc", "apply_patch <<'EOF'\n" + kTwoFiles + "EOF"}}}},
        Case{Client::kCopilot, "apply_patch", kTwoFiles}, Case{Client::kCopilot, "Edit", kTwoFiles},
        Case{Client::kCopilot, "Edit", {{"input", kTwoFiles}}},
        Case{Client::kOpencode, "patch", {{"patchText", kTwoFiles}}},
        Case{Client::kCursor, "ApplyPatch", {{"patch", kTwoFiles}}}}) {
    const Touch made = touch(each.client, each.tool, each.input);
    EXPECT_EQ(made.what, What::kEdit) << each.tool;
    EXPECT_THAT(made.paths, ElementsAre("a.c", "b.c", "n.c")) << each.tool;
    EXPECT_THAT(made.replaced, ElementsAre("b.c", "n.c")) << each.tool;
  }
  EXPECT_EQ(refusal(Client::kCodex, "apply_patch", {{"command", "rm x"}}).code,
            Code::kInvalidInput);
  EXPECT_EQ(refusal(Client::kCodex, "apply_patch", {{"command", 7}}).code, Code::kInvalidInput);
}

TEST(Tools, WhatReadsTouchesNothing) {
  EXPECT_EQ(touch(Client::kClaude, "Read", {{"file_path", "a"}}).what, What::kNothing);
  EXPECT_EQ(touch(Client::kClaude, "WebFetch", json::object()).what, What::kNothing);
  EXPECT_EQ(touch(Client::kClaude, "Agent", json::object()).what, What::kNothing);
  EXPECT_EQ(touch(Client::kCodex, "update_plan", json::object()).what, What::kNothing);
  EXPECT_EQ(touch(Client::kGemini, "read_file", {{"file_path", "a"}}).what, What::kNothing);
  EXPECT_EQ(touch(Client::kCopilot, "view", {{"path", "a"}}).what, What::kNothing);
  EXPECT_EQ(
      touch(Client::kCopilot, "str_replace_editor", {{"command", "view"}, {"path", "a"}}).what,
      What::kNothing);
  EXPECT_EQ(touch(Client::kOpencode, "read", {{"filePath", "a"}}).what, What::kNothing);
  EXPECT_EQ(touch(Client::kCursor, "Read", {{"path", "a"}}).what, What::kNothing);
  EXPECT_EQ(touch(Client::kClaude, "mcp__filesystem__read_file", {{"path", "a"}}).what,
            What::kNothing);
}

TEST(Tools, AShellSaysWhatItRuns) {
  const Touch bash = touch(Client::kClaude, "Bash", {{"command", "make"}});
  EXPECT_EQ(bash.what, What::kShell);
  EXPECT_EQ(bash.command, "make");
  EXPECT_THAT(bash.paths, IsEmpty());
  EXPECT_EQ(touch(Client::kCodex, "shell", {{"command", {"bash", "-lc", "make"}}}).command,
            "bash -lc make");
  EXPECT_EQ(touch(Client::kCodex, "shell",
                  {{"command", {"bash", "-lc", "git stash; ls"}}, {"workdir", "a b"}})
                .command,
            "cd 'a b' && bash -lc 'git stash; ls'");
  EXPECT_EQ(
      touch(Client::kGemini, "run_shell_command", {{"command", "ls"}, {"dir_path", "x"}}).command,
      "cd x && ls");
  EXPECT_EQ(touch(Client::kGemini, "run_shell_command", {{"command", "make"}}).what, What::kShell);
  EXPECT_EQ(touch(Client::kCopilot, "bash", {{"command", "make"}}).what, What::kShell);
  EXPECT_EQ(touch(Client::kOpencode, "bash", {{"command", "make"}}).what, What::kShell);
  EXPECT_EQ(touch(Client::kCursor, "Shell", {{"command", "make"}}).what, What::kShell);
  EXPECT_EQ(touch(Client::kClaude, "BashOutput", {{"bash_id", "1"}}).what, What::kShell);
  EXPECT_EQ(touch(Client::kClaude, "Bash", {{"command", 7}}).command, "");
  // A patch inside other commands is for the look at the disk: shell is not parsed.
  EXPECT_EQ(touch(Client::kCodex, "Bash",
                  {{"command", "cd x && apply_patch <<'EOF'\n" + kTwoFiles + "EOF"}})
                .what,
            What::kShell);
}

TEST(Tools, OurOwnServerIsKnownInEverySpelling) {
  EXPECT_EQ(touch(Client::kClaude, "mcp__lock__lock_acquire", {}).what, What::kOwnMcp);
  EXPECT_EQ(touch(Client::kClaude, "mcp__lockkeeper__lock_status", {}).what, What::kOwnMcp);
  EXPECT_EQ(touch(Client::kClaude, "mcp__plugin_lockkeeper_lock__lock_renew", {}).what,
            What::kOwnMcp);
  EXPECT_EQ(touch(Client::kCodex, "mcp__lock__lock_acquire", {}).what, What::kOwnMcp);
  EXPECT_EQ(touch(Client::kGemini, "mcp_lock_lock_acquire", {}).what, What::kOwnMcp);
  EXPECT_EQ(touch(Client::kCopilot, "lock-lock_acquire", {}).what, What::kOwnMcp);
  EXPECT_EQ(touch(Client::kOpencode, "lock_lock_acquire", {}).what, What::kOwnMcp);
  EXPECT_EQ(touch(Client::kOpencode, "lockkeeper_lock_acquire", {}).what, What::kOwnMcp);
  EXPECT_EQ(touch(Client::kCursor, "MCP:lock_acquire", {}).what, What::kOwnMcp);
}

TEST(Tools, WhatIsNotKnownIsUnknown) {
  EXPECT_EQ(touch(Client::kClaude, "mcp__github__create_issue", {}).what, What::kUnknown);
  EXPECT_EQ(touch(Client::kClaude, "mcp__locksmith__open", {}).what, What::kUnknown);
  EXPECT_EQ(touch(Client::kClaude, "mcp__lock__", {}).what, What::kUnknown);
  EXPECT_EQ(touch(Client::kClaude, "mcp__filesystem__format_disk", {}).what, What::kUnknown);
  EXPECT_EQ(touch(Client::kClaude, "write", {{"filePath", "a"}}).what, What::kUnknown);
  EXPECT_EQ(touch(Client::kGemini, "lock_acquire", {}).what, What::kUnknown);
  EXPECT_EQ(touch(Client::kCopilot, "github-create_issue", {}).what, What::kUnknown);
}

TEST(Tools, ACallOfCursorWithoutANameIsInferred) {
  EXPECT_EQ(touch(Client::kCursor, "", {{"command", "ls"}}).what, What::kShell);
  EXPECT_THAT(touch(Client::kCursor, "", {{"path", "a"}, {"contents", "x"}}).replaced,
              ElementsAre("a"));
  EXPECT_THAT(touch(Client::kCursor, "", {{"file_path", "a"}, {"old_string", "x"}}).paths,
              ElementsAre("a"));
  EXPECT_THAT(touch(Client::kCursor, "", {{"notebook_path", "a"}}).paths, ElementsAre("a"));
  EXPECT_THAT(touch(Client::kCursor, "", {{"patch", kTwoFiles}}).paths,
              ElementsAre("a.c", "b.c", "n.c"));
  EXPECT_EQ(touch(Client::kCursor, "", {{"query", "x"}}).what, What::kUnknown);
  EXPECT_EQ(refusal(Client::kCursor, "", {{"path", 7}}).code, Code::kInvalidInput);
}

TEST(Tools, TheCallsOfABatchAreOne) {
  const auto part = [](const char* tool, json input) {
    return json{{"tool", tool}, {"parameters", std::move(input)}};
  };
  const Touch edits =
      touch(Client::kOpencode, "batch",
            {{"tool_calls",
              {part("read", {{"filePath", "z"}}), part("write", {{"filePath", "a"}}),
               part("edit", {{"filePath", "b"}}), part("edit", {{"filePath", "a"}})}}});
  EXPECT_EQ(edits.what, What::kEdit);
  EXPECT_THAT(edits.paths, ElementsAre("a", "b"));
  EXPECT_THAT(edits.replaced, ElementsAre("a"));
  const Touch shell = touch(
      Client::kOpencode, "batch",
      {{"tool_calls", {part("edit", {{"filePath", "a"}}), part("bash", {{"command", "ls"}})}}});
  EXPECT_EQ(shell.what, What::kShell);
  EXPECT_THAT(shell.paths, ElementsAre("a"));
  EXPECT_EQ(shell.command, "ls");
  for (const json& bad : {json::object(), json{{"tool_calls", 1}}, json{{"tool_calls", {1}}},
                          json{{"tool_calls", {part("edit", json::object())}}},
                          json{{"tool_calls", {part("batch", json::object())}}}}) {
    EXPECT_EQ(refusal(Client::kOpencode, "batch", bad).code, Code::kInvalidInput) << bad;
  }
}

TEST(Tools, ARuleOfTheSettingsIsAskedFirst) {
  const std::vector<ToolRule> rules = {
      {"mcp__db__*", {}, "nothing"},
      {"mcp__editor__apply", {"edits.path", "target"}, "edit"},
      {"mcp__editor__first", {"/edits/0/path"}, "edit"},
      {"mcp__editor__odd", {"/a~1b/c~0d"}, "replace"},
      {"mcp__editor__patch", {"diff"}, "patch"},
      {"mcp__run__?", {"script"}, "shell"},
      {"Read", {"file_path"}, "edit"},
      {"mcp__wrong", {}, "destroy"},
  };
  const json edits = {{"edits", {{{"path", "a"}}, {{"path", "b"}}, {{"path", "a"}}}}};
  EXPECT_EQ(touch(Client::kClaude, "mcp__db__query", {}, rules).what, What::kNothing);
  EXPECT_THAT(touch(Client::kClaude, "mcp__editor__apply", edits, rules).paths,
              ElementsAre("a", "b"));
  EXPECT_THAT(touch(Client::kClaude, "mcp__editor__apply", {{"target", {"c", "d"}}}, rules).paths,
              ElementsAre("c", "d"));
  EXPECT_THAT(touch(Client::kClaude, "mcp__editor__first", edits, rules).paths, ElementsAre("a"));
  EXPECT_THAT(touch(Client::kClaude, "mcp__editor__odd", {{"a/b", {{"c~d", "e"}}}}, rules).replaced,
              ElementsAre("e"));
  EXPECT_THAT(touch(Client::kClaude, "mcp__editor__patch", {{"diff", kTwoFiles}}, rules).paths,
              ElementsAre("a.c", "b.c", "n.c"));
  EXPECT_EQ(touch(Client::kClaude, "mcp__run__x", {{"script", "ls"}}, rules).command, "ls");
  EXPECT_EQ(touch(Client::kClaude, "Read", {{"file_path", "a"}}, rules).what, What::kEdit);
  EXPECT_EQ(refusal(Client::kClaude, "mcp__editor__apply", json::object(), rules).code,
            Code::kInvalidInput);
  EXPECT_EQ(
      refusal(Client::kClaude, "mcp__editor__apply", {{"edits", {{{"path", 1}}}}}, rules).code,
      Code::kInvalidInput);
  EXPECT_EQ(refusal(Client::kClaude, "mcp__wrong", json::object(), rules).code,
            Code::kInvalidConfig);
}

TEST(Tools, TheRealPayloadsAreUnderstood) {
  const auto paths = [](Client client, const char* payload) {
    const auto event = read_event(client, payload);
    EXPECT_TRUE(event.has_value()) << event.error().message;
    const auto made = touch_of(event->client, event->calls.at(0));
    EXPECT_TRUE(made.has_value()) << made.error().message;
    return made->paths;
  };
  EXPECT_THAT(paths(Client::kClaude, payloads::kClaudeEdit), ElementsAre("/repo/a.c"));
  EXPECT_THAT(paths(Client::kCodex, payloads::kCodexPatch), ElementsAre("a.c"));
  EXPECT_THAT(paths(Client::kGemini, payloads::kGeminiReplace), ElementsAre("/repo/a.c"));
  EXPECT_THAT(paths(Client::kCopilot, payloads::kCopilotEdit), ElementsAre("/repo/a.c"));
  EXPECT_THAT(paths(Client::kClaude, payloads::kCopilotAsClaude), ElementsAre("/repo/a.c"));
  EXPECT_THAT(paths(Client::kOpencode, payloads::kOpencodeWrite), ElementsAre("a.c"));
  EXPECT_THAT(paths(Client::kClaude, payloads::kCursorDelete), ElementsAre("/repo/a.c"));
}

}  // namespace
}  // namespace lockkeeper::enforce
