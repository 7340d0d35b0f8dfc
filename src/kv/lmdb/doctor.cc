#include "kv/lmdb/doctor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <optional>
#include <utility>

#include "base/folder.h"
#include "base/random.h"
#include "kv/lmdb/lmdb_txn.h"
#include "kv/lmdb/prepare.h"
#include "kv/lmdb/walk.h"

namespace lockkeeper::kv {
namespace {

// One transaction in a data file that nobody else has open. It is on disk afterwards. Without a
// record, the versions begin at 1.
Result<void> write_alone(const std::string& path, off_t data_bytes,
                         const internal::EpochRecord* record,
                         const std::function<Result<void>(internal::LmdbTxn&)>& work) {
  const std::uint64_t map_bytes =
      std::max(std::uint64_t{1} << 30, 4 * static_cast<std::uint64_t>(data_bytes));
  auto env = internal::Env::open(path, {.sync = true, .map_bytes = map_bytes});
  if (!env) return fail(std::move(env.error()));
  MDB_txn* txn = nullptr;
  if (const int code = mdb_txn_begin((*env)->get(), nullptr, 0, &txn); code != 0) {
    return fail((*env)->error(code, "begin"));
  }
  internal::LmdbTxn rows({.hooks = internal::private_hooks(),
                          .env = env->get(),
                          .txn = txn,
                          .access = Access::kWrite,
                          .version = record ? mdb_txn_id(txn) + record->version_base : 1,
                          .epoch = record ? record->epoch() : Epoch{}});
  if (auto ok = work(rows); !ok) return ok;
  auto done = rows.commit();
  if (!done) return fail(std::move(done.error()));
  if (::fsync((*env)->fd()) != 0) return fail(errno_error(errno, path));
  return {};
}

using internal::EpochRecord;
using internal::Gate;
using internal::Place;

constexpr char kRepairHint[] = "run: lockkeeper doctor --repair";

void add(StoreReport& report, bool broken, std::string what, std::string hint = {}) {
  report.findings.push_back({broken, std::move(what), std::move(hint)});
}

void add_error(StoreReport& report, const Error& error) {
  const bool repairable = error.code == Code::kStoreCorrupt;
  add(report, true, error.message, repairable ? kRepairHint : error.hint);
}

void inspect_epoch(const Place& place, Gate& gate, bool page_good, StoreReport& report,
                   std::optional<EpochRecord>& record) {
  const auto loaded = place.epochs.load();
  if (!loaded) return add_error(report, loaded.error());
  const auto& found = *loaded;
  record = found.record;
  if (!record) {
    add(report, true, place.epochs.main + ": missing or damaged, and so is its copy", kRepairHint);
    return;
  }
  report.epoch_id = record->id;
  report.durability = record->durability;
  if (!found.main_good) {
    add(report, false,
        place.epochs.main + (found.main_present ? ": damaged or old" : ": missing") +
            "; its copy is used",
        "any lockkeeper command that writes puts it right");
  }
  if (record->founding)
    add(report, false, "the store was being created; the next open finishes it");
  if (record->boot_id != place.options.boot_id) {
    add(report, false, "not used since the last boot");
  } else if (const std::uint64_t own = internal::time_namespace();
             own != 0 && record->time_namespace != 0 && own != record->time_namespace) {
    add(report, true, "this process is in another time namespace than the store",
        "run it where the store was first used");
  }
  if (!record->gate.same_file(gate.identity())) {
    add(report, false,
        gate.path() +
            ": not the file that was last used here; the folder was copied, restored or " +
            "deleted; the next open begins a new epoch");
  } else if (!page_good) {
    add(report, false, gate.path() + ": too short or not ours; the next open writes it anew");
  }
}

void inspect_data(const Place& place, Gate& gate, bool page_good,
                  const std::optional<EpochRecord>& record, StoreReport& report) {
  auto fd = internal::open_plain(place.data_path, true, nullptr);
  if (!fd) {
    const bool missing = fd.error().code == Code::kNotFound;
    if (missing) fd.error().code = Code::kStoreCorrupt;
    if (!record || !record->founding) add_error(report, fd.error());
    return;
  }
  auto facts = internal::read_facts(fd->get(), place.data_path);
  if (!facts) return add_error(report, facts.error());
  report.file_bytes = facts->file_bytes;
  auto verified = internal::verify_file(fd->get(), place.data_path, *facts);
  if (!verified) {
    add_error(report, verified.error());
  } else {
    report.rows = verified->rows;
    if (record && verified->ledger.uid != record->uid) {
      add(report, true, place.data_path + ": belongs to another store", kRepairHint);
    } else if (record) {
      const auto newest = internal::check_newest(place, *record, *facts, verified->ledger);
      if (!newest) add_error(report, newest.error());
    }
    if (verified->ledger.schema != place.options.schema_version) {
      add(report, verified->ledger.schema > place.options.schema_version,
          "the store has schema " + std::to_string(verified->ledger.schema) +
              ", this binary knows schema " + std::to_string(place.options.schema_version));
    }
  }
  if (!record) return;
  report.version = facts->meta.txn_id + record->version_base;
  const bool same_boot = record->boot_id == place.options.boot_id;
  const Version seen = page_good && same_boot ? gate.page().version.load() : 0;
  if (report.version < std::max(seen, record->version_start)) {
    add(report, true,
        place.data_path + ": rolled back to version " + std::to_string(report.version),
        kRepairHint);
  }
}

// One repair. Runs alone, behind the gate.
class Repair {
 public:
  Repair(const Place& place, Gate& gate) : place_(place), gate_(gate) {}
  Result<RepairReport> run();

