#include "kv/lmdb/instance.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <utility>

#include "base/assert.h"
#include "kv/lmdb/process_id.h"

namespace lockkeeper::kv::internal {
namespace {

// Pages that a growing transaction must leave, so that releases work on a full disk (F13).
constexpr std::uint64_t kReservePages = 256;
// The file grows in steps of 1/16 of itself, but at least and at most this many pages.
constexpr std::uint64_t kStepPagesMin = 256;
constexpr std::uint64_t kStepPagesMax = 16384;

// Ties a transaction to the gate.
class GateHooks final : public CommitHooks {
 public:
  GateHooks(std::shared_ptr<Instance> instance, Gate::Pass pass, Access access,
            std::uint64_t data_bytes)
      : instance_(std::move(instance)),
        pass_(std::move(pass)),
        access_(access),
        pid_(process_id()),
        data_bytes_(data_bytes) {
    if (access_ == Access::kWrite) {
      instance_->local().lock();
    } else {
      instance_->local().lock_shared();
    }
  }
  ~GateHooks() override {
    // A forked child's copy: the lock and the passage belong to its parent.
    if (ours()) leave();
  }

  Result<void> make_room(MDB_txn* txn, const Demand& demand) override {
    wrote_ = true;
    return instance_->make_room(txn, demand, data_bytes_);
  }

  Result<void> keep_room(MDB_txn* txn, const Demand& demand) override {
    wrote_ = true;
    return instance_->keep_room(txn, demand);
  }

  Result<void> committed(Version version) override {
    instance_->note_data(version);
    wrote_ = false;
    leave();
    if (version == 0 || instance_->epoch().durability != Durability::kFull) return {};
    // Outside the gate, so that syncs of several processes merge. Nobody is told before it is done.
    if (::fdatasync(instance_->env().fd()) == 0) return {};
    const int error = errno;
    instance_->env().retire();
    Error why = errno_error(error, instance_->env().path() + ": sync");
    why.code = Code::kUnknown;
    return fail(std::move(why));
  }

  void ended() override {
    // Writes through the map have touched the file although the transaction was dropped.
    const bool touched = wrote_ || (access_ == Access::kWrite && instance_->env().write_map());
    if (touched && pass_) instance_->note_data(0);
    leave();
  }

  bool ours() const override { return pid_ == process_id(); }

 private:
  void leave() {
    if (!pass_) return;
    if (access_ == Access::kWrite) {
      instance_->local().unlock();
    } else {
      instance_->local().unlock_shared();
    }
    pass_.leave();
  }

