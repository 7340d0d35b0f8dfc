#include "install/program.h"

#include "install/inspect.h"
#include "install/install_testing.h"
#include "install/own_pieces.h"

namespace lockkeeper::install {
namespace {

using How = InstalledProgram::How;

class Program : public InstallTest {
 protected:
  Program() { write_program("build/lockkeeper", "2.0.0"); }

  void write_program(const std::string& name, const std::string& version) const {
    write(name, "#!/bin/sh\necho lockkeeper " + version + "\n");
    std::filesystem::permissions(at(name), std::filesystem::perms::owner_all);
  }
  ProgramRequest from_build(const std::string& version = "2.0.0") const {
    ProgramRequest request;
    request.self = at("build/lockkeeper");
    request.version = version;
    return request;
  }
  InstalledProgram done(const ProgramRequest& request) const {
    const auto installed = install_program(machine(), request);
    EXPECT_TRUE(installed) << installed.error().message;
    return installed.value_or(InstalledProgram{});
  }
  const std::string kCopy = "home/.local/share/lockkeeper/bin/lockkeeper";
};

TEST_F(Program, IsCopiedOnce) {
  const auto before = everything();
  const InstalledProgram first = done(from_build());
  EXPECT_EQ(first.how, How::kCopied);
  EXPECT_EQ(first.path, at(kCopy));
  EXPECT_EQ(read(kCopy), read("build/lockkeeper"));
  EXPECT_EQ(mode(kCopy), 0755U);
  EXPECT_EQ(done(from_build()).how, How::kUpToDate);
  ProgramRequest itself = from_build();
  itself.self = at(kCopy);
  EXPECT_EQ(done(itself).how, How::kUpToDate);
  EXPECT_TRUE(*remove_program(machine()));
  EXPECT_FALSE(*remove_program(machine()));
  EXPECT_EQ(everything(), before);
}

TEST_F(Program, WithTheLastHookItGoesAndSoDoEmptyFoldersOfOurs) {
  for (const char* const own : {"home", "home/.local", "home/.local/share"}) {
    std::filesystem::remove_all(at("home"));
    place_.folder(own);
    const auto before = everything();
    Plan plan = planned(request({Client::kOpencode}, Scope::kUser));
    plan.program = from_build();
    ASSERT_TRUE(carry_out(machine(), plan));
    EXPECT_EQ(read(kCopy), read("build/lockkeeper"));
    Request policy = request({}, Scope::kUser);
    policy.more = {policy_piece(Scope::kUser, at("home/.config/lockkeeper/config.toml"), "warn")};
    install(policy);
    uninstall(request({Client::kOpencode}, Scope::kUser));
    EXPECT_EQ(read(kCopy), "(none)") << own;
    EXPECT_EQ(mode("home/.config/opencode"), 0U) << "it is empty";
    uninstall(policy);
    EXPECT_EQ(everything(), before) << own;
  }
}

TEST_F(Program, IfAnInstallFailsItsCopyAndItsFoldersGo) {
  std::filesystem::remove_all(at("home/.local"));
  write("home/.copilot/hooks", "a file where a folder must be");
  const auto before = everything();
  Plan plan = planned(request({Client::kOpencode, Client::kCopilot}, Scope::kUser));
  plan.program = from_build();
  EXPECT_FALSE(carry_out(machine(), plan));
  EXPECT_EQ(everything(), before);
}

TEST_F(Program, ANewerOneReplacesAnOlderOne) {
  write_program(kCopy, "1.9.9");
  const InstalledProgram found = done(from_build());
  EXPECT_EQ(found.how, How::kReplaced);
  EXPECT_EQ(found.other_version, "1.9.9");
  EXPECT_EQ(read(kCopy), read("build/lockkeeper"));
}

TEST_F(Program, AnOlderOneReplacesANewerOneOnlyIfTold) {
  write_program(kCopy, "2.0.1");
  EXPECT_EQ(done(from_build()).how, How::kKeptNewer);
  EXPECT_EQ(*version_of(at(kCopy)), "2.0.1");
  ProgramRequest told = from_build();
  told.downgrade = true;
  EXPECT_EQ(done(told).how, How::kReplaced);
  EXPECT_EQ(*version_of(at(kCopy)), "2.0.0");
}

TEST_F(Program, ACopyThatDoesNotRunIsReplaced) {
  write(kCopy, "broken");
  EXPECT_EQ(done(from_build()).how, How::kReplaced);
  EXPECT_EQ(version_of("/bin/false"), std::nullopt);
}

TEST_F(Program, StaysWhereASystemKeepsIt) {
  ProgramRequest request = from_build();
  request.self = "/usr/local/bin/lockkeeper";
  EXPECT_EQ(done(request).how, How::kSystem);
  EXPECT_EQ(done(request).path, "/usr/local/bin/lockkeeper");
  EXPECT_FALSE(is_in_system_folder("/usr/src/lockkeeper"));
  EXPECT_TRUE(is_in_system_folder("/opt/lk/bin/lockkeeper"));
  EXPECT_FALSE(is_in_system_folder("/usr/lib/node_modules/lockkeeper-linux-x64/bin/lockkeeper"));
  EXPECT_TRUE(is_in_system_folder("/nix/store/x-lockkeeper/bin/lockkeeper"));
  request.self = "lockkeeper";
  EXPECT_FALSE(install_program(machine(), request));
}

TEST(Versions, AreComparedByNumber) {
  EXPECT_LT(compare_versions("0.9.1", "0.10.0"), 0);
  EXPECT_GT(compare_versions("1.0.0", "1.0.0-rc1"), 0);
  EXPECT_LT(compare_versions("1.0.0-rc1", "1.0.0-rc2"), 0);
  EXPECT_EQ(compare_versions("1.0", "1.0.0"), 0);
  EXPECT_LT(compare_versions("1.0", "1.0.1"), 0);
}

}  // namespace
}  // namespace lockkeeper::install
