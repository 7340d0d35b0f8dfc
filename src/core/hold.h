// Who keeps a lease, and whether it still lives (rule 7).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
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
  // A client on another machine, by its number: only the hub that it talks to can tell whether it
  // lives. Where several hubs share a store, the others look whether its session's row is there
  // (presence.h).
  static constexpr std::uint64_t kRemote = 0x4c4b687562;  // instead of a pid namespace
  static constexpr std::uint64_t kNoSession = 1;
  static Attachment remote(std::uint64_t number, std::uint64_t session = kNoSession) {
    return {0, kRemote, static_cast<std::int64_t>(session), number};
  }
  bool is_remote() const { return slot == 0 && pid_namespace == kRemote; }
  bool has_session() const { return is_remote() && session() != kNoSession; }
  std::uint64_t session() const { return static_cast<std::uint64_t>(pid); }
  friend auto operator<=>(const Attachment&, const Attachment&) = default;
};

enum class Alive { kAlive, kDead, kUnknown };

// Tells the table whether an attachment's process is alive. Called inside a transaction, so it must
// never block. "Cannot tell" is kUnknown, which never ends a lease.
class Prober {
 public:
  virtual ~Prober() = default;
  virtual Alive probe(const Attachment&) const = 0;
};

// Within one transaction a process is either alive or dead, just as there is one time. If it dies
// meanwhile, the answer is that of the first look.
class OneLook final : public Prober {
 public:
  explicit OneLook(const Prober& prober) : prober_(prober) {}
  Alive probe(const Attachment& attachment) const override {
    const auto seen = seen_.find(attachment);
    if (seen != seen_.end()) return seen->second;
    return seen_.emplace(attachment, prober_.probe(attachment)).first->second;
  }

 private:
  const Prober& prober_;
  mutable std::map<Attachment, Alive> seen_;
};

// Those of a lease: never empty, each once.
using Holds = std::vector<Attachment>;
inline constexpr std::size_t kHoldsMax = 64;

}  // namespace lockkeeper::core
