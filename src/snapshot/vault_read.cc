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
constexpr std::uint64_t kNewestBytes = 4U << 20;
constexpr std::uint64_t kIndexBytesMost = 64U << 20;  // of one generation; ours end far below
constexpr std::size_t kRemovedAtOnce = 64;
constexpr std::string_view kGonePrefix = "gone-";
constexpr std::size_t kNewestGenerations = 2;
// Large files have one each. With fewer, a file that was just kept would be taken for a new one.
constexpr std::size_t kReadGenerations = 8;
constexpr std::size_t kGenerationsMost = 64;

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

// The oldest generation of those.
Result<std::size_t> Vault::first_within(Reach reach, const Listing& listing) const {
  const std::vector<Generation>& all = listing.generations;
  if (reach != Reach::kSafe) return all.size() - std::min(all.size(), kNewestGenerations);
  std::uint64_t bytes = 0;
  std::size_t first = all.size();
  while (first > 0) {
    const Generation& older = all[first - 1];
    LK_ASSIGN(const Weight weight, weight_of(older));
    bytes += weight.all();
    const std::int64_t younger_ms = (all.back().begun_s - older.begun_s) * 1000;
    const bool soon = bytes > bytes_at_rest() / 8 * 7 || younger_ms > limits_.keep_ms / 2;
    if (soon && first < all.size()) break;
    --first;
  }
  return first;
}

Result<std::vector<std::string>> Vault::recent(Reach reach) const {
  LK_ASSIGN(const Listing listing, list());
  std::size_t first = listing.generations.size();
  first -= std::min(first, kReadGenerations);
  std::uint64_t left = reach == Reach::kLast ? kRecentBytes : kNewestBytes;
  if (reach == Reach::kSafe) {
    LK_ASSIGN(first, first_within(reach, listing));
    left = kIndexBytesMost;
  }
  std::vector<std::string> indexes;
  for (std::size_t i = listing.generations.size(); i > first && left > 0; --i) {
    LK_ASSIGN(const std::optional<Folder> folder,
              folder_.folder_if_any(listing.generations[i - 1].name));
    if (!folder) continue;  // removed meanwhile
    LK_ASSIGN(std::string bytes, end_of_index(*folder, left));
    left -= bytes.size();
    indexes.push_back(std::move(bytes));
  }
  std::ranges::reverse(indexes);
  return indexes;
}

Result<std::int64_t> Vault::within_since_ms(Reach reach) const {
  LK_ASSIGN(const Listing listing, list());
  LK_ASSIGN(const std::size_t first, first_within(reach, listing));
  return first == 0 ? 0 : (listing.generations[first].begun_s + 1) * 1000;
}

Result<std::optional<std::int64_t>> Vault::complete_since_ms() const {
  LK_ASSIGN(const Listing listing, list());
  if (listing.generations.empty()) return std::nullopt;
  const Generation& oldest = listing.generations.front();
  if (oldest.number <= 1) return std::nullopt;
  return oldest.begun_s * 1000;
}

Result<bool> Vault::fits(const std::string& content_id, std::uint64_t size) const {
  LK_ASSIGN(const Listing listing, list());
  for (const Generation& generation : listing.generations) {
    LK_ASSIGN(const std::optional<Folder> folder, folder_.folder_if_any(generation.name));
    if (!folder) continue;
    LK_ASSIGN(const bool kept, folder->has(content_id));
    if (kept) return true;
  }
  LK_ASSIGN(const std::uint64_t all, bytes());
  return all + size <= bytes_at_rest();
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
  // It may have moved to a generation that was not there a moment ago.
  for (int tries = 0; tries < 2; ++tries) {
    LK_ASSIGN(const Listing listing, list());
    for (const Generation& generation : listing.generations) {
      auto content = read_in(generation.name, version, damaged);
      if (!content) {
        damaged = true;  // one that cannot be read is as good as damaged; another may be whole
      } else if (*content) {
        return std::move(**content);
      }
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
    LK_ASSIGN(const Weight one, weight_of(generation));
    all += one.all();
  }
  return all;
}

// Whole generations, the oldest first, but never the newest. They lose their name at once and their
// files little by little.
Result<void> Vault::sweep(const Listing& listing, std::int64_t now_wall_ms) {
  std::uint64_t all = 0;
  std::vector<Weight> weights;
  for (const Generation& generation : listing.generations) {
    LK_ASSIGN(const Weight one, weight_of(generation));
    weights.push_back(one);
    all += one.all();
  }
  std::vector<std::string> gone = listing.gone;
  for (std::size_t i = 0; i + 1 < listing.generations.size(); ++i) {
    const Generation& oldest = listing.generations[i];
    LK_ASSIGN(const std::int64_t last_ms, last_written_ms(oldest));
    const bool many = listing.generations.size() - i > kGenerationsMost;
    const bool empty = many && weights[i].contents == 0;  // its contents have moved
    if (all <= bytes_at_rest() && last_ms >= now_wall_ms - limits_.keep_ms && !empty) break;
    const std::string name = std::string(kGonePrefix) + oldest.name;
    LK_CHECK(folder_.rename(oldest.name, folder_, name));
    gone.push_back(name);
    all -= weights[i].all();
  }
  return remove_some(gone);
}

Result<void> Vault::remove_some(const std::vector<std::string>& gone) const {
  std::size_t left = kRemovedAtOnce;
  for (const std::string& name : gone) {
    LK_ASSIGN(const std::optional<Folder> folder, folder_.folder_if_any(name));
    if (!folder) continue;
    LK_ASSIGN(const std::vector<std::string> files, folder->names());
    for (const std::string& file : files) {
      if (left == 0) return {};
      LK_CHECK(folder->remove(file));
      --left;
    }
    LK_CHECK(folder_.remove(name));
  }
  return {};
}

}  // namespace lockkeeper::snapshot
