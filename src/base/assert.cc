#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace lockkeeper {

void assert_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "lockkeeper: assertion failed: %s (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace lockkeeper
