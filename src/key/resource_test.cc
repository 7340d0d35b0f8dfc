#include "key/resource.h"

#include <gtest/gtest.h>

namespace lockkeeper::key {

TEST(Resource, PlainFilesFoldersAndKeys) {
  EXPECT_EQ(parse("a/./b//c", {})->resource.text(), "a/b/c");
}

}  // namespace lockkeeper::key
