#include "kv/lmdb/lmdb_store.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <utility>

#include "kv/lmdb/instance.h"
#include "kv/lmdb/process_id.h"
#include "kv/lmdb/walk.h"

namespace lockkeeper::kv {
namespace {

using internal::Instance;
using internal::process_id;
using InstancePtr = std::shared_ptr<Instance>;

// How often begin() opens again when the files change under it, before it gives up.
constexpr int kReopensMax = 5;

// The instances of this process, by their gate's file.
struct Registry {
  std::mutex mutex;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::weak_ptr<Instance>> instances;
};

Registry& registry() {
  static Registry* const kOnly = new Registry;  // never destroyed: stores may outlive statics
  return *kOnly;
}

// A forked child starts with an empty list: its parent's instances hold the parent's descriptions.
// The list is abandoned, not cleared, because clearing would touch them.
void watch_forks() {
  static const int kRegistered =
      ::pthread_atfork([] { registry().mutex.lock(); }, [] { registry().mutex.unlock(); },
                       [] {
                         new auto(std::move(registry().instances));
                         registry().instances = {};
                         registry().mutex.unlock();
                       });
  (void)kRegistered;
}

Result<InstancePtr> open_instance(const LmdbOptions& options, const InstancePtr& stale) {
  watch_forks();
  // One at a time: opening is rare, and two at once would make two environments.
  const std::lock_guard lock(registry().mutex);
  if (const auto gate = internal::identify(options.folder + "/gate")) {
    const auto found = registry().instances.find({gate->device, gate->inode});
    if (found != registry().instances.end()) {
      InstancePtr shared = found->second.lock();
      if (shared && shared != stale && !shared->env().retired() &&
          shared->gate().identity().same_file(*gate) &&
          shared->place().options.boot_id == options.boot_id &&
          shared->place().options.schema_version == options.schema_version) {
        return shared;
      }
    }
  }
  auto opened = Instance::open(options);
  if (!opened) return opened;
  const internal::Identity id = (*opened)->gate().identity();
  std::erase_if(registry().instances, [](const auto& entry) { return entry.second.expired(); });
  registry().instances[{id.device, id.inode}] = *opened;
  return opened;
}

}  // namespace

struct LmdbStore::State {
  const pid_t pid = process_id();
  std::mutex mutex;
  InstancePtr instance;  // protected by mutex; null in a child before its first use

  InstancePtr current() {
    const std::lock_guard lock(mutex);
    return instance;
  }
};

LmdbStore::LmdbStore(LmdbOptions options) : options_(std::move(options)), state_(new State) {}

LmdbStore::~LmdbStore() {
  State* const last = state_.load();
  if (last->pid == process_id()) delete last;
}

LmdbStore::State& LmdbStore::state() const {
  State* seen = state_.load(std::memory_order_acquire);
  if (seen->pid == process_id()) return *seen;
  // A forked child: the old state's mutex may have been held by a thread that does not exist here.
  auto fresh = std::make_unique<State>();
  if (state_.compare_exchange_strong(seen, fresh.get())) return *fresh.release();
  return *state_.load();
}

Result<std::unique_ptr<LmdbStore>> LmdbStore::open(LmdbOptions options) {
  auto instance = open_instance(options, nullptr);
  if (!instance) return fail(std::move(instance.error()));
  std::unique_ptr<LmdbStore> store(new LmdbStore(std::move(options)));
  store->state().instance = std::move(*instance);
  return store;
}

Result<std::unique_ptr<Txn>> LmdbStore::begin(Access access) {
  State& mine = state();
  for (int i = 0; i < kReopensMax; ++i) {
    const InstancePtr instance = mine.current();
    if (instance) {
      auto txn = instance->begin(access, options_.patience_ms);
      if (!txn) return fail(std::move(txn.error()));
      if (*txn) return std::unique_ptr<Txn>(std::move(*txn));
    }
    // A store that was there and is gone is lost, never new.
    LmdbOptions again = options_;
    again.create = false;
    auto opened = open_instance(again, instance);
    if (!opened && opened.error().code == Code::kNotFound) {
      return fail(
          Code::kStoreCorrupt,
          options_.folder +
              ": what is held is no longer known: the store was deleted while it was in use",
          "run lockkeeper doctor");
    }
    if (!opened) return fail(std::move(opened.error()));
    const std::lock_guard lock(mine.mutex);
    if (mine.instance == instance) mine.instance = std::move(*opened);
  }
  return fail(Code::kStoreUnavailable, options_.folder + ": the store's files keep changing",
              "find out what else writes to them");
}

Epoch LmdbStore::epoch() const {
  const InstancePtr instance = state().current();
  if (!instance) return {};
  return instance->epoch().epoch();
}

Durability LmdbStore::durability() const {
  const InstancePtr instance = state().current();
  return instance ? instance->epoch().durability : options_.durability;
}

bool LmdbStore::recreated_after_reboot() const {
  const InstancePtr instance = state().current();
  return instance && instance->recreated_after_reboot();
}

Result<void> LmdbStore::set_durability(Durability durability) {
  const InstancePtr instance = state().current();
  if (!instance) return fail(Code::kFailed, "the store is not open");
  if (instance->epoch().durability == durability) return {};
  if (instance->read_only()) return fail(Code::kStoreUnavailable, "the store cannot be written");
  auto pass = instance->gate().enter(Access::kWrite, options_.patience_ms);
  if (!pass) return fail(std::move(pass.error()));
  if (!pass->in_place() ||
      instance->gate().page().generation.load() != instance->epoch().revision) {
    return fail(Code::kStoreUnavailable, options_.folder + ": the store has changed", "try again");
  }
  internal::Env& env = instance->env();
  // A file written through the map is as long as the map, mostly holes. From now on its length
  // counts.
  const auto used = static_cast<off_t>(env.used_pages() * env.page_bytes());
  if (env.poisoned()) return fail(env.error(internal::kFaulted, "read"));
  if (env.write_map() && ::ftruncate(env.fd(), used) != 0) {
    return fail(errno_error(errno, env.path()));
  }
  if (::fdatasync(env.fd()) != 0) return fail(errno_error(errno, env.path()));
  internal::EpochRecord record = instance->epoch();
  record.durability = durability;
  ++record.revision;
  const internal::Place& place = instance->place();
  if (auto ok = place.epochs.save(record, place.policy); !ok) return ok;
  // All processes, including this one, open again at the next transaction.
  instance->gate().page().generation.store(record.revision);
  instance->env().retire();
  pass->leave();
  auto opened = open_instance(options_, instance);
  if (!opened) return fail(std::move(opened.error()));
  const std::lock_guard lock(state().mutex);
  state().instance = std::move(*opened);
  return {};
}

Result<LmdbStore::Verified> LmdbStore::verify() {
  auto txn = begin(Access::kRead);
  if (!txn) return fail(std::move(txn.error()));
  const InstancePtr instance = state().current();
  auto facts = internal::facts_of(instance->env().path());
  if (!facts) return fail(std::move(facts.error()));
  auto found = internal::verify_file(instance->env().fd(), instance->env().path(), *facts);
  if (!found) return fail(std::move(found.error()));
  return Verified{.rows = found->rows,
                  .digest = found->digest,
                  .file_bytes = facts->file_bytes,
                  .version = facts->meta.txn_id + instance->epoch().version_base};
}

}  // namespace lockkeeper::kv
