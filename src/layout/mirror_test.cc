#include "layout/mirror.h"

#include <gmock/gmock.h>

#include "layout/test_fixture.h"

namespace lockkeeper::layout {
namespace {

using testing::Contains;
using testing::Key;

class MirrorTest : public LayoutTest {
 protected:
  bool is_pending(const LayoutEntry& entry) {
    return find_layout(*table_, entry.id()).value().pending;
  }
};

// Another process registers a layout while this one shows what is held, and dies: it has yet to be
// shown there, and is by whoever comes next.
TEST_F(MirrorTest, ALayoutThatCameMeanwhileStaysPending) {
  entry_.pending = true;
  EXPECT_TRUE(put_layout(*table_, entry_));
  core::Lease lease;
  write([&](core::Table& table) { lease = grant(table, "ann", "a"); });
  LayoutEntry late = entry_;
  late.root = at_.files.path();
  disk_.before_publish = [&] { EXPECT_TRUE(put_layout(*table_, late)); };
  Mirror mirror(*table_);
  EXPECT_TRUE(mirror.open_to_write());
  EXPECT_THAT(disk_.there, Contains(Key("a")));
  EXPECT_FALSE(is_pending(entry_));
  EXPECT_TRUE(is_pending(late));
  read([&](core::Table& table) {
    EXPECT_EQ(core::mirrored_as(table.state(), late.id(), "a").value().size(), 0U);
  });
  Mirror next(*table_);
  EXPECT_TRUE(next.open_to_write());
  EXPECT_FALSE(is_pending(late));
  read([&](core::Table& table) {
    EXPECT_EQ(core::mirrored_as(table.state(), late.id(), "a").value().size(), 1U);
  });
}

}  // namespace
}  // namespace lockkeeper::layout
