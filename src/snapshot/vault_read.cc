// What was kept, read again; and what is removed.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ranges>

#include "base/bytes.h"
#include "base/text.h"
#include "snapshot/packed.h"
#include "snapshot/tree.h"
#include "snapshot/vault.h"

namespace lockkeeper::snapshot {
namespace {

constexpr const char* kIndexName = "versions";
constexpr std::uint64_t kRecentBytes = 64U << 10;
constexpr std::uint64_t kIndexBytesMost = 64U << 20;  // of one generation; ours end far below
constexpr std::size_t kRemovedAtOnce = 64;
constexpr std::string_view kGonePrefix = "gone-";
constexpr std::size_t kNewestGenerations = 2;

// At most so many bytes; empty: there is no index.
Result<std::string> end_of_index(const Folder& generation, std::uint64_t most) {
  LK_ASSIGN(const std::optional<Fd> index, generation.open_file(kIndexName, O_RDONLY));
  struct stat info{};
  if (!index || ::fstat(index->get(), &info) != 0) return std::string();
  const off_t from = std::max<off_t>(0, info.st_size - static_cast<off_t>(most));
  std::string bytes(static_cast<std::size_t>(info.st_size - from), '\0');
  const ssize_t got = ::pread(index->get(), bytes.data(), bytes.size(), from);
  if (got < 0) return generation.failed(errno, "read", kIndexName);
  bytes.resize(static_cast<std::size_t>(got));
  return bytes;
}

}  // namespace

Result<std::vector<std::string>> Vault::recent(bool all) const {
  LK_ASSIGN(const Listing listing, list());
  std::uint64_t left = all ? kIndexBytesMost : kRecentBytes;
  std::vector<std::string> indexes;
  for (const Generation& generation : listing.generations | std::views::reverse) {
    if (indexes.size() == kNewestGenerations || left == 0) break;
    LK_ASSIGN(const std::optional<Folder> folder, folder_.folder_if_any(generation.name));
    if (!folder) continue;  // removed meanwhile
    LK_ASSIGN(std::string bytes, end_of_index(*folder, left));
    left -= bytes.size();
    indexes.push_back(std::move(bytes));
  }
  std::ranges::reverse(indexes);
  return indexes;
}

Result<std::int64_t> Vault::safe_since_ms() const {
  LK_ASSIGN(const Listing listing, list());
  const std::size_t count = listing.generations.size();
  return count < kNewestGenerations
             ? 0
             : (listing.generations[count - kNewestGenerations].begun_s + 1) * 1000;
}

Result<Scanned> Vault::each(const std::function<bool(Version&&)>& visit) const {
  Scanned all;
  bool more = true;
  LK_ASSIGN(const Listing listing, list());
  for (const Generation& generation : listing.generations) {
    LK_ASSIGN(const std::optional<Folder> folder, folder_.folder_if_any(generation.name));
    if (!folder) continue;  // removed meanwhile
    LK_ASSIGN(const std::optional<std::string> bytes, folder->read(kIndexName, kIndexBytesMost));
    if (!bytes) continue;
    const Scanned one = each_version(*bytes, [&](Version&& version) {
      more = visit(std::move(version));
      return more;
    });
    all.versions += one.versions;
    all.torn_bytes += one.torn_bytes;
    all.unknown += one.unknown;
    if (!more) break;
  }
  return all;
}

Result<std::optional<std::string>> Vault::read_in(const std::string& generation,
                                                  const Version& version, bool& damaged) const {
  LK_ASSIGN(const std::optional<Folder> folder, folder_.folder_if_any(generation));
  if (!folder) return std::nullopt;
  LK_ASSIGN(const std::optional<std::string> bytes,
            folder->read(version.content, compressed_at_most(version.size)));
  if (!bytes) return std::nullopt;
  std::optional<std::string> content = decompressed(*bytes, version.size);
  if (content && content_id(*content) == version.content) return content;
  damaged = true;
  return std::nullopt;
}

Result<std::string> Vault::content(const Version& version) const {
  const bool plausible = version.content.size() == 40 && version.size <= kFileBytesMost;
  if (version.content_is != Content::kKept || !plausible) {
    return fail(Code::kNotFound, "the content of that version of " + shown(version.path) +
                                     " was not kept, only its hash " + version.content);
  }
  bool damaged = false;
  LK_ASSIGN(const Listing listing, list());
  for (const Generation& generation : listing.generations) {
    auto content = read_in(generation.name, version, damaged);
    if (!content) {
      damaged = true;  // one that cannot be read is as good as damaged; another may be whole
    } else if (*content) {
      return std::move(**content);
    }
  }
  if (!damaged) {
    return fail(Code::kNotFound,
                "the content of that version of " + shown(version.path) + " is no longer kept",
                "see what is: lockkeeper recover list " + shell_quote(version.path));
  }
  return fail(Code::kStoreCorrupt,
              "the content of that version of " + shown(version.path) +
                  " is damaged: it no longer has the hash " + version.content,
              "try another version: lockkeeper recover list " + shell_quote(version.path));
}

Result<std::uint64_t> Vault::bytes() const {
  std::uint64_t all = 0;
  LK_ASSIGN(const Listing listing, list());
  for (const Generation& generation : listing.generations) {
    LK_ASSIGN(const std::uint64_t one, weight_of(generation));
    all += one;
  }
  return all;
}

// Whole generations, the oldest first, but never the newest. They lose their name at once and their
// files little by little.
Result<void> Vault::sweep(const Listing& listing, std::int64_t now_wall_ms) {
  std::uint64_t all = 0;
  std::vector<std::uint64_t> weights;
  for (const Generation& generation : listing.generations) {
    LK_ASSIGN(const std::uint64_t one, weight_of(generation));
    weights.push_back(one);
    all += one;
  }
  std::vector<std::string> gone = listing.gone;
  for (std::size_t i = 0; i + 1 < listing.generations.size(); ++i) {
    const Generation& oldest = listing.generations[i];
    LK_ASSIGN(const std::int64_t last_ms, last_written_ms(oldest));
    if (all <= limits_.bytes && last_ms >= now_wall_ms - limits_.keep_ms) break;
    const std::string name = std::string(kGonePrefix) + oldest.name;
    LK_CHECK(folder_.rename(oldest.name, folder_, name));
    gone.push_back(name);
    all -= weights[i];
  }
  if (gone.empty()) return {};
  return remove_some(gone.front());
}

Result<void> Vault::remove_some(const std::string& gone) const {
  LK_ASSIGN(const std::optional<Folder> folder, folder_.folder_if_any(gone));
  if (!folder) return {};
  LK_ASSIGN(const std::vector<std::string> names, folder->names());
  for (std::size_t i = 0; i < names.size() && i < kRemovedAtOnce; ++i) {
    LK_CHECK(folder->remove(names[i]));
  }
  if (names.size() > kRemovedAtOnce) return {};
  return folder_.remove(gone);
}

}  // namespace lockkeeper::snapshot
