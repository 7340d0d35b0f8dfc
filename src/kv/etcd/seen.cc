#include "kv/etcd/seen.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>

#include "base/bytes.h"
#include "base/parse.h"
#include "base/quote.h"

namespace lockkeeper::kv::etcd {
namespace {

constexpr std::string_view kRepair =
    "lockkeeper doctor --repair --store etcd://… begins a new epoch";
constexpr std::size_t kFileBytesMax = 512;  // one sector: written whole or not at all

std::unexpected<Error> went_back(const std::string& why) {
  return fail(Code::kStoreCorrupt, "the etcd cluster has gone back to an older state: " + why,
              "if it was restored on purpose: " + std::string(kRepair));
}

std::string format_state(const Seen::State& state) {
  std::string text = "1 " + std::to_string(state.cluster) + " " + std::to_string(state.revision) +
                     " " + format_epoch(state.epoch);
  const std::uint64_t sum = hash64(text);
  std::string line = text + " " + std::to_string(sum);
  line.resize(kFileBytesMax - 1, ' ');
  return line + "\n";
}

std::optional<Seen::State> parse_state(const std::string& text) {
  const std::vector<std::string> words = words_in(text, " \n");
  if (words.size() != 7 || words[0] != "1") return std::nullopt;
  Seen::State state;
  const auto cluster = number_in<std::uint64_t>(words[1]);
  const auto revision = number_in<Version>(words[2]);
  const auto epoch = parse_epoch(words[3] + " " + words[4] + " " + words[5]);
  if (!cluster || !revision || !epoch) return std::nullopt;
  state = {*cluster, *revision, *epoch};
  return format_state(state) == text ? std::optional(state) : std::nullopt;
}

}  // namespace

std::string format_epoch(const EpochRow& row) {
  return std::to_string(row.schema) + " " + std::to_string(row.id) + " " +
         std::to_string(row.fence_offset);
}

std::optional<EpochRow> parse_epoch(std::string_view text) {
  const std::vector<std::string> words = words_in(text, " ");
  if (words.size() != 3) return std::nullopt;
  const auto schema = number_in<std::uint64_t>(words[0]);
  const auto id = number_in<std::uint64_t>(words[1]);
  const auto offset = number_in<std::int64_t>(words[2]);
  if (!schema || !id || !offset) return std::nullopt;
  return EpochRow{*schema, *id, *offset};
}

Result<Seen::State> Seen::look(const std::string& path) {
  LK_ASSIGN(const std::string text, read_file(path, kFileBytesMax));
  if (text.empty()) return State();
  if (const auto state = parse_state(text)) return *state;
  return fail(Code::kStoreCorrupt,
              "the file " + quote(path) + " is damaged; it says what this hub has seen of its etcd",
              std::string(kRepair));
}

std::unique_ptr<Seen> Seen::of(const State& state) {
  std::unique_ptr<Seen> seen(new Seen(""));
  seen->state_ = state;
  return seen;
}

Result<std::unique_ptr<Seen>> Seen::open(const std::string& path, bool forget_damaged) {
  std::unique_ptr<Seen> seen(new Seen(path));
  if (path.empty()) return seen;
  LK_ASSIGN(seen->file_, open_or_create(path, 0600));
  const auto state = look(path);
  if (state) seen->state_ = *state;
  if (state || (forget_damaged && state.error().code == Code::kStoreCorrupt)) return seen;
  return fail(state.error());
}

Seen::State Seen::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

Result<void> Seen::write() {
  if (!file_) return {};
  const std::string text = format_state(state_);
  const ssize_t written = ::pwrite(file_.get(), text.data(), text.size(), 0);
  if (written == static_cast<ssize_t>(text.size())) return {};
  return fail(errno_error(written < 0 ? errno : ENOSPC, path_));
}

Result<void> Seen::saw(const Header& header, Version floor) {
  const std::lock_guard lock(mutex_);
  if (state_.cluster != 0 && header.cluster_id != state_.cluster) {
    return went_back("another cluster answers at this address");
  }
  if (header.revision < floor) {
    return went_back("its revision is " + std::to_string(header.revision) + ", and " +
                     std::to_string(floor) + " was seen");
  }
  if (header.revision <= state_.revision) return {};
  state_.cluster = header.cluster_id;
  state_.revision = header.revision;
  return write();
}

Result<void> Seen::saw_epoch(const Header& header, const std::optional<EpochRow>& row,
                             Version floor) {
  const std::lock_guard lock(mutex_);
  const EpochRow found = row.value_or(EpochRow{});
  const std::uint64_t known = state_.epoch.id;
  if (found.id > known || known == 0) {
    // A first sight cannot tell, and a new epoch has been made for just this.
    state_ = {header.cluster_id, header.revision, found};
    return write();
  }
  if (!row) return went_back("its epoch is gone, and " + std::to_string(known) + " was seen");
  if (found.id < known) {
    return went_back("its epoch is " + std::to_string(found.id) + ", and " + std::to_string(known) +
                     " was seen");
  }
  if (header.cluster_id != state_.cluster) {
    return went_back("another cluster answers at this address");
  }
  if (header.revision >= floor) return {};
  return went_back("its revision is " + std::to_string(header.revision) + ", and " +
                   std::to_string(floor) + " was seen");
}

}  // namespace lockkeeper::kv::etcd
