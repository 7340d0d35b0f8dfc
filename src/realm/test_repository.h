// For tests alone: a temporary folder with real git in it, and an environment made of a map.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/test_folder.h"
#include "base/text.h"
#include "realm/environment.h"
#include "realm/realm.h"

namespace lockkeeper::realm {

inline Environment environment_of(std::map<std::string, std::string> values) {
  return [values](const char* name) -> std::optional<std::string> {
    const auto found = values.find(name);
    if (found == values.end()) return std::nullopt;
    return found->second;
  };
}

class MovedClock final : public Clock {
 public:
  Now now() const override {
    Now now = system_.now();
    now.mono_ms += ahead_ms;
    now.wall_ms += ahead_ms;
    return now;
  }
  std::int64_t ahead_ms = 0;

 private:
  SystemClock system_;
};

class TestRepository {
 public:
  TestRepository() {
    char physical[PATH_MAX];
    EXPECT_NE(::realpath(folder_.path().c_str(), physical), nullptr);
    path_ = physical;
  }

  const std::string& path() const { return path_; }
  std::string at(const std::string& name) const { return path_ + "/" + name; }
  Environment env() const { return environment_of({{"HOME", at("home")}}); }

  // The realm of a folder in it.
  Realm realm(const std::string& name) const {
    const auto found = find_realm(
        {.explicit_dir = "", .inherited_dir = "", .resources = {}, .cwd = at(name), .env = env()});
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(Realm{});
  }

  // Runs git with no config but the repository's own. `arguments` is shell text.
  void git(const std::string& in, const std::string& arguments) const {
    const std::string command =
        "cd " + shell_quote(at(in)) + " && env -u GIT_DIR -u GIT_WORK_TREE GIT_CONFIG_NOSYSTEM=1" +
        " GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.org" +
        " GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.org git -c init.defaultBranch=main" +
        " -c protocol.file.allow=always " + arguments + " >/dev/null 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }

  // A repository with one commit.
  void init(const std::string& name) const {
    folder(name);
    git(name, "init .");
    git(name, "commit --allow-empty -m first");
  }

  void folder(const std::string& name) const { std::filesystem::create_directories(at(name)); }

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(at(name)).parent_path());
    std::ofstream(at(name), std::ios::binary) << text;
  }

  void link(const std::string& target, const std::string& name) const {
    std::filesystem::create_directories(std::filesystem::path(at(name)).parent_path());
    ASSERT_EQ(::symlink(target.c_str(), at(name).c_str()), 0) << name;
  }

 private:
  TestFolder folder_;
  std::string path_;
};

// Runs `check` in a child that has given up root for the user nobody; true if it said true. Only
// for a test that runs as root (geteuid() == 0).
inline bool as_nobody(const std::function<bool()>& check) {
  constexpr unsigned kNobody = 65534;
  const pid_t child = ::fork();
  if (child == 0) {
    const bool changed =
        ::setresgid(kNobody, kNobody, kNobody) == 0 && ::setresuid(kNobody, kNobody, kNobody) == 0;
    ::_exit(changed && check() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace lockkeeper::realm