  std::shared_ptr<Instance> instance_;
  Gate::Pass pass_;
  const Access access_;
  const pid_t pid_;
  const std::uint64_t data_bytes_;  // the data file's length when this began
  bool wrote_ = false;
};

}  // namespace

Result<std::shared_ptr<Instance>> Instance::open(const LmdbOptions& options) {
  LOCKKEEPER_ASSERT(options.clock != nullptr && !options.folder.empty());
  std::shared_ptr<Instance> instance(new Instance(options));
  if (auto ok = instance->open_gate(); !ok) return fail(std::move(ok.error()));
  if (auto ok = instance->load(); !ok) return fail(std::move(ok.error()));
  return instance;
}

Result<void> Instance::open_gate() {
  const std::string& folder = place_.options.folder;
  struct stat st{};
  if (::lstat(folder.c_str(), &st) == 0) {
    if (!S_ISDIR(st.st_mode)) {
      return fail(Code::kStoreUnavailable, folder + ": is not a folder",
                  "the store's folder must be a plain folder, not a symlink");
    }
    if (auto ok = check_filesystem(folder); !ok) return ok;
  } else if (errno != ENOENT && errno != ENOTDIR) {
    return fail(errno_error(errno, folder));
  } else {
    if (auto ok = check_filesystem(parent_of(folder)); !ok) {
      const auto parent = is_there(parent_of(folder));
      const bool absent = parent && !*parent && !place_.options.create;
      return absent ? fail(Code::kNotFound, folder + ": no store") : ok;
    }
  }
  // Nothing at all: only prepare() can tell a new store from a deleted one, and it needs the gate.
  bool nothing = true;
  for (const std::string* path : {&place_.gate_path, &place_.data_path, &place_.epochs.main}) {
    const auto there = is_there(*path);
    if (!there) return fail(there.error());
    nothing = nothing && !*there;
  }
  if (nothing && !place_.options.create) {
    const auto epochs = place_.epochs.load();
    if (!epochs) return fail(epochs.error());
    const auto& known = epochs->record;
    const auto parent = identify(parent_of(folder));
    if (known && parent && known->parent.same_file(*parent)) {
      return lost_state(place_, "the store's files were deleted");
    }
    return fail(Code::kNotFound, folder + ": no store");
  }
  if (auto ok = make_folder(folder, place_.policy); !ok) return ok;
  auto gate = Gate::open(place_.gate_path, false, &place_.policy);
  if (!gate && gate.error().code == Code::kStoreUnavailable) {
    auto reader = Gate::open(place_.gate_path, true, nullptr);
    if (reader) gate = std::move(reader);
  }
  if (!gate) return fail(std::move(gate.error()));
  gate_ = std::move(*gate);
  return {};
}

// Opening a file for writing through the map sets its length, and so changes its time.
void Instance::expect_open(Durability durability) {
  constexpr std::uint64_t kOpenTakesNs = 100'000'000;
  if (durability == Durability::kProcess && !gate_->read_only()) {
    note_mapped_write(gate_->page(), kOpenTakesNs);
  }
}

Result<void> Instance::load() {
  bool prepared = false;
  if (auto ok = load_prepared(prepared); !ok || prepared) return ok;
  if (gate_->read_only()) {
    return fail(Code::kStoreUnavailable,
                place_.options.folder + ": cannot be written, but must be before it can be read",
                "run lockkeeper once where the folder can be written");
  }
  auto pass = gate_->enter(Access::kWrite, place_.options.patience_ms);
  if (!pass) return fail(std::move(pass.error()));
  if (!gate_->named()) {
    return fail(Code::kStoreUnavailable, gate_->path() + ": replaced while it was being opened",
                "try again");
  }
  auto made = prepare(place_, *gate_);
  if (!made) return fail(std::move(made.error()));
  epoch_ = made->epoch;
  recreated_ = made->recreated_after_reboot;
  auto facts = facts_of(place_.data_path);
  if (!facts) return fail(std::move(facts.error()));
  expect_open(epoch_.durability);
  auto data = open_data(place_, epoch_, *facts, false);
  if (!data) return fail(std::move(data.error()));
  env_ = std::move(data->env);
  return {};
}

// The usual case, without a write or a sync: everything fits together as the last process left it.
// `prepared` stays false if prepare() must look closer, alone.
Result<void> Instance::load_prepared(bool& prepared) {
  auto pass = gate_->enter(Access::kRead, place_.options.patience_ms);
  if (!pass) return fail(std::move(pass.error()));
  if (!pass->in_place()) return {};
  const auto record = place_.epochs.load_main();
  const auto facts = facts_of(place_.data_path);
  if (!record || !facts) return {};
  if (!is_prepared(place_, *gate_, *record, *facts)) {
    // A reader that may not write uses a sound store as it is, unless the store must start over.
    const bool old =
        record->durability == Durability::kProcess && record->boot_id != place_.options.boot_id;
    if (!gate_->read_only() || old || record->founding) return {};
  }
  expect_open(record->durability);
  auto data = open_data(place_, *record, *facts, gate_->read_only());
  if (!data) return {};
  if (auto ok = check_schema(place_, data->ledger.schema); !ok) {
    const bool newer = data->ledger.schema > place_.options.schema_version;
    return newer || gate_->read_only() ? ok : Result<void>();
  }
  epoch_ = *record;
  env_ = std::move(data->env);
  prepared = true;
  return {};
}

// The data file's length; 0: the files are not those that were opened. REQUIRES: inside the gate,
// in_place().
Result<std::uint64_t> Instance::fits() const {
  if (env_->retired()) return 0;
  struct stat st{};
  if (::fstat(env_->fd(), &st) != 0) return fail(errno_error(errno, env_->path()));
  const auto bytes = static_cast<std::uint64_t>(st.st_size);
  if (st.st_nlink == 0 || bytes < 2 * env_->page_bytes()) return 0;
  if (!gate_->read_only()) {
    const GatePage& page = gate_->page();
    if (page.magic.load(std::memory_order_relaxed) != kGateMagic ||
        page.generation.load(std::memory_order_relaxed) != epoch_.revision ||
        !time_fits(page, epoch_.durability, mtime_ns(st)) ||
        page.data_inode.load(std::memory_order_relaxed) != st.st_ino) {
      return 0;
    }
  }
  const std::uint64_t used = env_->used_pages() * env_->page_bytes();
  return bytes >= used && !env_->poisoned() ? bytes : 0;
}

Result<std::unique_ptr<LmdbTxn>> Instance::begin(Access access, int patience_ms) {
  if (access == Access::kWrite && gate_->read_only()) {
    return fail(Code::kStoreUnavailable, place_.options.folder + ": cannot be written",
                "locks can only be taken where the store's folder can be written");
  }
  auto pass = gate_->enter(access, patience_ms);
  if (!pass) return fail(std::move(pass.error()));
  if (!pass->in_place()) return nullptr;
  auto fit = fits();
  if (!fit) return fail(std::move(fit.error()));
  if (*fit == 0) return nullptr;
  auto hooks = std::make_unique<GateHooks>(shared_from_this(), std::move(*pass), access, *fit);
  MDB_txn* txn = nullptr;
  auto code = begin_lmdb(access, txn);
  if (!code) return fail(std::move(code.error()));
  if (*code == MDB_MAP_RESIZED) {
    hooks.reset();
    if (gate_->read_only()) return nullptr;
    if (auto ok = grow_map(); !ok) return fail(std::move(ok.error()));
    return begin(access, patience_ms);
  }
  if (*code != 0) return fail(env_->error(*code, "begin"));
  const Version version = mdb_txn_id(txn) + epoch_.version_base;
  const Version last = access == Access::kWrite ? version - 1 : version;
  auto made = std::make_unique<LmdbTxn>(LmdbTxn::Begin{.hooks = std::move(hooks),
                                                       .env = env_.get(),
                                                       .txn = txn,
                                                       .access = access,
                                                       .version = version,
                                                       .epoch = epoch_.epoch()});
  // A version that went back although nobody touched the file means damage; prepare() reports it.
  if (!gate_->read_only() && gate_->page().version.load(std::memory_order_relaxed) > last) {
    return nullptr;
  }
  return made;
}

Result<int> Instance::begin_lmdb(Access access, MDB_txn*& txn) {
  const std::uint64_t used = env_->used_pages() * env_->page_bytes();
  if (env_->poisoned()) return kFaulted;
  if (access == Access::kWrite && used * 2 > env_->map_bytes()) {
    std::uint64_t bytes = env_->map_bytes();
    while (bytes < used * 4) bytes *= 2;
    if (auto ok = env_->resize(bytes); !ok) return fail(std::move(ok.error()));
  }
  if (access == Access::kWrite && env_->write_map()) {
    // On a full disk, releases use what is left of the reserve.
    if (auto ok = reserve(2 * kReservePages); !ok && ok.error().code != Code::kNoSpace) {
      return fail(std::move(ok.error()));
    }
  }
  const unsigned flags = access == Access::kRead ? MDB_RDONLY : 0;
  return guarded([&] { return mdb_txn_begin(env_->get(), nullptr, flags, &txn); });
}

// Another process has grown the file beyond this one's map. LMDB requires that no transaction of
// this process is open meanwhile, and only a writer can know that.
Result<void> Instance::grow_map() {
  auto pass = gate_->enter(Access::kWrite, place_.options.patience_ms);
  if (!pass) return fail(std::move(pass.error()));
  const std::unique_lock lock(local_);
  const auto fit = pass->in_place() ? fits() : 0;
  if (!fit || *fit == 0) return {};  // the caller will see
  std::uint64_t bytes = env_->map_bytes();
  while (bytes < env_->used_pages() * env_->page_bytes() * 2) bytes *= 2;
  return env_->resize(bytes);
}

// Reserves blocks for this many pages behind those in use, before a write through the map.
Result<void> Instance::reserve(std::uint64_t pages) {
  std::atomic<std::uint64_t>& reserved = gate_->page().data_reserved;
  const std::uint64_t used = env_->used_pages() * env_->page_bytes();
  const std::uint64_t want = used + pages * env_->page_bytes();
  const std::uint64_t have = std::max(used, reserved.load(std::memory_order_relaxed));
  if (have >= want) return {};
  const std::uint64_t step =
      std::clamp(env_->used_pages() / 16, kStepPagesMin, kStepPagesMax) * env_->page_bytes();
  for (const std::uint64_t until : {want + step, want}) {
    const int error =
        ::posix_fallocate(env_->fd(), static_cast<off_t>(have), static_cast<off_t>(until - have));
    if (error == 0) {
      reserved.store(until, std::memory_order_relaxed);
      return {};
    }
    if (error != ENOSPC && error != EDQUOT) return fail(errno_error(error, env_->path()));
  }
  return fail(errno_error(ENOSPC, env_->path()));
}

Result<void> Instance::extend(std::uint64_t pages) {
  if (env_->write_map()) return reserve(pages + kReservePages);
  struct stat st{};
  if (::fstat(env_->fd(), &st) != 0) return fail(errno_error(errno, env_->path()));
  const auto bytes = static_cast<off_t>(pages * env_->page_bytes());
  // Blocks, not only length: the reserve must be there when the disk is full.
  if (::fallocate(env_->fd(), 0, st.st_size, bytes) == 0) return {};
  if (errno == EOPNOTSUPP && ::ftruncate(env_->fd(), st.st_size + bytes) == 0) return {};
  return fail(errno_error(errno, env_->path()));
}

namespace {

// Each write copies its path and may split it; together no more than the tree and what is new.
std::uint64_t pages_for(const MDB_stat& rows, const CommitHooks::Demand& demand,
                        std::uint64_t page) {
  const std::uint64_t by_writes = demand.writes * (2 * std::uint64_t{rows.ms_depth} + 2);
  const std::uint64_t by_bytes =
      rows.ms_leaf_pages + rows.ms_branch_pages + 3 * demand.put_bytes / page;
  return std::min(by_writes, by_bytes) + demand.overflow_pages + 16;
}

}  // namespace

Result<void> Instance::keep_room(MDB_txn* txn, const CommitHooks::Demand& demand) {
  if (!env_->write_map()) return {};
  MDB_stat rows{};
  mdb_stat(txn, kRows, &rows);
  CommitHooks::Demand twice = demand;
  twice.writes *= 2;
  twice.put_bytes = demand.put_bytes * 2 + env_->page_bytes();
  return reserve(pages_for(rows, twice, env_->page_bytes()) + 64);
}

Result<void> Instance::make_room(MDB_txn* txn, const CommitHooks::Demand& demand,
                                 std::uint64_t data_bytes) {
  MDB_stat rows{};
  MDB_stat free{};
  mdb_stat(txn, kRows, &rows);
  mdb_stat(txn, kFreeList, &free);
  if (env_->write_map()) data_bytes = gate_->page().data_reserved.load(std::memory_order_relaxed);
  const std::uint64_t page = env_->page_bytes();
  const std::uint64_t used = env_->used_pages();
  const std::uint64_t pages = data_bytes / page;
  const std::uint64_t behind = pages > used ? pages - used : 0;
  const std::uint64_t taken = 2 + rows.ms_branch_pages + rows.ms_leaf_pages +
                              rows.ms_overflow_pages + free.ms_branch_pages + free.ms_leaf_pages +
                              free.ms_overflow_pages;
  const std::uint64_t inside = used > taken ? used - taken : 0;
  const std::uint64_t need = pages_for(rows, demand, page);
  if (inside + behind >= need + kReservePages && behind >= demand.overflow_pages + 64) return {};
  const std::uint64_t step = std::clamp(used / 16, kStepPagesMin, kStepPagesMax);
  auto more = extend(std::max(step, need + kReservePages));
  if (!more && more.error().code == Code::kNoSpace && need < kReservePages) {
    more = extend(need);  // less than a step may still fit
  }
  if (more || demand.put_bytes <= demand.erased_bytes) return {};
  return more;
}

void Instance::note_data(Version version) {
  if (epoch_.durability == Durability::kProcess) {
    // Its length changes only with the map.
    note_mapped_write(gate_->page(), 0);
    if (version != 0) gate_->page().version.store(version, std::memory_order_relaxed);
    return;
  }
  struct stat st{};
  if (::fstat(env_->fd(), &st) != 0) return;
  const auto used = static_cast<off_t>(env_->used_pages() * env_->page_bytes());
  if (!env_->poisoned() && st.st_size < used) {
    // LMDB does not write pages that it took and gave back in one transaction.
    if (::ftruncate(env_->fd(), used) != 0 || ::fstat(env_->fd(), &st) != 0) return;
  }
  GatePage& page = gate_->page();
  if (version != 0) page.version.store(version, std::memory_order_relaxed);
  page.data_mtime_ns.store(mtime_ns(st), std::memory_order_relaxed);
}

}  // namespace lockkeeper::kv::internal
