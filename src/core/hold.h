// Who keeps a lease, and whether it still lives (rule 7).
#pragma once

#include <cstdint>
#include <vector>

namespace lockkeeper::core {

// Who keeps a lease: whoever has a byte of the realm's `live` file locked, one process (by pid
// namespace, pid and start time), or nobody in particular (detached).
struct Attachment {
  std::uint64_t slot = 0;
  std::uint64_t pid_namespace = 0;
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;
  bool attached() const { return slot != 0 || pid != 0; }
  friend bool operator==(const Attachment&, const Attachment&) = default;
};

enum class Alive { kAlive, kDead, kUnknown };

// Tells the table whether an attachment's process is alive. Called inside a transaction, so it must
// never block. "Cannot tell" is kUnknown, which never ends a lease.
class Prober {
 public:
  virtual ~Prober() = default;
  virtual Alive probe(const Attachment&) const = 0;
};

// Those of a lease: never empty, each once.
using Holds = std::vector<Attachment>;
inline constexpr std::size_t kHoldsMax = 64;

}  // namespace lockkeeper::core
