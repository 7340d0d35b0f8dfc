#include <gtest/gtest.h>

#include "nemesis/apart.h"

int main(int argc, char** argv) {
  lockkeeper::nemesis::go_apart(argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
