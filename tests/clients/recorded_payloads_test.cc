// Every payload that was recorded from a real client is read, and means what it must.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "enforce/answer.h"
#include "enforce/tools.h"

namespace lockkeeper::enforce {
namespace {

namespace fs = std::filesystem;

struct Recorded {
  std::string name;  // "claude/PreToolUse-Edit.json"
  Client client;
  std::string text;
};

std::vector<Recorded> all_recorded() {
  std::vector<Recorded> all;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(LOCKKEEPER_PAYLOADS)) {
    if (!entry.is_regular_file()) continue;
    const std::string client = entry.path().parent_path().filename();
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    all.push_back({client + "/" + entry.path().filename().string(), client_named(client).value(),
                   text.str()});
  }
  return all;
}

Event event_of(const std::string& name) {
  for (const Recorded& one : all_recorded()) {
    if (one.name != name) continue;
    auto event = read_event(one.client, one.text);
    EXPECT_TRUE(event) << name << ": " << event.error().message;
    return event ? *event : Event{};
  }
  ADD_FAILURE() << "there is no recording " << name;
  return {};
}

TEST(Recorded, EveryPayloadIsReadAndEveryCallUnderstood) {
  std::size_t calls = 0;
  for (const Recorded& one : all_recorded()) {
    const auto event = read_event(one.client, one.text);
    ASSERT_TRUE(event) << one.name << ": " << event.error().message;
    EXPECT_EQ(event->client, one.client) << one.name;
    EXPECT_FALSE(event->session.empty()) << one.name;
    for (const ToolCall& call : event->calls) {
      EXPECT_FALSE(call.id.empty()) << one.name;
      const auto touch = touch_of(event->client, call);
      EXPECT_TRUE(touch) << one.name << ": " << touch.error().message;
      ++calls;
    }
    // Whatever it is, passing never says "allow", and a refusal is said only before a call.
    const Said passed = say(*event, {});
    EXPECT_EQ(passed.exit_code, 0) << one.name;
    EXPECT_EQ(passed.out.find("\"allow\""), std::string::npos) << one.name;
    const Said refused = say(*event, {Verdict::kRefuse, "held by bob", ""});
    const bool loud = refused.exit_code != 0 || refused.out.find("deny") != std::string::npos;
    if (event->moment == Moment::kBefore) {
      EXPECT_TRUE(loud) << one.name << ": " << refused.out;
    }
  }
  EXPECT_GT(calls, 50U);
}

TEST(Recorded, EditsNameTheirFiles) {
  const std::map<std::string, std::vector<std::string>> expected = {
      {"claude/PreToolUse-Write.json", {"/repo/new.c"}},
      {"claude/PreToolUse-Edit.json", {"/repo/a.c"}},
      {"claude/PreToolUse-NotebookEdit.json", {"/repo/n.ipynb"}},
      {"copilot/preToolUse-edit.json", {"/repo/a.c"}},
      {"copilot/preToolUse-create.json", {"/repo/new.c"}},
      {"copilot/PreToolUse-Write.claude_format.json", {"/repo/new.c"}},
      {"gemini/BeforeTool-replace.json", {"/repo/a.c"}},
      {"gemini/BeforeTool-write_file.json", {"/repo/new.c"}},
  };
  for (const auto& [name, paths] : expected) {
    const Event event = event_of(name);
    ASSERT_EQ(event.calls.size(), 1U) << name;
    EXPECT_EQ(event.moment, Moment::kBefore) << name;
    const auto touch = touch_of(event.client, event.calls.front());
    ASSERT_TRUE(touch) << name;
    EXPECT_EQ(touch->what, Touch::What::kEdit) << name;
    EXPECT_EQ(touch->paths, paths) << name;
  }
}

TEST(Recorded, APatchNamesAllItsFiles) {
  const Event event = event_of("codex/PreToolUse-apply_patch.many.json");
  const auto touch = touch_of(event.client, event.calls.at(0));
  ASSERT_TRUE(touch);
  EXPECT_EQ(touch->what, Touch::What::kEdit);
  EXPECT_GT(touch->paths.size(), 1U);
}

TEST(Recorded, SubagentsAndBackgroundWorkAreTold) {
  EXPECT_FALSE(event_of("claude/PreToolUse-Edit.subagent.json").subagent.empty());
  EXPECT_FALSE(event_of("codex/PreToolUse-apply_patch.subagent.json").subagent.empty());
  EXPECT_TRUE(event_of("claude/PreToolUse-Edit.json").subagent.empty());
  EXPECT_TRUE(event_of("claude/Stop.shell_running.json").goes_on);
  EXPECT_TRUE(event_of("claude/Stop.subagent_running.json").goes_on);
  EXPECT_FALSE(event_of("claude/Stop.json").goes_on);
}

}  // namespace
}  // namespace lockkeeper::enforce
