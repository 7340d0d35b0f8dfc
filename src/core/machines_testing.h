// Machines that share one memory store, for tests. Each has a clock, a Store and first sights of
// its own. While a Realm's `machine` is set, its operations run there.
#pragma once

#include <functional>
#include <memory>
#include <set>

#include "core/types.h"
#include "kv/memory/memory_store.h"

namespace lockkeeper::core {

// What a hub knows of processes on other machines: of those that it hears.
class HeardProber final : public Prober {
 public:
  Alive probe(const Attachment& attachment) const override {
    if (!attachment.is_remote()) return Alive::kUnknown;
    const std::uint64_t number = attachment.start_ticks;
    if (dead.contains(number)) return Alive::kDead;
    return heard.contains(number) ? Alive::kAlive : Alive::kUnknown;
  }
  std::set<std::uint64_t> heard;
  std::set<std::uint64_t> dead;
};

class Machine {
 public:
  // Opens a Store for a machine whose clock shows this.
  using Open = std::function<std::unique_ptr<kv::Store>(std::int64_t mono_ms)>;
  // `per_mille`: how fast its clock runs.
  Machine(Open open, std::int64_t mono_ms, std::int64_t per_mille = 1'000)
      : open_(std::move(open)), per_mille_(per_mille) {
    start(mono_ms);
  }
  Machine(kv::MemoryStore& rows, std::int64_t mono_ms, std::int64_t per_mille = 1'000)
      : Machine([&rows](std::int64_t now) { return rows.open_another(now); }, mono_ms, per_mille) {}
  // A new boot: a new clock, which shows this.
  void start(std::int64_t mono_ms) {
    static std::uint64_t clocks = 1'000;
    mono_us_ = mono_ms * 1'000;
    store_ = open_(mono_ms);
    sightings_ = std::make_unique<Sightings>(++clocks);
  }
  // Its Store closes. What it has seen and heard is forgotten.
  void stop() {
    store_.reset();
    sightings_.reset();
    prober = {};
  }
  bool is_up() const { return store_ != nullptr; }
  void pass(std::int64_t ms) { mono_us_ += ms * per_mille_; }
  std::int64_t mono_ms() const { return mono_us_ / 1'000; }
  kv::Store& store() { return *store_; }
  Sightings& sightings() { return *sightings_; }
  // The context of an operation that runs here.
  void take_over(Context& context) {
    context.now.mono_ms = mono_ms();
    context.epoch = store_->epoch();
    context.prober = &prober;
    context.sightings = sightings_.get();
  }

  HeardProber prober;

 private:
  const Open open_;
  const std::int64_t per_mille_;
  std::int64_t mono_us_ = 0;
  std::unique_ptr<kv::Store> store_;
  std::unique_ptr<Sightings> sightings_;
};

}  // namespace lockkeeper::core
