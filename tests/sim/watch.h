// A realm under watch: a memory store with its clocks and processes, and beside it the model and
// the judge, which follow every commit. Whoever drives it (a random episode, an exhaustive search)
// decides what is called when, by whom, and what goes wrong.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "judge.h"
#include "kv/memory/faulty_store.h"
#include "kv/memory/memory_store.h"

namespace lockkeeper::sim {

// How much of the table is compared after each commit. The audit of how rows hang together is
// most of the cost.
struct Watching {
  std::uint64_t audit_every = 1;
  std::uint64_t full_audit_every = 64;  // also exclusion by the index, and the history
  std::size_t guards_max = kv::kOptimisticGuardsMax;  // what one commit of the store takes
};

class Watch {
 public:
  Watch(const World& world, Probes& probes, kv::Flavour flavour, const core::Limits& limits,
        Watching watching = {});

  // A transaction whose operation has run, and which is not committed yet.
  struct Open {
    std::unique_ptr<kv::Txn> txn;
    Answer answer;
    std::vector<std::uint64_t> wake;
    std::uint64_t deaths = 0;  // until it began
    kv::Version begun = 0;
    std::int64_t now = 0;  // as it was told: time may pass before it commits (F22)
  };

  // Begins and runs the operation. What it refuses by an error is judged.
  Result<Open> open(kv::Store& through, const Op& op, const core::Prober& view);

  enum class Fate { kDone, kTryAgain };
  // Commits and judges all that came of it. `before`: the newest version right before the commit,
  // read after it, as others may have committed in between. An error is the store's.
  Result<Fate> finish(Open& open, const Op& op, const core::Prober& view,
                      const kv::Version& before);

  // The same for a commit that arrives now, long after it was sent; its answer reaches nobody.
  void arrived(Open& open, const Op& op, const core::Prober& view, kv::FaultyStore& through);

  // Rows whose lifetime is over go away, if they are chosen: as late as one likes.
  void vanish(const std::function<bool()>& chosen);

  // A new boot: everything attached is over, fences go on growing (F11, F12).
  void reboot(const kv::Epoch& epoch);
  // The same where durability is `process`: the store is set aside, its leases end on record in a
  // new one (F11). REQUIRES: the pessimistic flavour; an optimistic store's commit is too small.
  void recreate(const kv::Epoch& epoch);
  // Everything in order as of now, whoever committed last?
  void check_table(kv::Txn& txn, const core::Prober& view);
  void audit(kv::Txn& txn, const core::Prober& view, bool full);

  kv::MemoryStore& store() { return *store_; }
  core::Context context(const core::Prober& view);
  void note(const std::string& line) {
    if (trace != nullptr) *trace += line;
  }

  const World& world;
  Probes& probes;
  const kv::Flavour flavour;
  const core::Limits limits;
  Processes processes;
  Model model;
  Judge judge;
  kv::Epoch epoch;
  std::int64_t wall_ms = 1'768'000'000'000;
  std::string* trace = nullptr;

 private:
  Result<Answer> call(core::Table& table, const Op& op);
  std::vector<core::Event> events_of(kv::Txn& txn, kv::Version version);
  void observe(const Op& op, const std::vector<core::Event>& events);
  void read_rows(kv::Txn& txn);
  void check_history(kv::Txn& txn);
  void judge_commit(Open& open, const Op& op, const core::Prober& view, kv::Version version,
                    bool applied);
  Result<void> settled(Open& open, const Op& op, const core::Prober& view, kv::Version before,
                       const Result<kv::CommitResult>& done);
  void pass();

  const Watching watching_;
  std::unique_ptr<kv::MemoryStore> store_;
  std::uint64_t ticket_ = 0;
  std::int64_t passed_to_ = 0;  // the store's clock has followed the model's until then
  std::uint64_t checks_ = 0;
  std::set<std::uint64_t> history_;  // the numbers of all events that may still be there
  // Decoded rows by key, with the version that wrote them; a row that did not change is not read
  // again.
  template <class T>
  struct Mirrored {
    kv::Version modified = 0;
    std::uint64_t seen = 0;
    T record;
  };
  std::map<std::string, Mirrored<core::Lease>, std::less<>> lease_rows_;
  std::map<std::string, Mirrored<core::Waiter>, std::less<>> waiter_rows_;
};

}  // namespace lockkeeper::sim
