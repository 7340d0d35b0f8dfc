// For tests alone: a home folder and a repository of their own.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "install/machine.h"
#include "install/plan.h"
#include "realm/test_repository.h"

namespace lockkeeper::install {

class InstallTest : public ::testing::Test {
 protected:
  InstallTest() {
    place_.folder("home/.local/state");
    place_.folder("home/.local/share");
    place_.init("repo");
    program_ = at("home/.local/share/lockkeeper/bin/lockkeeper");
  }

  std::string at(const std::string& name) const { return place_.at(name); }
  void write(const std::string& name, const std::string& text) const { place_.write(name, text); }

  Machine machine(const std::map<std::string, std::string>& more = {}) const {
    std::map<std::string, std::string> env = {{"HOME", at("home")}, {"PATH", "/usr/bin:/bin"}};
    for (const auto& [name, value] : more) env[name] = value;
    auto found = look_at_machine(realm::environment_of(env), at("repo"));
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(Machine{});
  }

  std::string read(const std::string& name) const {
    std::ifstream stream(at(name), std::ios::binary);
    if (!stream) return "(none)";
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  unsigned mode(const std::string& name) const {
    struct stat info{};
    return ::stat(at(name).c_str(), &info) == 0 ? info.st_mode & 07777U : 0;
  }

  // Every file and folder with its content, but for git's own.
  std::map<std::string, std::string> everything() const {
    namespace fs = std::filesystem;
    std::map<std::string, std::string> found;
    for (auto entry = fs::recursive_directory_iterator(place_.path());
         entry != fs::recursive_directory_iterator(); ++entry) {
      const std::string name = fs::relative(entry->path(), place_.path());
      if (name.starts_with("repo/.git/") && !name.starts_with("repo/.git/info")) {
        entry.disable_recursion_pending();
        continue;
      }
      const bool link = entry->is_symlink();
      found[name] = link                       ? "-> " + fs::read_symlink(entry->path()).string()
                    : entry->is_regular_file() ? read(name)
                                               : "(folder)";
    }
    return found;
  }

  Request request(std::vector<Client> clients, Scope scope) const {
    return {std::move(clients), scope, scope == Scope::kShared ? "lockkeeper" : program_};
  }

  Plan planned(const Request& wanted) const {
    auto plan = plan_install(machine(), wanted);
    EXPECT_TRUE(plan) << plan.error().message;
    return plan.value_or(Plan{});
  }
  void install(const Request& wanted) const {
    const auto done = carry_out(machine(), planned(wanted));
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_TRUE(planned(wanted).changes.empty()) << "a second time changes nothing";
  }
  void uninstall(const Request& wanted) const {
    const auto plan = plan_uninstall(machine(), wanted);
    ASSERT_TRUE(plan) << plan.error().message;
    const auto done = carry_out(machine(), *plan);
    ASSERT_TRUE(done) << done.error().message;
    const auto again = plan_uninstall(machine(), wanted);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(again->changes.empty() && again->forgotten.empty());
  }
  std::string refused(const Request& wanted) const {
    const auto plan = plan_install(machine(), wanted);
    return plan ? "planned" : plan.error().message;
  }

  realm::TestRepository place_;
  std::string program_;
};

}  // namespace lockkeeper::install
