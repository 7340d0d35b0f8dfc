#include "hub/people/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/test_folder.h"

namespace lockkeeper::hub {
namespace {

using testing::HasSubstr;

class Passes : public testing::Test {
 protected:
  std::string passes() const { return folder_.file("passes-" + std::to_string(::geteuid())); }
  void age(int seconds) const {
    for (const auto& each : std::filesystem::directory_iterator(passes())) {
      std::filesystem::last_write_time(
          each, std::filesystem::file_time_type::clock::now() - std::chrono::seconds(seconds));
    }
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(passes()), {}));
  }
  const TestFolder folder_;
};

TEST_F(Passes, APassIsGoodOnce) {
  const std::string pass = *make_pass(folder_.path(), "github.com/org/repo", "ana");
  EXPECT_EQ(realm_of_pass(pass), "github.com/org/repo");
  EXPECT_EQ(find_pass(folder_.path(), pass, false), "ana");
  EXPECT_EQ(find_pass(folder_.path(), pass, true), "ana");
  EXPECT_EQ(find_pass(folder_.path(), pass, true), std::nullopt);
  EXPECT_EQ(files(), 0U);
}

TEST_F(Passes, APassIsGoodForAMinute) {
  const std::string pass = *make_pass(folder_.path(), "app", "ana");
  age(50);
  EXPECT_EQ(find_pass(folder_.path(), pass, false), "ana");
  age(70);
  EXPECT_EQ(find_pass(folder_.path(), pass, true), std::nullopt);
  ASSERT_TRUE(make_pass(folder_.path(), "app", "ana"));
  EXPECT_EQ(files(), 1U) << "what is too old goes away";
}

TEST_F(Passes, WhatIsNoPassOpensNothing) {
  const std::string pass = *make_pass(folder_.path(), "app", "ana");
  EXPECT_EQ(find_pass(folder_.path(), pass + "x", true), std::nullopt);
  EXPECT_EQ(find_pass(folder_.path(), "", true), std::nullopt);
  EXPECT_EQ(find_pass(folder_.file("none"), pass, true), std::nullopt);
  EXPECT_EQ(realm_of_pass("lk_" + pass.substr(4)), std::nullopt);
  EXPECT_EQ(realm_of_pass("lkp_0123.app"), std::nullopt);
}

TEST_F(Passes, OnlyTheUserCanReadThem) {
  ASSERT_TRUE(make_pass(folder_.path(), "app", "ana"));
  const std::string way = *make_way(folder_.path(), "http://127.0.0.1:1/#pass=a\"b<c");
  struct stat status{};
  ASSERT_EQ(::stat(passes().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  for (const auto& each : std::filesystem::directory_iterator(passes())) {
    ASSERT_EQ(::stat(each.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U) << each.path();
  }
  std::ifstream file(way);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(text, HasSubstr("url=http://127.0.0.1:1/#pass=a&quot;b&lt;c\""));
}

TEST_F(Passes, APlaceIsReadAsItWasWritten) {
  const HubPlace place{"https://hub.example.com:7420", "app", false, 1002};
  const auto read = parse_place(to_line(place));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->address, place.address);
  EXPECT_EQ(read->realm, "app");
  EXPECT_FALSE(read->asks);
  EXPECT_EQ(read->user, 1002U);
  EXPECT_FALSE(parse_place("").has_value());
}

}  // namespace
}  // namespace lockkeeper::hub
