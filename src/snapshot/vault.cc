#include "snapshot/vault.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ranges>
#include <utility>

#include "base/bytes.h"
#include "base/parse.h"
#include "base/random.h"
#include "base/text.h"
#include "snapshot/packed.h"

namespace lockkeeper::snapshot {
namespace {

constexpr const char* kVersionsName = "versions";
constexpr const char* kWeightName = "weight";
constexpr const char* kMovedName = "moved";
constexpr std::string_view kGone = "gone-";
constexpr std::string_view kUnfinished = "new-";
constexpr std::uint64_t kWeightBytes = 4096;
constexpr std::uint64_t kVersionsBytesMax = 2U << 20;  // of one generation
constexpr int kTries = 3;

struct stat stat_of(const Folder& folder, const std::string& name) {
  struct stat info{};
  if (::fstatat(folder.fd(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) info = {};
  return info;
}

std::string unfinished_name() {
  SystemRandom random;
  std::string bytes;
  append_be64(bytes, random.next());
  return std::string(kUnfinished) + to_hex(bytes);
}

std::uint64_t in_steps(std::uint64_t bytes) {
  return (bytes / kWeightBytes + 1) * kWeightBytes;
}

// Whole: what a power cut left half is written again.
bool has_whole(const Folder& generation, const std::string& id, std::string_view content) {
  const auto there = generation.read(id, compressed_at_most(content.size()));
  return there && *there && decompressed(**there, content.size()) == content;
}

// Our own words: what a folder that lies elsewhere would be advised does not fit.
std::unexpected<Error> explained(Error error) {
  error.hint = error.code == Code::kNoSpace
                   ? "free some space; until then nothing can be recovered that changes now"
                   : "move it away, or switch snapshots off: [snapshots] enabled = false";
  return fail(std::move(error));
}

}  // namespace

Result<Vault> Vault::open(Place place, Limits limits) {
  limits.file_bytes = std::min({limits.file_bytes, limits.bytes / 4, kFileBytesMost});
  auto store = Folder::open(place.store, "", Folder::Kind::kPrivate);
  if (!store) return explained(std::move(store.error()));
  const bool made = stat_of(*store, place.name).st_ino == 0;
  auto folder = store->folder(place.name);
  if (!folder) return explained(std::move(folder.error()));
  Vault vault(std::move(place), limits, std::move(*folder));
  if (made) {
    LK_CHECK(vault.own(vault.folder_.fd(), ""));
  } else {
    LK_CHECK(vault.close_to_others());
  }
  return vault;
}

Result<std::optional<Vault>> Vault::find(Place place) {
  auto store = Folder::find(place.store);
  if (!store) return explained(std::move(store.error()));
  if (!*store) return std::nullopt;
  auto folder = (*store)->existing(place.name);
  if (!folder) return explained(std::move(folder.error()));
  if (!*folder) return std::nullopt;
  return Vault(std::move(place), {}, std::move(**folder));
}

Result<void> Vault::check(const Place& place) {
  LK_ASSIGN(const std::optional<Vault> found, find(place));
  if (!found) return {};
  LK_CHECK(found->check_owner());
  if (::faccessat(found->folder_.fd(), ".", W_OK | X_OK, AT_EACCESS) == 0) return {};
  return explained(found->folder_.failed(errno, "write", "").error());
}

std::optional<Vault::Generation> Vault::generation_named(std::string_view name) {
  const std::size_t dash = name.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto number = number_in<std::uint64_t>(name.substr(0, dash));
  const auto begun = number_in<std::int64_t>(name.substr(dash + 1));
  if (!number || !begun || *begun < 0) return std::nullopt;
  return Generation{*number, *begun, std::string(name)};
}

Result<Vault::Listing> Vault::list() const {
  LK_ASSIGN(const std::vector<std::string> names, folder_.names());
  Listing listing;
  for (const std::string& name : names) {
    if (auto generation = generation_named(name)) {
      listing.generations.push_back(std::move(*generation));
    } else if (name.starts_with(kGone)) {
      listing.gone.push_back(name);
    }
  }
  std::ranges::sort(listing.generations, [](const Generation& a, const Generation& b) {
    return std::pair(a.number, a.begun_s) < std::pair(b.number, b.begun_s);
  });
  return listing;
}

Result<Vault::Weight> Vault::weight_of(const Generation& generation) const {
  LK_ASSIGN(const std::optional<Folder> folder, folder_.folder_if_any(generation.name));
  if (!folder) return Weight{};
  const auto size = [&](const char* name) {
    return static_cast<std::uint64_t>(stat_of(*folder, name).st_size);
  };
  const std::uint64_t came = size(kWeightName);
  return Weight{(came - std::min(came, size(kMovedName))) * kWeightBytes, size(kVersionsName)};
}

Result<std::int64_t> Vault::last_written_ms(const Generation& generation) const {
  LK_ASSIGN(const std::optional<Folder> folder, folder_.folder_if_any(generation.name));
  std::int64_t last_s = generation.begun_s;
  if (folder) {
    last_s = std::max<std::int64_t>(last_s, stat_of(*folder, kVersionsName).st_mtim.tv_sec);
  }
  return last_s * 1000;
}

// 0: it is full.
Result<std::uint64_t> Vault::room_in(const Generation& generation, std::int64_t now_wall_ms) const {
  const std::int64_t age_ms = now_wall_ms - generation.begun_s * 1000;
  if (age_ms > limits_.keep_ms / static_cast<std::int64_t>(kParts)) return 0;
  LK_ASSIGN(const Weight weight, weight_of(generation));
  if (weight.records >= kVersionsBytesMax) return 0;
  const std::uint64_t part = limits_.bytes / kParts;
  return part - std::min(part, weight.all());
}

// The generation that is written to.
Result<void> Vault::choose(std::int64_t now_wall_ms) {
  LK_ASSIGN(const Listing listing, list());
  older_.clear();
  for (const Generation& generation : listing.generations | std::views::reverse) {
    older_.push_back(generation.name);
  }
  if (!listing.generations.empty()) {
    const Generation& newest = listing.generations.back();
    LK_ASSIGN(room_, room_in(newest, now_wall_ms));
    if (room_ > 0) {
      LK_ASSIGN(current_, folder_.folder_if_any(newest.name));
      if (current_) {
        older_.erase(older_.begin());
        if (!listing.gone.empty()) static_cast<void>(sweep(listing, now_wall_ms));
        return {};
      }
    }
  }
  const std::uint64_t last = listing.generations.empty() ? 0 : listing.generations.back().number;
  LK_CHECK(begin(last + 1, now_wall_ms));
  room_ = limits_.bytes / kParts;
  // What cannot be removed now is met again: no reason not to keep this.
  static_cast<void>(sweep(listing, now_wall_ms));
  return {};
}

Result<void> Vault::begin(std::uint64_t number, std::int64_t now_wall_ms) {
  const std::string name =
      std::to_string(number) + "-" + std::to_string(std::max<std::int64_t>(0, now_wall_ms / 1000));
  LK_ASSIGN(current_, folder_.folder(name));  // another process may have made it
  LK_CHECK(own(current_->fd(), name));
  return sync(folder_.fd(), "");
}

Result<void> Vault::own(int fd, std::string_view name) const {
  if (!place_.uid && !place_.gid) return {};
  const auto uid = place_.uid.value_or(static_cast<uid_t>(-1));
  const auto gid = place_.gid.value_or(static_cast<gid_t>(-1));
  if (::fchown(fd, uid, gid) == 0) return {};
  return folder_.failed(errno, "give to its owner", name);
}

// It was there before. What somebody else could write or read is not trusted with contents.
Result<void> Vault::check_owner() const {
  struct stat info{};
  if (::fstat(folder_.fd(), &info) != 0) return folder_.failed(errno, "look at", "");
  const uid_t me = ::geteuid();
  if (info.st_uid == me || me == 0) return {};
  return fail(Code::kFailed, quote(folder_.path()) + " belongs to another user",
              "move it away, or switch snapshots off: [snapshots] enabled = false");
}

Result<void> Vault::close_to_others() const {
  LK_CHECK(check_owner());
  struct stat info{};
  if (::fstat(folder_.fd(), &info) != 0) return folder_.failed(errno, "look at", "");
  if ((info.st_mode & 077U) == 0 || ::fchmod(folder_.fd(), 0700) == 0) return {};
  return folder_.failed(errno, "close to others", "");
}

Result<void> Vault::sync(int fd, std::string_view name) const {
  if (!place_.durable || ::fsync(fd) == 0) return {};
  return folder_.failed(errno, "write", name);
}

// The content from an older generation, so that keeping it again takes no room from anything else.
// False: none has it, or another process was faster.
Result<bool> Vault::move_here(const std::string& id, std::string_view content) {
  for (const std::string& name : older_) {
    struct stat info{};
    // Only a hint, but ten times faster than opening each.
    std::string file = name;
    file.append("/").append(id);
    if (::fstatat(folder_.fd(), file.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const auto from = folder_.folder_if_any(name);
    if (!from || !*from || !has_whole(**from, id, content)) continue;
    if (!(*from)->rename(id, *current_, id)) continue;
    const auto bytes = static_cast<std::uint64_t>(info.st_size);
    spend(in_steps(bytes));
    LK_CHECK(add_weight(*current_, kWeightName, bytes));
    LK_CHECK(add_weight(**from, kMovedName, bytes));
    LK_CHECK(sync(current_->fd(), ""));
    return true;
  }
  return false;
}

Result<void> Vault::add_weight(const Folder& generation, const char* name,
                               std::uint64_t bytes) const {
  LK_ASSIGN(const Fd weight, generation.append(name));
  if (stat_of(generation, name).st_size == 0) LK_CHECK(own(weight.get(), name));
  if (write_all(weight.get(), std::string(in_steps(bytes) / kWeightBytes, '.'))) return {};
  return generation.failed(errno, "write", name);
}

Result<void> Vault::put_content(const std::string& id, std::string_view content) {
  if (has_whole(*current_, id, content)) return {};
  LK_ASSIGN(const bool moved, move_here(id, content));
  if (moved) return {};
  LK_ASSIGN(const std::string bytes, compressed(content));
  const std::string unfinished = unfinished_name();
  const auto written = [&]() -> Result<void> {
    LK_ASSIGN(const Fd file, current_->create_file(unfinished, bytes));
    LK_CHECK(own(file.get(), unfinished));
    LK_CHECK(current_->rename(unfinished, *current_, id));
    // After that, so that its name is on disk as well. Nothing refers to it before.
    return sync(file.get(), id);
  }();
  if (!written) {
    static_cast<void>(current_->remove(unfinished));
    return written;
  }
  spend(in_steps(bytes.size()));
  return add_weight(*current_, kWeightName, bytes.size());
}

Result<void> Vault::put_record(std::string_view record) {
  LK_ASSIGN(const Fd index, current_->append(kVersionsName));
  struct stat info{};
  if (::fstat(index.get(), &info) == 0 && info.st_size == 0) {
    LK_CHECK(own(index.get(), kVersionsName));
  }
  // One call: what others append stands before or behind it.
  const ssize_t written = ::write(index.get(), record.data(), record.size());
  if (std::cmp_not_equal(written, record.size())) {
    return current_->failed(written < 0 ? errno : ENOSPC, "write", kVersionsName);
  }
  return sync(index.get(), kVersionsName);
}

Result<void> Vault::add(Version& version, std::optional<std::string_view> content,
                        std::int64_t now_wall_ms) {
  version.at_wall_ms = now_wall_ms;
  const std::string record = encode_version(version);
  if (record.empty()) {
    return fail(Code::kLimitExceeded, "the name of " + quote(version.path) + " is too long");
  }
  for (int tries = 0;; ++tries) {
    const auto added = [&]() -> Result<bool> {
      if (!current_ || room_ == 0) LK_CHECK(choose(now_wall_ms));
      if (content) LK_CHECK(put_content(version.content, *content));
      LK_CHECK(put_record(record));
      spend(record.size());
      // Somebody found it beyond the limits meanwhile, and takes it away with what we wrote.
      return current_->is_there();
    }();
    if (added && *added) {
      if (room_ > 0) return {};
      // It is full. What is now too much goes at once, so that the limit holds.
      if (const auto listing = list()) static_cast<void>(sweep(*listing, now_wall_ms));
      return {};
    }
    current_.reset();
    if (tries + 1 < kTries) continue;
    if (!added) return explained(added.error());
    return fail(Code::kFailed, folder_.path() + " is being removed", "try again");
  }
}

}  // namespace lockkeeper::snapshot
