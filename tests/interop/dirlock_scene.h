// A repository with a folder for temporary files of its own, guards of ours and the protocol's own
// lock around it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/sha256.h"
#include "support/stage.h"

namespace lockkeeper::stage {

class DirLockScene : public testing::Test {
 protected:
  DirLockScene() {
    std::filesystem::create_directories(temp());
    std::filesystem::create_directories(stage_.path("out"));
    stage_.file("src/a.py");
    stage_.env["TMPDIR"] = temp();
  }

  std::string temp() const { return stage_.path("temp"); }
  std::string out(const std::string& name) const { return stage_.path("out") + "/" + name; }
  std::string physical(const std::string& path) const {
    return std::filesystem::canonical(path).string();
  }
  std::string lock_of(const std::string& folder) const {
    return temp() + "/agent-dir-" + sha256_hex(physical(folder)) + ".lock";
  }
  std::string lock() const { return lock_of(stage_.repo()); }

  // guard [options] -- sh -c script
  Words guard(const std::string& script, Words options = {}) const {
    Words words = {"guard"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "sh", "-c", script});
    return words;
  }
  Answer guarded(const std::string& script, const Words& options = {}) {
    return stage_.as("ann", guard(script, options));
  }
  // A guard whose command waits for out/NAME.
  Process hold(const std::string& name, const Words& options = {}) {
    const std::string script = "trap 'echo told >" + out(name + "-told") + "; exit 0' TERM; " +
                               "echo $$ >" + out(name + "-in") + "; while [ ! -e " + out(name) +
                               " ]; do sleep 0.02; done";
    return stage_.start("ann", guard(script, options));
  }
  bool inside(const std::string& name) const {
    return eventually([&] { return read_text(out(name + "-in")).ends_with("\n"); });
  }

  // The protocol's lock, by node if there is one, else by Python.
  Launch foreign(const Words& words) {
    static const bool has_node = std::system("node --version >/dev/null 2>&1") == 0;
    Words argv = {
        has_node ? "node" : "python3",
        std::string(LOCKKEEPER_INTEROP_FOLDER) + "/dirlock_foreign." + (has_node ? "js" : "py"),
        words.front(), stage_.path("out")};
    argv.insert(argv.end(), words.begin() + 1, words.end());
    return stage_.command(argv);
  }
  bool foreign_holds() const {
    return eventually([&] { return !read_text(out("held")).empty(); });
  }
  void let_foreign_go() const { write_text(out("stop"), ""); }

  // A lock file as the protocol has it.
  std::string record(std::int64_t pid, std::int64_t ago_ms = 0, std::string host = {}) const {
    if (host.empty()) {
      char name[256] = {};
      ::gethostname(name, sizeof name - 1);
      host = name;
    }
    Json json;
    json["pid"] = pid;
    json["cwd"] = physical(stage_.repo());
    json["startTime"] = format_time(SystemClock().now().wall_ms - ago_ms);
    json["hostname"] = host;
    json["agents"] = {"auto-advance", "implement"};
    return json.dump(2);
  }
  void make_old(const std::string& path) const {
    std::filesystem::last_write_time(
        path, std::filesystem::file_time_type::clock::now() - std::chrono::minutes(1));
  }
  std::vector<Json> events() { return stage_.expect(0, "", {"log"}).lines(); }
  bool logged(const std::string& event, const std::string& cause) {
    for (const Json& line : events()) {
      if (line["event"] == event && line["cause"] == cause) return true;
    }
    return false;
  }
  bool temp_is_empty() const { return std::filesystem::is_empty(temp()); }

  static constexpr std::int64_t kDead = 2'000'000'000;
  static constexpr std::int64_t kMinute = 60'000;

  Stage stage_;
};

}  // namespace lockkeeper::stage
