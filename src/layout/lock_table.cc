#include "layout/lock_table.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/random.h"
#include "base/text.h"
#include "host/process.h"
#include "host/wake_board.h"
#include "layout/make_store.h"
#include "layout/registry.h"

namespace lockkeeper::layout {
namespace {

constexpr int kAttemptsMax = 64;
constexpr std::chrono::seconds kTurnMost(1);  // whoever is before this one may get no answer
constexpr std::uint64_t kRefused = 0;         // the line of those who commit again
constexpr int kCommitsMax = 10'000;           // of one piece of work
constexpr int kTicketRandomBits = 20;

std::atomic<std::uint64_t> g_forks = 0;  // between the first process and this one

// The numbers below 2^20 in an order without a pattern: even if only every second one is drawn,
// all residues occur equally often. Each line maps them one to one.
std::uint64_t shuffled(std::uint64_t place) {
  constexpr std::uint64_t kMask = (1U << kTicketRandomBits) - 1;
  std::uint64_t x = place & kMask;
  x ^= x >> 11U;
  x = x * 0x9E375U & kMask;
  x ^= x >> 9U;
  x = x * 0xC2B2DU & kMask;
  return x ^ x >> 10U;
}

// Several threads of a hub look at one table.
class SharedSightings final : public core::Sightings {
 public:
  using Sightings::Sightings;
  std::int64_t first_sight(std::string_view key, kv::Version modified,
                           std::int64_t now_ms) override {
    const std::lock_guard hold(mutex_);
    return Sightings::first_sight(key, modified, now_ms);
  }
  bool begin_walk(std::int64_t now_ms, std::string& from) override {
    const std::lock_guard hold(mutex_);
    return Sightings::begin_walk(now_ms, from);
  }
  void end_walk(std::string next) override {
    const std::lock_guard hold(mutex_);
    Sightings::end_walk(std::move(next));
  }

