// A repository with a workflow's OUTPUT in it, the shipped program on the PATH, and a shell in
// which the protocol's own commands are run.
#pragma once

#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "support/stage.h"

namespace lockkeeper::stage {

class WorkflowScene : public testing::Test {
 protected:
  WorkflowScene() {
    const std::filesystem::path program = Stage::program();
    stage_.env["PATH"] = program.parent_path().string() + ":" + stage_.env["PATH"];
    stage_.env["OUTPUT"] = out();
    stage_.file("src/shared/Button.tsx");
    stage_.file("src/a.ts");
  }

  std::string out() const { return stage_.repo() + "/out"; }
  std::string lock_path(const std::string& name) const { return out() + "/locks/" + name; }

  // Shell text, in the repository's root.
  Answer sh(const std::string& text) { return stage_.finish(stage_.command({"bash", "-c", text})); }

  Answer workflow(int status, const std::string& verb, Words more) {
    more.insert(more.begin(), {"workflow", verb, "--output", "out"});
    return stage_.expect(status, "", more);
  }

  // A lock file as another tool writes it, in one step. Ends in `minutes`.
  // `agent`: empty: as its file is called.
  void foreign(const std::string& name, const std::string& files, int minutes = 60,
               const std::string& agent = "") {
    std::filesystem::create_directories(out() + "/locks");
    const std::string own = name.substr(0, name.find('.'));
    write_text(lock_path(name), "{\"agent\":\"" + (agent.empty() ? own : agent) +
                                    "\",\"locked_at\":\"" + time_in(minutes - 60) +
                                    "\",\"files\":[" + files + "],\"expires_at\":\"" +
                                    time_in(minutes) + "\"}");
  }
  static std::string time_in(int minutes) {
    const std::time_t at = std::time(nullptr) + minutes * 60;
    std::tm utc{};
    ::gmtime_r(&at, &utc);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
  }

  // How often the history has this event.
  std::vector<Json> events(const std::string& what) {
    std::vector<Json> found;
    for (const Json& event : stage_.expect(0, "", {"log"}).lines()) {
      if (event["event"] == what) found.push_back(event);
    }
    return found;
  }

  std::vector<std::string> lock_files() const {
    std::vector<std::string> names;
    if (!exists(out() + "/locks")) return names;
    for (const auto& each : std::filesystem::directory_iterator(out() + "/locks")) {
      const std::string name = each.path().filename();
      if (name.ends_with(".lock")) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  Stage stage_;
};

}  // namespace lockkeeper::stage
