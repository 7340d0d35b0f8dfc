// DirectoryGuard, beside the shipped program's guard.
#include <gmock/gmock.h>
#include <lockkeeper/guard.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "embed/scene.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;

class EmbedGuard : public EmbedTest {
 protected:
  EmbedGuard() {
    std::filesystem::create_directories(stage_.path("temp"));
    stage_.env["TMPDIR"] = stage_.path("temp");
    const char* before = ::getenv("TMPDIR");
    before_ = before == nullptr ? "" : before;
    ::setenv("TMPDIR", stage_.path("temp").c_str(), 1);
  }
  ~EmbedGuard() override {
    before_.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before_.c_str(), 1);
  }
  GuardOptions options() {
    GuardOptions options;
    options.folder = stage_.repo();
    options.agents = {"indexer"};
    options.agent = "embedder";
    options.on_line = [this](std::string_view line, bool) { lines_ += std::string(line) + "\n"; };
    return options;
  }

  std::string before_;
  std::string lines_;
};

TEST_F(EmbedGuard, HeldUntilItsEnd) {
  {
    auto guard = DirectoryGuard::take(options());
    ASSERT_TRUE(guard) << guard.error().message;
    EXPECT_THAT(read_text(guard->path()), HasSubstr("\"pid\": " + std::to_string(::getpid())));
    EXPECT_THAT(read_text(guard->path()), HasSubstr("\"indexer\""));
    EXPECT_FALSE(guard->lost());
    const Answer refused = stage_.as("ann", {"guard", "--", "true"});
    EXPECT_EQ(refused.status, 1) << refused.all();
    stage_.expect(75, "bob", {"acquire", "a.py"});
    const auto second = DirectoryGuard::take(options());  // in one process, too
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Code::kHeld);
    EXPECT_THAT(second.error().message, HasSubstr("is held by PID"));
    DirectoryGuard moved = std::move(*guard);
    EXPECT_FALSE(moved.lost());
  }
  EXPECT_TRUE(std::filesystem::is_empty(stage_.path("temp")));
  EXPECT_THAT(lines_, HasSubstr("🔒 [LOCK] Lock acquired (PID: "));
  EXPECT_THAT(lines_, HasSubstr("🔓 [LOCK] Lock released (held for "));
  EXPECT_EQ(stage_.as("ann", {"guard", "--", "true"}).status, 0);
}

TEST_F(EmbedGuard, I7_ALossIsTold) {
  auto guard = DirectoryGuard::take(options());
  ASSERT_TRUE(guard) << guard.error().message;
  EXPECT_EQ(stage_.as("bob", {"guard", "--stale-timeout", "0", "--", "true"}).status, 0);
  EXPECT_TRUE(eventually([&] { return guard->lost(); }));
  EXPECT_TRUE(eventually([&] { return guard->lost_token().stop_requested(); }));
  EXPECT_EQ(guard->release().error().code, Code::kLost);
  EXPECT_EQ(guard->release().error().code, Code::kNotFound);
}

TEST_F(EmbedGuard, InAForkedChildItIsTheParents) {
  auto guard = DirectoryGuard::take(options());
  ASSERT_TRUE(guard) << guard.error().message;
  const pid_t child = ::fork();
  if (child == 0) {
    const bool lost = guard->lost();
    {
      const DirectoryGuard gone = std::move(*guard);
    }
    ::_exit(lost ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(guard->lost());
  EXPECT_TRUE(exists(guard->path()));
  EXPECT_TRUE(guard->release());
}

TEST_F(EmbedGuard, BadOptionsAreRefused) {
  GuardOptions bad = options();
  bad.folder = stage_.path("nowhere");
  EXPECT_EQ(DirectoryGuard::take(bad).error().code, Code::kInvalidInput);
  bad = options();
  bad.stale_timeout = std::chrono::milliseconds(-1);
  EXPECT_EQ(DirectoryGuard::take(bad).error().code, Code::kInvalidInput);
}

}  // namespace
}  // namespace lockkeeper::stage
