// The epoch file of any text. A second kind of input has a good checksum, so that what is behind it
// is reached.
#include "kv/lmdb/epoch.h"

#include "base/bytes.h"
#include "fuzz.h"

namespace lockkeeper::fuzz {

void run(Input input) {
  const bool summed = (input.byte() & 1) != 0;
  std::string text(input.rest());
  if (summed) {
    std::string sum;
    append_be64(sum, hash64(text));
    text += "sum " + to_hex(sum) + "\n";
  }
  const auto first = kv::internal::read_epoch(text);
  if (!first) return;
  const std::string written = kv::internal::write_epoch(*first);
  const auto second = kv::internal::read_epoch(written);
  require(second && kv::internal::write_epoch(*second) == written,
          "what was written is read as something else");
  kv::internal::NextEpoch next;
  next.last = &*first;
  next.newest = first->version_start;
  // Numbers that no store reaches are refused or kept in bounds elsewhere; here those it may have.
  constexpr std::uint64_t kVersionMax = std::uint64_t{1} << 45;
  constexpr std::int64_t kOffsetMax = std::int64_t{1} << 53;
  if (first->version_base >= kVersionMax || first->version_start >= kVersionMax ||
      first->id >= kVersionMax || first->fence_offset < 0 || first->fence_offset >= kOffsetMax) {
    return;
  }
  const kv::internal::EpochRecord later = kv::internal::next_epoch(next);
  require(later.id > first->id, "an epoch that does not grow");
  const auto fence = [](const kv::internal::EpochRecord& record) {
    return static_cast<std::int64_t>(record.version_start) + record.fence_offset;
  };
  require(fence(later) >= fence(*first), "fences that go back (I3)");
}

}  // namespace lockkeeper::fuzz
