#include "kv/lmdb/prepare.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "kv/lmdb/lmdb_txn.h"
#include "kv/lmdb/walk.h"

namespace lockkeeper::kv::internal {
namespace {

constexpr std::uint64_t kFoundMapBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kWriteMapBytes = std::uint64_t{16} << 20;
constexpr std::size_t kAsidesMax = 2;

bool exists(const std::string& path) {
  return identify(path).has_value();
}

// One run of prepare(); all of it happens behind the gate.
class Preparation {
 public:
  Preparation(const Place& place, Gate& gate) : place_(place), gate_(gate) {}
  Result<Prepared> run();

 private:
  Result<Prepared> adopt(EpochRecord record, bool files_good);
  Result<Prepared> found(const EpochRecord* last, const std::string& aside);
  Result<void> make_data(const EpochRecord& record, bool report_reboot);
  Result<void> fill(LmdbTxn& txn, const EpochRecord& record, bool report_reboot);
  Result<void> set_aside(const std::string& aside);
  Result<bool> migrate(const EpochRecord& record, const DataFacts& facts);
  Result<void> save(EpochRecord& record);
  std::string aside_name() const;

  const Place& place_;
  Gate& gate_;
  bool page_trusted_ = false;  // written under this boot
  std::uint64_t page_revision_ = 0;
  Version page_version_ = 0;
};

Result<Prepared> Preparation::run() {
  if (auto ok = gate_.make_page(); !ok) return fail(std::move(ok.error()));
  const GatePage& page = gate_.page();
  if (page.magic.load() == kGateMagic) {
    page_trusted_ = page.boot.load() == place_.boot;
    page_revision_ = page.generation.load();
    page_version_ = page.version.load();
  }
  const auto loaded = place_.epochs.load();
  if (!loaded) return fail(loaded.error());
  const EpochFiles::Found& epochs = *loaded;
  const auto there = is_there(place_.data_path);
  if (!there) return fail(there.error());
  const bool data_there = *there;
  if (!epochs.record) {
    if (data_there || epochs.main_present) {
      return lost_state(place_, "the epoch file is missing or damaged, and so is its copy");
    }
    if (!place_.options.create) return fail(Code::kNotFound, place_.options.folder + ": no store");
    return found(nullptr, "");
  }
  if (!epochs.main_present && !data_there) {
    // Only the copy outside the folder knows of a store. In the same parent folder the store was
    // deleted. In another one (cloned again) this is a new store that continues its numbers.
    const auto parent = identify(parent_of(place_.options.folder));
    if (parent && epochs.record->parent.same_file(*parent)) {
      return lost_state(place_, "the store's files were deleted");
    }
    if (!place_.options.create) return fail(Code::kNotFound, place_.options.folder + ": no store");
    return found(&*epochs.record, "");
  }
  if (epochs.record->founding) return found(&*epochs.record, epochs.record->aside);
  if (!data_there) return lost_state(place_, "the data file is missing");
  return adopt(*epochs.record, epochs.main_good && epochs.copy_good);
}

Result<Prepared> Preparation::adopt(EpochRecord record, bool files_good) {
  const bool reboot = record.boot_id != place_.options.boot_id;
  if (reboot && record.durability == Durability::kProcess) return found(&record, aside_name());
  const std::uint64_t own_time = time_namespace();
  if (!reboot && own_time != 0 && record.time_namespace != 0 && own_time != record.time_namespace) {
    return fail(Code::kStoreUnavailable,
                place_.options.folder +
                    ": this process's clock is not the store's (time namespace " +
                    std::to_string(own_time) + ", the store's is " +
                    std::to_string(record.time_namespace) + ")",
                "run lockkeeper in the time namespace in which the store was first used");
  }
  auto facts = facts_of(place_.data_path);
  if (!facts) return fail(std::move(facts.error()));
  const Version version = facts->meta.txn_id + record.version_base;
  const bool restored = !record.gate.same_file(gate_.identity()) ||
                        (!reboot && (!page_trusted_ || page_revision_ > record.revision));
  const bool behind = !reboot && !restored && page_version_ > version;
  if (version < record.version_start || behind) {
    return corrupt(place_.data_path,
                   "rolled back: it is at version " + std::to_string(version) +
                       ", the store was at " +
                       std::to_string(std::max(page_version_, record.version_start)));
  }
  const bool touched = gate_.page().data_inode.load() != facts->inode ||
                       gate_.page().data_mtime_ns.load() != facts->mtime_ns;
  if ((reboot || restored || touched) && facts->meta.rows.entries <= kVerifyRowsMax) {
    const Fd fd(::open(place_.data_path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    auto verified = verify_file(fd.get(), place_.data_path, *facts);
    if (!verified) return fail(std::move(verified.error()));
  }
  auto migrated = migrate(record, *facts);
  if (!migrated) return fail(std::move(migrated.error()));
  if (*migrated) {
    facts = facts_of(place_.data_path);
    if (!facts) return fail(std::move(facts.error()));
  }
  if (reboot || restored) {
    const Now now = place_.options.clock->now();
    record = next_epoch({.last = &record,
                         .newest = facts->meta.txn_id + record.version_base,
                         .txn_id = facts->meta.txn_id,
                         .jump = restored ? kLossJump : kBootJump,
                         .mono_ms = now.mono_ms,
                         .wall_ms = now.wall_ms});
    stamp(place_, gate_, record);
  }
  const bool in_step = files_good && page_revision_ == record.revision;
  if (reboot || restored || *migrated || !in_step) {
    if (auto ok = save(record); !ok) return fail(std::move(ok.error()));
  }
  if (auto ok = write_page(place_, gate_, record); !ok) return fail(std::move(ok.error()));
  return Prepared{record, false};
}

Result<void> Preparation::save(EpochRecord& record) {
  record.revision = std::max(record.revision, page_revision_) + 1;
  page_revision_ = record.revision;
  place_.epochs.save_copy(record, place_.policy);
  gate_.moved();
  return place_.epochs.save_main(record, place_.policy);
}

// Creates a new data file. The epoch file says so first, so that a crash on the way is not taken
// for a loss: under `founding` nothing has been granted yet, and the next open does it again.
Result<Prepared> Preparation::found(const EpochRecord* last, const std::string& aside) {
  const Now now = place_.options.clock->now();
  Version newest = page_version_;
  if (last != nullptr && exists(place_.data_path)) {
    if (const auto facts = facts_of(place_.data_path)) {
      newest = std::max(newest, facts->meta.txn_id + last->version_base);
    }
  }
  EpochRecord record = next_epoch({.last = last,
                                   .newest = newest,
                                   .txn_id = 0,
                                   .jump = last == nullptr ? 1 : kLossJump,
                                   .mono_ms = now.mono_ms,
                                   .wall_ms = now.wall_ms});
  stamp(place_, gate_, record);
  record.uid = SystemRandom().next();
  record.durability = place_.options.durability;
  if (last != nullptr && !aside.empty()) record.durability = last->durability;
  record.founding = true;
  record.aside = aside;
  record.revision = std::max(record.revision, page_revision_) + 1;
  page_revision_ = record.revision;
  if (auto ok = place_.epochs.save_main(record, place_.policy); !ok) return fail(ok.error());
  gate_.moved();
  if (auto ok = set_aside(aside); !ok) return fail(std::move(ok.error()));
  if (auto ok = make_data(record, !aside.empty()); !ok) return fail(std::move(ok.error()));
  gate_.moved();
  record.founding = false;
  record.aside.clear();
  if (auto ok = save(record); !ok) return fail(std::move(ok.error()));
  if (auto ok = write_page(place_, gate_, record); !ok) return fail(std::move(ok.error()));
  return Prepared{record, !aside.empty()};
}

std::string Preparation::aside_name() const {
  return place_.data_path + ".reboot-" + std::to_string(place_.options.clock->now().wall_ms / 1000);
}

Result<void> Preparation::set_aside(const std::string& aside) {
  if (!exists(place_.data_path)) return {};
  // While founding, a data file beside the one set aside is an unfinished new one.
  if (aside.empty() || exists(aside)) {
    if (::unlink(place_.data_path.c_str()) != 0) {
      return fail(errno_error(errno, place_.data_path));
    }
    return {};
  }
  if (::rename(place_.data_path.c_str(), aside.c_str()) != 0) {
    return fail(errno_error(errno, aside));
  }
  std::vector<std::string> names;
  if (DIR* const folder = ::opendir(place_.options.folder.c_str())) {
    while (const dirent* const entry = ::readdir(folder)) {
      const std::string name = entry->d_name;
      if (name.starts_with("data.mdb.reboot-")) names.push_back(name);
    }
    ::closedir(folder);
  }
  std::ranges::sort(names);
  for (std::size_t i = 0; i + kAsidesMax < names.size(); ++i) {
    ::unlink((place_.options.folder + "/" + names[i]).c_str());
  }
  return {};
}

Result<void> Preparation::make_data(const EpochRecord& record, bool report_reboot) {
  const std::string path = place_.data_path + ".new";
  ::unlink(path.c_str());
  {
    auto made = open_plain(path, false, &place_.policy);
    if (!made) return fail(std::move(made.error()));
  }
  auto env = Env::open(path, {.read_only = false,
                              .sync = true,
                              .map_bytes = kFoundMapBytes,
                              .file_mode = place_.policy.file_mode});
  if (!env) return fail(std::move(env.error()));
  MDB_txn* txn = nullptr;
  if (const int code = mdb_txn_begin((*env)->get(), nullptr, 0, &txn); code != 0) {
    return fail((*env)->error(code, "begin"));
  }
  LmdbTxn first({.hooks = private_hooks(),
                 .env = env->get(),
                 .txn = txn,
                 .access = Access::kWrite,
                 .version = mdb_txn_id(txn) + record.version_base,
                 .epoch = record.epoch()});
  first.found({.uid = record.uid, .schema = place_.options.schema_version});
  if (auto ok = fill(first, record, report_reboot); !ok) return ok;
  auto done = first.commit();
  if (!done) return fail(std::move(done.error()));
  gate_.moved();
  if (::fsync((*env)->fd()) != 0) return fail(errno_error(errno, path));
  if (::rename(path.c_str(), place_.data_path.c_str()) != 0) {
    return fail(errno_error(errno, place_.data_path));
  }
  return sync_folder(place_.options.folder);
}

// Lets the caller carry over what should be remembered of the last boot. This is best effort:
// without sync the file may not have survived.
Result<void> Preparation::fill(LmdbTxn& txn, const EpochRecord& record, bool report_reboot) {
  if (!report_reboot || !place_.options.on_reboot || record.aside.empty()) return {};
  const Fd fd(::open(record.aside.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return {};
  const auto facts = read_facts(fd.get(), record.aside);
  if (!facts || !verify_file(fd.get(), record.aside, *facts)) return {};
  const std::uint64_t bytes = (facts->meta.last_page + 1) * facts->meta.page_bytes;
  auto env = Env::open(
      record.aside,
      {.read_only = true, .sync = false, .map_bytes = std::max(bytes * 2, kFoundMapBytes)});
  if (!env) return {};
  MDB_txn* before = nullptr;
  if (mdb_txn_begin((*env)->get(), nullptr, MDB_RDONLY, &before) != 0) return {};
  LmdbTxn reader({.hooks = private_hooks(),
                  .env = env->get(),
                  .txn = before,
                  .access = Access::kRead,
                  .version = 0});
  return place_.options.on_reboot(reader, txn);
}

// True: the data file was changed.
Result<bool> Preparation::migrate(const EpochRecord& record, const DataFacts& facts) {
  auto data = open_data(place_, record, facts, false);
  if (!data) return fail(std::move(data.error()));
  const std::uint32_t stored = data->ledger.schema;
  const std::uint32_t wanted = place_.options.schema_version;
  if (stored == wanted) return false;
  if (stored > wanted || !place_.options.migrate) {
    return fail(std::move(check_schema(place_, stored).error()));
  }
  Env& env = *data->env;
  MDB_txn* txn = nullptr;
  const int code = guarded([&] { return mdb_txn_begin(env.get(), nullptr, 0, &txn); });
  if (code != 0) return fail(env.error(code, "begin"));
  LmdbTxn change({.hooks = private_hooks(),
                  .env = &env,
                  .txn = txn,
                  .access = Access::kWrite,
                  .version = mdb_txn_id(txn) + record.version_base,
                  .epoch = record.epoch()});
  const std::string keep = place_.data_path + ".schema-" + std::to_string(stored);
  auto bytes = read_file(place_.data_path, SIZE_MAX);
  if (!bytes) return fail(std::move(bytes.error()));
  if (auto ok = replace_durably(keep, *bytes, place_.policy); !ok) return fail(ok.error());
  gate_.moved();
  if (auto ok = place_.options.migrate(stored, change); !ok) return fail(ok.error());
  change.set_schema(wanted);
  auto done = change.commit();
  if (!done) return fail(std::move(done.error()));
  gate_.moved();
  if (::fsync(env.fd()) != 0) return fail(errno_error(errno, place_.data_path));
  return true;
}

}  // namespace

Place::Place(const LmdbOptions& given)
    : options(given),
      policy{given.folder_mode, given.file_mode, given.uid, given.gid},
      gate_path(given.folder + "/gate"),
      data_path(given.folder + "/data.mdb"),
      epochs{given.folder + "/epoch", given.epoch_copy},
      boot(hash64(given.boot_id)) {}

void stamp(const Place& place, const Gate& gate, EpochRecord& record) {
  record.boot_id = place.options.boot_id;
  record.time_namespace = time_namespace();
  record.gate = gate.identity();
  record.parent = identify(parent_of(place.options.folder)).value_or(Identity{});
}

Result<void> write_page(const Place& place, Gate& gate, const EpochRecord& record) {
  auto facts = facts_of(place.data_path);
  if (!facts) return fail(std::move(facts.error()));
  GatePage& page = gate.page();
  page.boot.store(place.boot);
  page.version.store(facts->meta.txn_id + record.version_base);
  page.data_inode.store(facts->inode);
  page.data_mtime_ns.store(facts->mtime_ns);
  page.data_reserved.store(0);
  page.epoch_copy.store(hash64(place.epochs.copy));
  page.generation.store(record.revision);
  page.magic.store(kGateMagic);
  return {};
}

std::unexpected<Error> lost_state(const Place& place, const std::string& what) {
  return corrupt(place.options.folder, "what is held is no longer known: " + what);
}

Result<DataFacts> facts_of(const std::string& path) {
  auto fd = open_plain(path, true, nullptr);
  if (!fd) return fail(std::move(fd.error()));
  return read_facts(fd->get(), path);
}

Result<void> check_newest(const Place& place, const EpochRecord& epoch, const DataFacts& facts,
                          const Ledger& ledger) {
  const Version version = facts.meta.txn_id + epoch.version_base;
  // Until the first commit of an epoch, the newest commit belongs to an earlier one.
  if (version == epoch.version_start || ledger.modified == version) return {};
  return corrupt(place.data_path, "the newest commit is " + std::to_string(ledger.modified) +
                                      " where the meta page says " + std::to_string(version));
}

Result<void> check_schema(const Place& place, std::uint32_t stored) {
  const std::uint32_t own = place.options.schema_version;
  if (stored == own) return {};
  return fail(Code::kStoreUnavailable,
              place.options.folder + ": the store has schema " + std::to_string(stored) +
                  ", this binary knows schema " + std::to_string(own),
              stored > own ? "use the newer lockkeeper that wrote it"
                           : "use a lockkeeper that can migrate it");
}

Result<OpenedData> open_data(const Place& place, const EpochRecord& epoch, const DataFacts& facts,
                             bool read_only) {
  OpenedData opened;
  const std::uint64_t used = (facts.meta.last_page + 1) * facts.meta.page_bytes;
  const bool write_map = epoch.durability == Durability::kProcess && !read_only;
  std::uint64_t map_bytes = place.options.map_bytes;
  // A file written through the map is as long as the map, so start small. An existing file must
  // never be truncated to a smaller map.
  if (write_map) map_bytes = std::min(map_bytes, kWriteMapBytes);
  while (map_bytes < used * 2 || (write_map && map_bytes < facts.file_bytes)) map_bytes *= 2;
  auto env = Env::open(place.data_path, {.read_only = read_only,
                                         .sync = epoch.durability == Durability::kFull,
                                         .write_map = write_map,
                                         .map_bytes = map_bytes,
                                         .file_mode = place.policy.file_mode});
  if (!env) return fail(std::move(env.error()));
  struct stat st{};
  if (::fstat((*env)->fd(), &st) != 0 || st.st_ino != facts.inode) {
    return fail(Code::kStoreUnavailable, place.data_path + ": replaced while it was being opened",
                "try again");
  }
  MDB_txn* txn = nullptr;
  const int code = guarded([&] { return mdb_txn_begin((*env)->get(), nullptr, MDB_RDONLY, &txn); });
  if (code != 0) return fail((*env)->error(code, "begin"));
  LmdbTxn look({.hooks = private_hooks(), .env = env->get(), .txn = txn, .access = Access::kRead});
  auto ledger = look.ledger();
  if (!ledger) return fail(std::move(ledger.error()));
  if (ledger->uid != epoch.uid) {
    return corrupt(place.data_path, "belongs to another store");
  }
  if (auto ok = check_newest(place, epoch, facts, *ledger); !ok) return fail(ok.error());
  opened.ledger = *ledger;
  opened.env = std::move(*env);
  return opened;
}

bool time_fits(const GatePage& page, Durability durability, std::uint64_t mtime_ns) {
  const std::uint64_t ours = page.data_mtime_ns.load(std::memory_order_relaxed);
  return durability == Durability::kProcess ? mtime_ns <= ours : mtime_ns == ours;
}

void note_mapped_write(GatePage& page, std::uint64_t ahead_ns) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::uint64_t by = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
                           static_cast<std::uint64_t>(now.tv_nsec) + ahead_ns;
  std::uint64_t known = page.data_mtime_ns.load(std::memory_order_relaxed);
  while (known < by && !page.data_mtime_ns.compare_exchange_weak(known, by)) {
  }
}

namespace {

// Where the store was moved to, a later one must know how far its fences went.
bool has_copy(const Place& place, const GatePage& page) {
  const std::string& copy = place.epochs.copy;
  return copy.empty() || page.epoch_copy.load() == hash64(copy) || exists(copy);
}

}  // namespace

bool is_prepared(const Place& place, Gate& gate, const EpochRecord& epoch, const DataFacts& facts) {
  const GatePage& page = gate.page();
  const std::uint64_t own_time = time_namespace();
  return page.magic.load() == kGateMagic && page.boot.load() == place.boot &&
         page.generation.load() == epoch.revision && !epoch.founding &&
         epoch.boot_id == place.options.boot_id && epoch.gate.same_file(gate.identity()) &&
         (own_time == 0 || epoch.time_namespace == 0 || own_time == epoch.time_namespace) &&
         page.data_inode.load() == facts.inode &&
         time_fits(page, epoch.durability, facts.mtime_ns) &&
         page.version.load() <= facts.meta.txn_id + epoch.version_base && has_copy(place, page);
}

Result<Prepared> prepare(const Place& place, Gate& gate) {
  return Preparation(place, gate).run();
}

}  // namespace lockkeeper::kv::internal
