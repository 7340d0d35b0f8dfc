#include "layout/keep_up.h"

namespace lockkeeper::layout {
namespace {

constexpr std::size_t kKeptUpAtOnce = 64;

}  // namespace

Result<void> keep_up(LockTable& table) {
  if (!table.is_shared()) return {};
  LK_CHECK(table.write([](core::Table& here) { return here.maintain(kKeptUpAtOnce); }));
  return {};
}

}  // namespace lockkeeper::layout
