// Judges what several hubs commit on one store. It knows what nobody of them knows: the true time,
// how fast each clock runs, and which process lives. After each commit it looks at the events and
// at the rows as they are written.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/encoding.h"
#include "world.h"

namespace lockkeeper::sim {

// Who has committed, and what its operation was told.
struct Committer {
  std::string hub;
  std::uint64_t clock = 0;
  std::int64_t now = 0;         // the true time then
  std::int64_t per_mille = 0;   // how fast its clock runs
  std::int64_t epoch_seen = 0;  // the true time when its Store was opened
  core::Owner owner;            // on whose behalf; no agent: upkeep
};

class MachinesJudge {
 public:
  using Probes = std::map<std::string, std::uint64_t>;
  // `is_dead`: has the process with that number really ended?
  MachinesJudge(const World& world, Probes& probes, std::function<bool(std::uint64_t)> is_dead)
      : world_(world), probes_(probes), is_dead_(std::move(is_dead)) {}

  // The newest version is of this committer. Throws Violation.
  void committed(kv::Txn& reader, kv::Version version, const Committer& by);
  // It was told that the lease is renewed: for so long it is.
  void check_renewed(const core::LeaseId& id, std::int64_t ttl_ms) const;

  const std::map<core::LeaseId, core::Lease>& leases() const { return leases_; }
  const std::map<core::LeaseId, core::Lease>& waiters() const { return waiters_; }
  void begin_epoch(std::uint64_t id) { epoch_ = id; }

 private:
  using Leases = std::map<core::LeaseId, core::Lease>;
  static void read_rows(kv::Txn& reader, kv::Version version, Leases& leases, Leases& waiters,
                        std::vector<core::LeaseId>& written);
  void happened(const core::Event& event, const Leases& now_there, const Leases& now_waiting);
  void granted(const core::Event& event, const Leases& now_there);
  void check_way(const core::Lease& lease, kv::Version place) const;
  void ended(const core::Event& event);
  void expired(const core::Lease& lease) const;
  void died(const core::Lease& lease);
  void cancelled(const core::Event& event);
  void rewritten(const core::Lease& before, const core::Lease& after) const;
  bool really_dead(const core::Lease& lease);
  bool conflict(const core::Lease& a, const core::Lease& b) const;
  // How long it has been written, by the clock of whoever commits now.
  std::int64_t elapsed(const core::LeaseId& id) const;
  static std::int64_t by_clock(std::int64_t ms, std::int64_t per_mille) {
    return ms * per_mille / 1'000;
  }
  [[noreturn]] void fail(const std::string& what) const;
  void require(bool holds, const std::string& what) const {
    if (!holds) fail(what);
  }
  void probe(const std::string& name) { ++probes_[name]; }

  const World& world_;
  Probes& probes_;
  const std::function<bool(std::uint64_t)> is_dead_;
  Leases leases_;
  Leases waiters_;
  std::map<core::LeaseId, std::int64_t> written_at_;  // the true time, as its writer was told
  std::uint64_t epoch_ = 1;
  std::uint64_t last_event_ = 0;
  std::uint64_t highest_fence_ = 0;
  kv::Version highest_fence_at_ = 0;
  // Of this commit:
  kv::Txn* reader_ = nullptr;
  kv::Version version_ = 0;
  Committer by_;
};

}  // namespace lockkeeper::sim
