// The hubs and clients of machines_world.h.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/table.h"
#include "kv/memory/faulty_store.h"
#include "kv/memory/memory_store.h"
#include "machines_judge.h"

namespace lockkeeper::sim {

// How differently the clocks run: per mille of the true time.
inline constexpr std::int64_t kSlowest = 900;
inline constexpr std::int64_t kFastest = 1'100;

struct Client {
  core::Owner owner;
  std::size_t hub = 0;
  std::uint64_t hub_clock = 0;  // its hub's when it came: another one has started again since
  std::uint64_t session = 0;    // 0: it has none yet
  std::uint64_t process = 0;
  bool alive = true;
  std::int64_t away_until = 0;  // its machine is off the network
  std::vector<core::LeaseId> leases;
  std::vector<core::LeaseId> waiting;
  std::optional<core::AcquireRequest> retry;
  // What the hub of before may still come to: it has heard nothing of the move.
  struct Late {
    std::size_t hub = 0;
    core::SessionSeen seen;
  };
  std::optional<Late> late;

  core::Attachment attachment() const { return core::Attachment::remote(process, session); }
};

// What goes wrong in one operation of a hub.
struct Plan {
  std::uint64_t calls = 0;
  std::uint64_t fault_at = 0;
  kv::Decision fault;
  kv::Decision at_commit;
  std::uint64_t nest_at = 0;
};

// What a hub knows of processes: of clients that talk to it. It knows the truth about those. Those
// that have gone elsewhere it takes for dead: it hears nothing of them any more.
class Hears final : public core::Prober {
 public:
  Hears(const std::vector<Client>& clients, const std::vector<bool>& dead, std::size_t hub)
      : clients_(clients), dead_(dead), hub_(hub) {}
  core::Alive probe(const core::Attachment& hold) const override {
    if (!hold.is_remote()) return core::Alive::kUnknown;
    for (const Client& client : clients_) {
      if (hold.session() != client.session || client.hub != hub_) continue;
      return dead_[hold.start_ticks] ? core::Alive::kDead : core::Alive::kAlive;
    }
    return kept.contains(hold.session()) ? core::Alive::kDead : core::Alive::kUnknown;
  }

  std::set<std::uint64_t> kept;  // sessions that the hub believes to keep

 private:
  const std::vector<Client>& clients_;
  const std::vector<bool>& dead_;
  const std::size_t hub_;
};

struct Hub {
  std::string name;
  std::int64_t per_mille = 1'000;
  std::int64_t offset = 0;  // of its clock
  std::int64_t opened_at = 0;
  std::int64_t stopped_until = 0;
  std::int64_t next_upkeep = 0;
  bool busy = false;
  Plan plan;
  std::unique_ptr<kv::Store> store;  // null: it is down
  std::shared_ptr<kv::FaultyStore> faulty;
  std::unique_ptr<core::Sightings> sightings;
  std::unique_ptr<Hears> view;
};

// A commit whose answer is unknown, and which may arrive.
struct Sent {
  std::shared_ptr<kv::FaultyStore> through;
  Committer by;
};

}  // namespace lockkeeper::sim