 private:
  std::mutex mutex_;
};

core::Alive to_core(host::Alive alive) {
  switch (alive) {
    case host::Alive::kAlive:
      return core::Alive::kAlive;
    case host::Alive::kDead:
      return core::Alive::kDead;
    case host::Alive::kUnknown:
      return core::Alive::kUnknown;
  }
  return core::Alive::kUnknown;
}

}  // namespace

LockTable::LockTable(const Runtime& runtime, realm::Realm realm, realm::Settings settings)
    : runtime_(runtime), realm_(std::move(realm)), server_(settings.server) {
  settings_ =
      all_settings_.emplace_back(std::make_unique<realm::Settings>(std::move(settings))).get();
}

Result<void> LockTable::follow_settings() {
  const std::lock_guard lock(mutex_);
  const std::uint64_t known = settings().stamp;
  if (known == 0 || known == realm::settings_stamp(realm_, runtime_.env)) return {};
  LK_ASSIGN(realm::Settings now, load_settings(runtime_, realm_));
  settings_ = all_settings_.emplace_back(std::make_unique<realm::Settings>(std::move(now))).get();
  return {};
}

std::string LockTable::file(const char* name) const {
  return (server_ ? server_->folder : realm_.store_folder) + "/" + name;
}

std::optional<std::int64_t> LockTable::contact_age_ms() const {
  if (!server_) return std::nullopt;
  constexpr std::size_t kBytes = 8;
  const auto beat = read_file(file("beat"), kBytes);
  if (!beat || beat->size() != kBytes) return std::nullopt;
  return host::since_boot_ms() - static_cast<std::int64_t>(read_be64(*beat));
}

Result<kv::Store*> LockTable::store(bool create) {
  if (server_) {
    return fail(Code::kOperationNotPermitted,
                "the hub " + server_->url + " keeps the locks of " + quote(realm_.root) + " (" +
                    server_->from + "), and this needs a table on this machine",
                "do it on the hub's machine, or: lockkeeper logout");
  }
  const std::lock_guard lock(mutex_);
  if (store_) return store_.get();
  if (!realm_.in_memory) {
    LK_ASSIGN(const realm::StoreState state, realm::check_store(realm_));
    // An absent folder is not yet "nothing is locked": only the store can tell a new one from a
    // deleted one, by the copy of its epoch.
    if (state == realm::StoreState::kAbsent && create) LK_CHECK(create_store_folder(realm_));
  }
  auto opened = runtime_.open_store({realm_, settings().durability.value, create});
  if (!opened) {
    // The folder is there and the store is not: a crash between the two, or nothing locked yet.
    if (!create && opened.error().code == Code::kNotFound) return nullptr;
    return fail(std::move(opened.error()));
  }
  if (runtime_.sharing) sharing_ = runtime_.sharing(realm_);
  if (sharing_.clock != 0) sightings_ = std::make_unique<SharedSightings>(sharing_.clock);
  store_ = std::move(*opened);
  return store_.get();
}

core::Context LockTable::context(const kv::Store& store) {
  core::Context context;
  context.now = runtime_.clock->now();
  context.epoch = store.epoch();
  context.ticket = ticket_at(context.now.wall_ms);
  context.prober = this;
  context.sightings = sightings_.get();
  context.limits.claims_per_agent = settings().resources_per_agent.value;
  context.limits.claims_per_request = settings().resources_per_request.value;
  context.limits.events_kept = settings().events_kept.value;
  return context;
}

std::uint64_t LockTable::new_ticket() {
  return ticket_at(runtime_.clock->now().wall_ms);
}

// The kernel's generator only seeds a sequence, because a system call for each ticket would be a
// hundredth of a lease's cost. A forked child must not continue the sequence. No number repeats
// within a million, so that no lease gets the id of one that ended in the same millisecond.
std::uint64_t LockTable::ticket_bits() {
  static const int kRegistered = ::pthread_atfork(nullptr, nullptr, [] { ++g_forks; });
  static_cast<void>(kRegistered);
  const std::uint64_t life = g_forks.load(std::memory_order_relaxed) + 1;
  if (bits_of_.load(std::memory_order_relaxed) != life) {
    bits_ = runtime_.random->next();
    bits_of_ = life;
  }
  return shuffled(bits_.fetch_add(1));
}

std::uint64_t LockTable::ticket_at(std::int64_t wall_ms) {
  const auto wall = static_cast<std::uint64_t>(wall_ms);
  return wall << kTicketRandomBits | ticket_bits();
}

Result<kv::Version> LockTable::write(const Work& work, const std::function<void()>& committed) {
  LK_ASSIGN(kv::Store* const store, this->store(true));
  int attempts = 0;
  std::optional<Turns::Turn> turn;
  for (int commits = 0; commits < kCommitsMax;) {
    bool again = false;
    std::vector<std::uint64_t> words;
    kv::CommitResult done;
    {
      LK_ASSIGN(const std::unique_ptr<kv::Txn> txn, store->begin(kv::Access::kWrite));
      // The time is taken inside the transaction, so that it agrees with the order of commits.
      core::Table table(*txn, context(*store));
      const auto worked = work(table);
      if (worked) {
        again = *worked;
        LK_ASSIGN(done, txn->commit());
        words = table.wake();
      } else {
        // An error is an answer too: it must not come from what was no longer so.
        LK_ASSIGN(const bool sound, txn->confirm_reads());
        if (sound) return fail(worked.error());
      }
    }
    if (done.fate == kv::Fate::kConflict) {
      if (++attempts == kAttemptsMax) {
        return fail(Code::kStoreBusy,
                    "others changed the table " + std::to_string(kAttemptsMax) +
                        " times while this was being decided",
                    "try again");
      }
      // Those that were refused once go one after the other: all at once, they refuse each other.
      if (!turn) {
        turn = turns_.take(kRefused, kTurnMost);
        continue;
      }
      const auto jitter = runtime_.random->next() % static_cast<std::uint64_t>(attempts * 2 + 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(jitter));
      continue;
    }
    turn.reset();
    wake(words);
    if (committed) committed();
    ++commits;
    attempts = 0;
    if (!again) return done.version;
  }
  return fail(Code::kLimitExceeded, "more than " + std::to_string(kCommitsMax) + " commits needed");
}

Turns::Turn LockTable::turn_of(const core::Owner& owner) {
  if (!is_shared()) return {};
  return turns_.take(hash64(owner.agent, owner.session) | 1, kTurnMost);
}

Result<bool> LockTable::has_store() {
  LK_ASSIGN(const kv::Store* const store, this->store(false));
  return store != nullptr;
}

bool LockTable::is_shared() const {
  const std::lock_guard lock(mutex_);
  return sightings_ != nullptr;
}

Result<bool> LockTable::read(const Look& look) {
  LK_ASSIGN(kv::Store* const store, this->store(false));
  if (store == nullptr) return false;
  LK_ASSIGN(const std::unique_ptr<kv::Txn> txn, store->begin(kv::Access::kRead));
  core::Table table(*txn, context(*store));
  LK_CHECK(look(table));
  return true;
}

void LockTable::wake(const std::vector<std::uint64_t>& words) {
  if (words.empty()) return;
  if (runtime_.woken) runtime_.woken(words);
  const auto waker = this->waker();
  if (!waker) return;  // a wake is a hint: waiters poll every second
  for (const std::uint64_t word : words) (*waker)->wake(word);
}

Result<host::Waker*> LockTable::waker() {
  if (realm_.in_memory) return runtime_.in_memory.waker;
  if (server_) LK_CHECK(make_slots_folder());
  const std::lock_guard lock(mutex_);
  if (!waker_) {
    LK_ASSIGN(host::WakeBoard opened, host::WakeBoard::open(file("wake"), realm_.file_mode));
    waker_ = std::make_unique<host::WakeBoard>(std::move(opened));
  }
  return waker_.get();
}

Result<void> LockTable::make_slots_folder() {
  if (!server_) {
    LK_CHECK(store(true));
  } else {
    LK_CHECK(make_folders(server_->folder));
  }
  return {};
}

Result<void> LockTable::open_live_slots() const {
  if (slots_ && slots_->check_identity()) return {};
  LK_ASSIGN(host::LiveSlots opened, host::LiveSlots::open(file("live"), *runtime_.random,
                                                          realm_.file_mode, sharing_.machine));
  slots_.emplace(std::move(opened));
  return {};
}

Result<host::LiveSlot> LockTable::take_slot() {
  LK_CHECK(make_slots_folder());
  const std::lock_guard lock(mutex_);
  LK_CHECK(open_live_slots());
  return slots_->take();
}

Result<core::Attachment> LockTable::own_slot() {
  LK_CHECK(make_slots_folder());
  const std::lock_guard lock(mutex_);
  if (!own_slot_) {
    LK_CHECK(open_live_slots());
    LK_ASSIGN(host::LiveSlot slot, slots_->take());
    own_slot_.emplace(std::move(slot));
  }
  core::Attachment attachment;
  attachment.slot = own_slot_->offset();
  return attachment;
}

core::Alive LockTable::probe(const core::Attachment& attachment) const {
  if (attachment.is_remote()) {
    if (!runtime_.remote_alive) return core::Alive::kUnknown;
    return runtime_.remote_alive(attachment);
  }
  if (realm_.in_memory) return runtime_.in_memory.prober->probe(attachment);
  if (attachment.slot != 0) {
    const std::lock_guard lock(mutex_);
    if (!slots_ && !open_live_slots()) return core::Alive::kUnknown;
    return to_core(slots_->alive(attachment.slot));
  }
  if (attachment.pid == 0) return core::Alive::kUnknown;
  host::ProcessId process;
  process.pid_namespace = attachment.pid_namespace;
  process.pid = static_cast<int>(attachment.pid);
  process.start_ticks = attachment.start_ticks;
  return to_core(host::alive(process));
}

}  // namespace lockkeeper::layout
