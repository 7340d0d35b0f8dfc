// A store with any bytes changed in any of its files: the doctor survives it, says what is wrong,
// and what it has repaired is whole (F15, F16, I10).
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/fd.h"
#include "base/test_clock.h"
#include "fuzz.h"
#include "kv/lmdb/doctor.h"
#include "kv/lmdb/lmdb_store.h"
#include "kv/lmdb/walk.h"

namespace lockkeeper::fuzz {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{1} << 28;
const char* const kFiles[] = {"data.mdb", "epoch", "gate"};

kv::LmdbOptions options() {
  static const TestClock kClock({5'000, 1'700'000'000'000});
  kv::LmdbOptions options;
  options.folder = scratch() + "/store";
  options.create = true;
  options.boot_id = "boot";
  options.clock = &kClock;
  options.map_bytes = std::uint64_t{1} << 26;
  return options;
}

std::string path_of(std::size_t file) {
  return options().folder + "/" + kFiles[file];
}

template <class T>
T must(Result<T> result) {
  require(result.has_value(), result ? "" : result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// Two levels, long values, free pages.
void fill(kv::Store& store) {
  auto txn = must(store.begin(kv::Access::kWrite));
  for (int i = 0; i < 120; ++i) {
    must(txn->put("row/" + std::to_string(i), std::string(static_cast<std::size_t>(i), 'v')));
  }
  must(txn->put("long/1", std::string(6'000, 'l')));
  must(txn->put("long/2", std::string(20'000, 'l')));
  must(txn->commit());
  txn = must(store.begin(kv::Access::kWrite));
  must(txn->erase("long/2"));
  for (int i = 0; i < 40; ++i) must(txn->erase("row/" + std::to_string(i)));
  must(txn->append("e", "event"));
  must(txn->commit());
}

// The files of a healthy store.
const std::vector<std::string>& whole() {
  static const std::vector<std::string> kWhole = [] {
    fill(*must(kv::LmdbStore::open(options())));
    std::vector<std::string> contents;
    for (std::size_t file = 0; file < std::size(kFiles); ++file) {
      contents.push_back(must(read_file(path_of(file), kFileBytesMax)));
    }
    // Without what was reserved and is not used yet.
    const Fd fd(::open(path_of(0).c_str(), O_RDONLY | O_CLOEXEC));
    const kv::internal::Meta meta = must(kv::internal::read_facts(fd.get(), path_of(0))).meta;
    contents[0].resize((meta.last_page + 1) * meta.page_bytes);
    return contents;
  }();
  return kWhole;
}

// One change: where, how many bytes, the bytes. Most go to the data file, page by page.
void change(Input& input, std::vector<std::string>& contents) {
  const unsigned where = input.byte();
  const std::size_t file = where < 224 ? 0 : where < 240 ? 1 : 2;
  std::string& content = contents[file];
  if (content.empty()) return;
  const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t offset = (where % 16 * page_bytes + input.two_bytes()) % content.size();
  const std::size_t count = std::min<std::size_t>(input.byte() % 24, content.size() - offset);
  const std::string_view bytes = input.take(count);
  content.replace(offset, bytes.size(), bytes);
}

void check_data(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  require(static_cast<bool>(fd), "the data file is gone");
  const auto facts = kv::internal::read_facts(fd.get(), path);
  if (facts) {
    static_cast<void>(kv::internal::verify_file(fd.get(), path, *facts));
  } else {
    require(facts.error().code == Code::kStoreCorrupt, "another code");
  }
  std::uint64_t live = 0;
  const auto count =
      kv::internal::salvage(fd.get(), path, [&](const kv::internal::Salvaged& row) -> Result<void> {
        live += row.live && row.key != kv::internal::kLedgerKey ? 1U : 0U;
        return {};
      });
  require(count && count->live_rows == live, "salvage counts another number");
}

void check_repair() {
  must(kv::repair(options()));
  const auto report = must(kv::inspect(options()));
  require(report.healthy, report.healthy ? "" : report.findings.front().what);
  const auto store = must(kv::LmdbStore::open(options()));
  const auto verified = must(store->verify());
  require(verified.rows == report.rows, "other rows than the doctor saw");
  auto txn = must(store->begin(kv::Access::kWrite));
  must(txn->put("new", "row"));
  must(txn->commit());
}

void remove_kept_files() {
  const std::string folder = options().folder;
  for (const char* name : {"data.mdb", "epoch"}) {
    ::unlink((folder + "/" + name + ".bad-1700000000").c_str());
  }
}

}  // namespace

void run(Input input) {
  std::vector<std::string> contents = whole();
  const unsigned choice = input.byte();
  if (choice % 8 == 7) {
    contents[0] = input.rest();
  } else {
    if (choice % 8 == 6) contents[0].resize(contents[0].size() * input.byte() / 256);
    for (int changes = 0; changes < 64 && !input.empty(); ++changes) change(input, contents);
  }
  for (std::size_t file = 0; file < contents.size(); ++file) {
    write_file(path_of(file), contents[file]);
  }
  check_data(path_of(0));
  const auto report = kv::inspect(options());
  require(report.has_value(), "the doctor gave up");
  require(report->exists, "not seen at all");
  for (const kv::Finding& finding : report->findings) {
    require_readable({Code::kFailed, finding.what, finding.hint});
  }
  if (contents == whole()) require(report->healthy, "a healthy store is called broken");
  if ((choice & 0x10) == 0) return;
  check_repair();
  remove_kept_files();
}

}  // namespace lockkeeper::fuzz
