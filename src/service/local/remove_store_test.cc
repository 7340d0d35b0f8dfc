#include "layout/remove_store.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "layout/test_table.h"
#include "service/local/local_service.h"
#include "service/locks.h"

namespace lockkeeper::service {
namespace {

namespace fs = std::filesystem;

class RemoveStore : public testing::Test {
 protected:
  RemoveStore() {
    files_.init("repo");
    runtime_.clock = &clock_;
    runtime_.random = &random_;
    runtime_.env = files_.env();
    runtime_.make_service = local::make_service;
    runtime_.open_store = [this](const layout::StoreRequest& request) {
      return layout::open_test_store(request, clock_);
    };
    realm_ = files_.realm("repo");
  }

  // A site of its own each time, as another process would have.
  std::unique_ptr<Site> site() {
    return std::make_unique<Site>(runtime_, realm_, realm::Settings{});
  }

  core::Lease acquire() {
    const auto mine = site();
    Locks locks(*mine, {"backend", ""});
    AcquireCommand command;
    command.wanted.texts = {"src/a.py"};
    const auto result = locks.acquire(command);
    EXPECT_TRUE(result && result->outcome == core::Outcome::kGranted);
    return result ? result->lease : core::Lease{};
  }

  void release_all() {
    const auto mine = site();
    Locks locks(*mine, {"backend", ""});
    ReleaseCommand command;
    command.all = true;
    EXPECT_TRUE(locks.release(command));
  }

  realm::TestRepository files_;
  SystemClock clock_;
  SystemRandom random_;
  Runtime runtime_;
  realm::Realm realm_;
};

TEST_F(RemoveStore, without_a_store_there_is_nothing_to_do_and_nothing_is_made) {
  const auto result = layout::remove_store(site()->table(), false);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->removed);
  EXPECT_FALSE(fs::exists(realm_.store_folder));
}

TEST_F(RemoveStore, I5_what_is_held_keeps_the_store) {
  acquire();
  const auto result = layout::remove_store(site()->table(), false);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_FALSE(result->removed);
  ASSERT_EQ(result->held.size(), 1U);
  EXPECT_EQ(result->held[0].owner.agent, "backend");
  const auto mine = site();
  Locks locks(*mine, {"frontend", ""});
  CheckCommand check;
  check.wanted.texts = {"src/a.py"};
  const auto reply = locks.check(check);
  ASSERT_TRUE(reply);
  EXPECT_FALSE(reply->free) << "nothing was lost";
}

TEST_F(RemoveStore, I3_a_later_store_goes_on_with_greater_fences) {
  const std::uint64_t before = acquire().fence();
  release_all();
  const auto result = layout::remove_store(site()->table(), false);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->removed);
  EXPECT_FALSE(fs::exists(realm_.store_folder));
  EXPECT_FALSE(fs::exists(realm_.epoch_copy));
  for (const auto& entry : fs::directory_iterator(realm_.common_dir)) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("lockkeeper")) << entry.path();
  }
  EXPECT_GT(acquire().fence(), before);
}

TEST_F(RemoveStore, force_removes_what_is_held) {
  acquire();
  const auto result = layout::remove_store(site()->table(), true);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->removed);
  EXPECT_FALSE(fs::exists(realm_.store_folder));
  acquire();
}

TEST_F(RemoveStore, the_local_config_stays) {
  acquire();
  release_all();
  const std::string config = realm_.store_folder + "/" + std::string(realm::kLocalConfigName);
  std::ofstream(config) << "[lease]\ndefault = \"5m\"\n";
  const auto result = layout::remove_store(site()->table(), false);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(fs::exists(config));
  EXPECT_FALSE(fs::exists(realm_.store_folder + "/gate"));
  acquire();
}

}  // namespace
}  // namespace lockkeeper::service
