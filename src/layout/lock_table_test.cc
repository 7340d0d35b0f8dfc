#include "layout/lock_table.h"

#include <gtest/gtest.h>

#include <set>

#include "base/test_clock.h"
#include "layout/test_table.h"

namespace lockkeeper::layout {
namespace {

// An id is given once, also to one that takes and gives back many leases in a millisecond.
TEST(LockTable, TicketsOfOneMillisecondDiffer) {
  const TestClock clock;
  TestTable at;
  at.runtime.clock = &clock;
  const auto table = at.table();
  constexpr std::size_t kDrawn = 1U << 16U;
  std::set<std::uint64_t> tickets;
  std::set<std::uint64_t> residues;  // of every second one: history is trimmed by them
  for (std::size_t i = 0; i < kDrawn; ++i) {
    const std::uint64_t ticket = table->new_ticket();
    tickets.insert(ticket);
    if (i % 2 == 0) residues.insert(ticket % 64);
  }
  EXPECT_EQ(tickets.size(), kDrawn);
  EXPECT_EQ(residues.size(), 64U);
}

}  // namespace
}  // namespace lockkeeper::layout
