// For tests alone: agents of Claude Code in one checkout, with their hooks, their shells and the
// real git.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/stage.h"

namespace lockkeeper::stage {

inline std::string text_of(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

class GitGuard : public testing::Test {
 protected:
  GitGuard() {
    for (const char* who : {"AUTHOR", "COMMITTER"}) {
      stage_.env["GIT_" + std::string(who) + "_NAME"] = "t";
      stage_.env["GIT_" + std::string(who) + "_EMAIL"] = "t@example.org";
    }
    for (const char* name : {"a", "b", "c", "dir/d"}) stage_.file(name, "first\n");
    stage_.git("repo", {"add", "-A"});
    stage_.git("repo", {"commit", "-q", "-m", "first"});
  }

  // One run of Claude Code's hook.
  Answer hook(const std::string& session, const std::string& event, Json more = Json::object(),
              const std::string& in = "repo") {
    Json payload = {{"session_id", session},
                    {"transcript_path", "/t"},
                    {"cwd", stage_.path(in)},
                    {"hook_event_name", event}};
    payload.update(more);
    const std::string file = stage_.path("payload-" + std::to_string(++payloads_));
    std::ofstream(file) << payload.dump();
    Launch launch = stage_.launch("", {"hook", "claude"});
    launch.in = file;
    launch.folder = stage_.path(in);
    launch.env["CLAUDE_PROJECT_DIR"] = stage_.path(in);
    if (event == "SessionStart") launch.env["CLAUDE_ENV_FILE"] = env_file(session);
    return stage_.finish(std::move(launch));
  }
  std::string env_file(const std::string& session) const { return stage_.path("env-" + session); }

  // An edit through the client's tool, reported done. Its claim lasts until stop().
  void edit(const std::string& session, const std::string& name, const std::string& text,
            const std::string& in = "repo") {
    const std::string file = stage_.path(in) + "/" + name;
    Json call = {{"tool_name", "Edit"},
                 {"tool_input", {{"file_path", file}, {"old_string", "a"}, {"new_string", "b"}}},
                 {"tool_use_id", "t" + std::to_string(++payloads_)}};
    EXPECT_EQ(hook(session, "PreToolUse", call, in).out, "");
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << text;
    call["tool_response"] = {{"filePath", file}};
    hook(session, "PostToolUse", call, in);
  }
  void stop(const std::string& session) { hook(session, "Stop"); }

  // A command in the shell of that session, as Claude Code runs it.
  Answer shell(const std::string& session, const std::string& line,
               const std::string& in = "repo") {
    if (!std::filesystem::exists(env_file(session))) hook(session, "SessionStart");
    Launch launch = stage_.command({"sh", "-c", ". " + env_file(session) + "\n" + line});
    launch.folder = stage_.path(in);
    launch.env["CLAUDECODE"] = "1";
    launch.env["CLAUDE_CODE_SESSION_ID"] = session;
    return stage_.finish(std::move(launch));
  }
  // The same, with the client's hooks before and after it. A refusal of these is its error.
  Answer hooked_shell(const std::string& session, const std::string& line,
                      const std::string& in = "repo") {
    Json call = {{"tool_name", "Bash"},
                 {"tool_input", {{"command", line}}},
                 {"tool_use_id", "t" + std::to_string(++payloads_)}};
    const Answer before = hook(session, "PreToolUse", call, in);
    if (before.out.find("\"deny\"") != std::string::npos) return {75, "", before.out};
    Answer ran = shell(session, line, in);
    call["tool_response"] = {{"stdout", ran.out}};
    hook(session, "PostToolUse", call, in);
    return ran;
  }
  // The same without our hooks, as somebody would do it who wants to get around them.
  Answer past_the_guard(const std::string& line) {
    return stage_.finish(stage_.command({"sh", "-c", line}));
  }
  std::string head(const std::string& in = "repo") {
    Launch launch = stage_.command({"git", "rev-parse", "HEAD"});
    launch.folder = stage_.path(in);
    return stage_.finish(std::move(launch)).out;
  }
  std::string log_of_locks() { return stage_.as("reader", {"log", "--json"}).out; }
  std::string messages_to(const std::string& session) {
    return hook(session, "UserPromptSubmit", {{"prompt", "go on"}}).out;
  }

  Stage stage_;
  int payloads_ = 0;
};

}  // namespace lockkeeper::stage