 private:
  Result<void> salvage_into(const std::string& path);
  Result<void> rebuild(internal::LmdbTxn& txn, int fd);
  Result<void> carry_over(const std::string& path, const EpochRecord& record);
  Result<void> put_aside(const std::string& path);
  Result<void> keep_copy(const std::string& path);
  void forget_old_copies() const;
  EpochRecord next(const EpochRecord* last) const;

  const Place& place_;
  Gate& gate_;
  RepairReport report_;
  Version newest_ = 0;
  internal::Ledger ledger_;
  std::optional<EpochRecord> remembered_;  // the last epoch, according to the data file
  std::string suffix_;
};

Result<RepairReport> Repair::run() {
  if (auto ok = gate_.make_page(); !ok) return fail(std::move(ok.error()));
  const Now now = place_.options.clock->now();
  suffix_ = ".bad-" + std::to_string(now.wall_ms / 1000);
  const internal::GatePage& page = gate_.page();
  const bool page_good = page.magic.load() == internal::kGateMagic;
  const auto loaded = place_.epochs.load();
  if (!loaded) return fail(loaded.error());
  const auto& found = *loaded;
  // A page of another boot may be damaged, and a version must stay below 2^45.
  if (page_good && page.version.load() >> 44 == 0) newest_ = page.version.load();
  ledger_.schema = place_.options.schema_version;
  ledger_.uid = SystemRandom().next();
  const std::string fresh = place_.data_path + ".new";
  if (auto ok = salvage_into(fresh); !ok) return fail(std::move(ok.error()));
  if (ledger_.schema > place_.options.schema_version) {
    // We cannot judge what a newer binary wrote.
    ::unlink(fresh.c_str());
    return fail(std::move(internal::check_schema(place_, ledger_.schema).error()));
  }

  const EpochRecord* last = found.record ? &*found.record : nullptr;
  if (last == nullptr && remembered_) last = &*remembered_;
  EpochRecord record = next(last);
  record.revision = std::max(record.revision, page_good ? page.generation.load() : 0) + 1;
  if (auto ok = carry_over(fresh, record); !ok) return fail(std::move(ok.error()));
  if (found.main_present && !found.main_good) {
    if (auto ok = put_aside(place_.epochs.main); !ok) return fail(std::move(ok.error()));
  }
  if (auto ok = keep_copy(place_.data_path); !ok) return fail(std::move(ok.error()));
  // The data file stays until the new one replaces it. After a crash in between, the epoch does not
  // fit it, and the next doctor finds all of its rows (I5).
  if (auto ok = place_.epochs.save(record, place_.policy); !ok) return fail(std::move(ok.error()));
  if (::rename(fresh.c_str(), place_.data_path.c_str()) != 0) {
    return fail(errno_error(errno, place_.data_path));
  }
  if (auto ok = internal::sync_folder(place_.options.folder); !ok) return fail(ok.error());
  if (auto ok = internal::write_page(place_, gate_, record); !ok) return fail(ok.error());
  forget_old_copies();
  return std::move(report_);
}

// The rows are brought into the new epoch before the file takes its place: whoever came in between
// would take living leases for those of before a reboot.
Result<void> Repair::carry_over(const std::string& path, const EpochRecord& record) {
  if (!place_.options.on_repair) return {};
  struct stat st{};
  if (::stat(path.c_str(), &st) != 0) return fail(errno_error(errno, path));
  return write_alone(path, st.st_size, &record, [&](internal::LmdbTxn& rows) {
    return place_.options.on_repair(rows, record.epoch());
  });
}

EpochRecord Repair::next(const EpochRecord* last) const {
  const Now now = place_.options.clock->now();
  // One second ahead: if nothing else is known, fences must be above those of this second.
  EpochRecord record = internal::next_epoch({.last = last,
                                             .newest = newest_,
                                             .txn_id = 1,  // the one that rebuilt it
                                             .jump = internal::kLossJump,
                                             .mono_ms = now.mono_ms,
                                             .wall_ms = now.wall_ms + 1000});
  if (last == nullptr) {
    // The last number is unknown, so take one that no count of boots reaches.
    record.id = static_cast<std::uint64_t>(std::max<std::int64_t>(1, now.wall_ms / 1000));
    record.durability = place_.options.durability;
  }
  record.uid = ledger_.uid;
  internal::stamp(place_, gate_, record);
  return record;
}

Result<void> Repair::put_aside(const std::string& path) {
  const std::string bad = path + suffix_;
  if (::rename(path.c_str(), bad.c_str()) != 0) {
    if (errno == ENOENT) return {};
    return fail(errno_error(errno, bad));
  }
  report_.kept_files.push_back(bad);
  return {};
}

// Gives the file a second name before the new one replaces it.
Result<void> Repair::keep_copy(const std::string& path) {
  std::string bad = path + suffix_;
  for (int more = 2; ::link(path.c_str(), bad.c_str()) != 0; ++more) {
    if (errno == ENOENT) return {};
    // Kept by an earlier repair in this second that was interrupted.
    if (errno != EEXIST) return fail(errno_error(errno, bad));
    bad = path + suffix_ + "." + std::to_string(more);
  }
  report_.kept_files.push_back(bad);
  return {};
}

// A damaged file may be as large as the disk has room: only the last copies are kept.
void Repair::forget_old_copies() const {
  constexpr std::size_t kCopiesKept = 3;
  const auto folder = Folder::open(place_.options.folder);
  if (!folder) return;
  auto copies = folder->names();
  if (!copies) return;
  std::erase_if(*copies,
                [](const std::string& name) { return !name.starts_with("data.mdb.bad-"); });
  std::ranges::sort(*copies);  // by time
  for (std::size_t i = 0; i + kCopiesKept < copies->size(); ++i) {
    static_cast<void>(folder->remove((*copies)[i]));  // the next repair tries again
  }
}

Result<void> Repair::salvage_into(const std::string& path) {
  ::unlink(path.c_str());
  {
    auto made = internal::open_plain(path, false, &place_.policy);
    if (!made) return fail(std::move(made.error()));
  }
  const Fd old(::open(place_.data_path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat st{};
  if (old && ::fstat(old.get(), &st) != 0) return fail(errno_error(errno, place_.data_path));
  return write_alone(path, st.st_size, nullptr, [&](internal::LmdbTxn& rows) -> Result<void> {
    if (auto ok = rebuild(rows, old ? old.get() : -1); !ok) return ok;
    rows.found(ledger_);
    return {};
  });
}

Result<void> Repair::rebuild(internal::LmdbTxn& txn, int fd) {
  if (fd < 0) return {};
  auto count =
      internal::salvage(fd, place_.data_path, [&](const internal::Salvaged& row) -> Result<void> {
        newest_ = std::max(newest_, row.record.modified);
        if (row.key == internal::kLedgerKey) {
          internal::Ledger old;
          if (row.live && internal::read_ledger(row.record.payload, old)) {
            ledger_.schema = old.schema;
            remembered_ = EpochRecord{};
            remembered_->id = old.epoch_id;
            remembered_->fence_offset = old.fence_offset;
            remembered_->durability = place_.options.durability;
            report_.recorded_rows = old.rows;
          }
          return {};
        }
        return txn.restore(row.key, row.record, row.live);
      });
  if (!count) return fail(std::move(count.error()));
  report_.damaged_rows = count->damaged_rows;
  report_.unreadable_pages = count->unreadable_pages;
  report_.kept_rows = txn.rows_added();
  report_.cut_off_rows = txn.rows_added() - std::min(txn.rows_added(), count->live_rows);
  return {};
}

}  // namespace

Result<StoreReport> inspect(const LmdbOptions& options) {
  const Place place(options);
  StoreReport report;
  struct stat st{};
  if (::lstat(options.folder.c_str(), &st) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) return fail(errno_error(errno, options.folder));
    if (const auto epochs = place.epochs.load(); !epochs || epochs->record) {
      add(report, false, options.folder + ": missing, but there was a store before");
    }
    return report;
  }
  if (auto ok = internal::check_filesystem(options.folder); !ok) {
    report.exists = true;
    add_error(report, ok.error());
    return report;
  }
  report.exists = internal::identify(place.data_path) || internal::identify(place.epochs.main) ||
                  internal::identify(place.gate_path);
  if (!report.exists) return report;
  auto gate = Gate::open(place.gate_path, false, nullptr);
  if (!gate) gate = Gate::open(place.gate_path, true, nullptr);
  if (!gate) {
    if (gate.error().code == Code::kNotFound) gate.error().code = Code::kStoreCorrupt;
    add_error(report, gate.error());
    return report;
  }
  auto pass = (*gate)->enter(Access::kRead, options.patience_ms);
  if (!pass) {
    add_error(report, pass.error());
    return report;
  }
  const bool page_good = pass->in_place() && (*gate)->page().magic.load() == internal::kGateMagic;
  std::optional<EpochRecord> record;
  inspect_epoch(place, **gate, page_good, report, record);
  inspect_data(place, **gate, page_good, record, report);
  report.healthy = std::ranges::none_of(report.findings, &Finding::broken);
  return report;
}

Result<RepairReport> repair(const LmdbOptions& options) {
  const Place place(options);
  const bool nothing = !internal::identify(place.data_path) &&
                       !internal::identify(place.epochs.main) &&
                       !internal::identify(place.gate_path);
  const auto epochs = place.epochs.load();
  if (!epochs) return fail(epochs.error());
  if (nothing && !epochs->record)
    return fail(Code::kNotFound, options.folder + ": no store to repair");
  if (auto ok = internal::make_folder(options.folder, place.policy); !ok) return fail(ok.error());
  if (auto ok = internal::check_filesystem(options.folder); !ok) return fail(ok.error());
  auto gate = Gate::open(place.gate_path, false, &place.policy);
  if (!gate) return fail(std::move(gate.error()));
  auto pass = (*gate)->enter(Access::kWrite, options.patience_ms);
  if (!pass) return fail(std::move(pass.error()));
  return Repair(place, **gate).run();
}

}  // namespace lockkeeper::kv
