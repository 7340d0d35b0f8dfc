// For tests alone: agents of Claude Code that edit files and run commands of the real git in one
// checkout.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "enforce/hook/hook_testing.h"

namespace lockkeeper::enforce::hook {

class Commands : public Hooks {
 protected:
  Commands() {
    write("a.c", "a");
    write("mine.c", "m");
    write("src/s.c", "s");
    write(".gitignore", "*.secret\nbuild/\n");
    git("add -A");
    git("commit -m files");
    git("branch main2");
  }
  void git(const std::string& words) { site_.files.git("repo", words); }

  // An edit that is done, by its hooks.
  void wrote(const std::string& session, const std::string& file, const std::string& text) {
    const json made = edit(session, file, "e" + std::to_string(++calls_));
    ASSERT_EQ(refusal(made), "");
    write(file, text);
    run(Client::kClaude, batch(session, {{made, "ok"}}));
  }
  // The same by s1, whose turn is then over, in any repository: "other/a.c".
  void left_at(const std::string& file) {
    json made = edit("s1", "x", "w" + std::to_string(++calls_));
    made["tool_input"]["file_path"] = site_.files.at(file);
    ASSERT_EQ(refusal(made), "");
    site_.files.write(file, "changed");
    run(Client::kClaude, batch("s1", {{made, "ok"}}));
    over("s1");
  }
  void over(const std::string& session) { run(Client::kClaude, claude(session, "Stop")); }

  json command(const std::string& session, const std::string& text) {
    return call(session, "Bash", {{"command", text}}, "c" + std::to_string(++calls_));
  }
  std::string refused(const std::string& text, const std::string& session = "s2") {
    return refusal(command(session, text));
  }
  // Runs it, as an agent whose hook let it pass.
  void ran(const std::string& session, const std::string& words) {
    const json made = command(session, "git " + words);
    ASSERT_EQ(refusal(made), "");
    git(words);
    run(Client::kClaude, batch(session, {{made, "ok"}}));
  }
  // No commit is as young as the call that comes next, although a test is faster than a tick.
  void age_objects() {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(at(".git/objects"))) {
      const auto time = entry.last_write_time() - std::chrono::milliseconds(100);
      std::filesystem::last_write_time(entry.path(), time);
    }
  }
  // s1 has a changed file, one in a folder and a new one, and has gone home.
  void leave_work() {
    wrote("s1", "a.c", "changed by s1");
    wrote("s1", "src/s.c", "changed by s1");
    wrote("s1", "new.c", "made by s1");
    over("s1");
  }

  int calls_ = 0;
};

}  // namespace lockkeeper::enforce::hook
