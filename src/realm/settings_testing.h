// For tests alone: a repository whose three settings files a test writes.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "realm/config.h"
#include "realm/test_repository.h"

namespace lockkeeper::realm {

class SettingsFiles : public testing::Test {
 protected:
  SettingsFiles() {
    repo.init("r");
    realm = repo.realm("r");
  }

  void user(const std::string& text) { repo.write("home/.config/lockkeeper/config.toml", text); }
  void shared(const std::string& text) { repo.write("r/lockkeeper.toml", text); }
  void local(const std::string& text) { repo.write("r/.git/lockkeeper/config.toml", text); }

  Settings loaded() const {
    auto settings = load_settings(realm, repo.env());
    EXPECT_TRUE(settings.has_value()) << (settings ? "" : settings.error().message);
    return settings ? *settings : Settings{};
  }
  Error refused() const {
    auto settings = load_settings(realm, repo.env());
    EXPECT_FALSE(settings.has_value());
    return settings ? Error{} : settings.error();
  }

  TestRepository repo;
  Realm realm;
};

}  // namespace lockkeeper::realm
