#include "kv/store.h"

#include "base/assert.h"

namespace lockkeeper::kv {

Range prefix_range(std::string_view prefix) {
  return {std::string(prefix), end_of_prefix(prefix)};
}

std::string end_of_prefix(std::string_view prefix) {
  std::string to(prefix);
  while (!to.empty() && to.back() == '\xff') to.pop_back();
  LOCKKEEPER_ASSERT(!to.empty());
  to.back() = static_cast<char>(static_cast<unsigned char>(to.back()) + 1);
  return to;
}

}  // namespace lockkeeper::kv
