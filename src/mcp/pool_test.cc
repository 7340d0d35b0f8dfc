#include "mcp/pool.h"

#include <gtest/gtest.h>

#include <atomic>

#include "mcp/test_recorder.h"

namespace lockkeeper::mcp {
namespace {

TEST(Pool, WorkRunsSideBySide) {
  Latch both;
  std::atomic<int> here = 0;
  std::atomic<int> done = 0;
  {
    Pool pool(2);
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(pool.run([&] {
        if (++here == 2) both.open();
        if (both.wait()) ++done;
      }));
    }
    EXPECT_TRUE(both.wait());
  }
  EXPECT_EQ(done, 2);
}

TEST(Pool, TooMuchIsRefused) {
  Pool pool(1);
  Latch go;
  std::size_t taken = 0;
  while (pool.run([&] { go.wait(); })) ++taken;
  EXPECT_GT(taken, 1U);
  go.open();
}

// However many wait, others work: a waiting call frees its place.
TEST(Pool, WaitingEatsNoThreads) {
  Pool pool(2, 8);
  Latch go;
  std::atomic<int> waiting = 0;
  Latch all;
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(pool.run([&] {
      ASSERT_TRUE(pool.pause());
      if (++waiting == 8) all.open();
      go.wait();
      pool.resume();
    }));
  }
  EXPECT_TRUE(all.wait());
  EXPECT_FALSE(pool.pause());  // as many as may
  Latch worked;
  ASSERT_TRUE(pool.run([&] { worked.open(); }));
  EXPECT_TRUE(worked.wait());
  go.open();
}

// A pause frees a place for what is in the queue already.
TEST(Pool, APauseLetsTheNextOneIn) {
  Pool pool(1, 1);
  Latch queued;
  Latch worked;
  ASSERT_TRUE(pool.run([&] {
    ASSERT_TRUE(queued.wait());
    ASSERT_TRUE(pool.pause());
    EXPECT_TRUE(worked.wait());
    pool.resume();
  }));
  ASSERT_TRUE(pool.run([&] { worked.open(); }));
  queued.open();
  EXPECT_TRUE(worked.wait());
}

}  // namespace
}  // namespace lockkeeper::mcp
