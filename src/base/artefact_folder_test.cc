#include "base/artefact_folder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/test_folder.h"

namespace lockkeeper {
namespace {

// Found by killing a foreman in the middle of it: another process had published the empty file.
TEST(ArtefactFolder, ANewFileIsWholeAsSoonAsItIsThere) {
  constexpr std::size_t kBytes = 4 << 20;
  const TestFolder scratch;
  const auto folder = ArtefactFolder::open(scratch.path(), "");
  ASSERT_TRUE(folder) << folder.error().message;
  const std::string text(kBytes, 'x');
  std::atomic<bool> done = false;
  std::atomic<std::size_t> partial = 0;
  std::thread reader([&] {
    while (!done) {
      const auto seen = folder->read("lock", 2 * kBytes);
      if (seen && *seen && (*seen)->size() != kBytes) ++partial;
    }
  });
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(folder->write_new("lock", text));
    EXPECT_FALSE(folder->write_new("lock", "another")) << "the name is taken";
    ASSERT_TRUE(folder->remove("lock"));
  }
  done = true;
  reader.join();
  EXPECT_EQ(partial, 0U);
}

}  // namespace
}  // namespace lockkeeper
