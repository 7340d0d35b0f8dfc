#include "snapshot/keeper.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace lockkeeper::snapshot {
namespace {

constexpr std::size_t kFilesAtOnce = 2'000;
constexpr std::uint64_t kBytesAtOnce = 64U << 20;
constexpr std::uint64_t kHashedBytesMax = 16U << 20;  // of what is not kept
constexpr const char* kStashPath = "refs/stash";

}  // namespace

Keeper::Keeper(Place place, Limits limits, std::string worktree, Secrecy secrecy)
    : place_(std::move(place)),
      limits_(limits),
      worktree_(std::move(worktree)),
      secrecy_(std::move(secrecy)),
      tree_(worktree_) {
  limits_.file_bytes = std::min(limits_.file_bytes, kFileBytesMost);
}

Result<Vault*> Keeper::vault() {
  if (!vault_) {
    LK_ASSIGN(Vault opened, Vault::open(place_, limits_));
    vault_ = std::move(opened);
  }
  return &*vault_;
}

Result<void> Keeper::load_recent() {
  if (loaded_) return {};
  loaded_ = true;
  LK_ASSIGN(Vault* const from, vault());
  LK_ASSIGN(std::vector<Version> versions, from->recent());
  for (Version& version : versions) {
    const bool stash = version.kind == Kind::kStash;
    if (!stash && version.worktree != worktree_) continue;
    std::string key = stash ? kStashPath + version.content : version.path;
    recent_.insert_or_assign(std::move(key), std::move(version));
  }
  return {};
}

Result<const Version*> Keeper::newest(const std::string& path) {
  LK_CHECK(load_recent());
  const auto found = recent_.find(path);
  return found == recent_.end() ? nullptr : &found->second;
}

Result<Seen> Keeper::add(Version version, std::optional<std::string_view> content,
                         std::int64_t now_wall_ms) {
  LK_ASSIGN(Vault* const into, vault());
  LK_CHECK(into->add(version, content, now_wall_ms));
  Seen seen{version.mark, version.content, true};
  std::string path = version.path;
  recent_.insert_or_assign(std::move(path), std::move(version));
  return seen;
}

// The content, if it is to be kept. Says in `version` what is known of it.
std::optional<std::string> Keeper::read_content(const std::string& path, const Entry& entry,
                                                Version& version) {
  version.size = entry.mark.size;
  const std::uint64_t limit = std::min(limits_.file_bytes, limits_.bytes / 4);
  version.content_is = secrecy_ ? secrecy_(path) : Content::kKept;
  if (version.content_is == Content::kKept && entry.mark.size > limit) {
    version.content_is = Content::kLarge;
  }
  if (version.content_is != Content::kKept) {
    version.content = tree_.hash(path, kHashedBytesMax);
    return std::nullopt;
  }
  std::optional<std::string> content = tree_.read(path, limit);
  if (!content) {
    version.content_is = Content::kUnread;
    return std::nullopt;
  }
  version.content = content_id(*content);
  version.size = content->size();
  return content;
}

Result<Seen> Keeper::keep(const std::string& path, const Keeping& how, std::int64_t now_wall_ms) {
  const Entry entry = tree_.look(path);
  if (entry.is == Entry::Is::kFolder || entry.is == Entry::Is::kOther) return Seen{entry.mark};
  LK_ASSIGN(const Version* const known, newest(path));
  // Whoever has just written it is to be known as its writer.
  const bool names_nobody =
      known != nullptr && (!how.writer.known() || known->writer == how.writer);
  if (names_nobody && known->mark.any() && known->mark == entry.mark) {
    return Seen{known->mark, known->content};
  }
  Version version;
  version.worktree = worktree_;
  version.path = path;
  version.writer = how.writer;
  version.by = how.by;
  version.why = how.why;
  version.mode = entry.mode;
  std::optional<std::string> content;
  if (entry.is == Entry::Is::kNothing) {
    version.kind = Kind::kGone;
  } else if (entry.is == Entry::Is::kSymlink) {
    version.kind = Kind::kSymlink;
    version.target = tree_.target(path).value_or("");
  } else {
    content = read_content(path, entry, version);
  }
  const bool settled = !is_young(entry.mark, now_wall_ms) && tree_.look(path).mark == entry.mark;
  if (settled) version.mark = entry.mark;
  Seen seen{entry.mark, version.content};
  if (names_nobody && same_state(*known, version)) return seen;
  LK_ASSIGN(const Seen added, add(std::move(version), content, now_wall_ms));
  seen.added = added.added;
  return seen;
}

Result<void> Keeper::keep_all(std::span<const std::string> paths, const Keeping& how,
                              std::int64_t now_wall_ms) {
  Result<void> result;
  std::size_t files = 0;
  std::uint64_t bytes = 0;
  const auto one = [&](const std::string& path) {
    if (files >= kFilesAtOnce || bytes >= kBytesAtOnce) return false;
    const auto seen = keep(path, how, now_wall_ms);
    if (!seen && result) result = fail(seen.error());
    ++files;
    if (seen && seen->added) bytes += seen->mark.size;
    return true;
  };
  bool all = true;
  for (const std::string& path : paths) {
    if (tree_.look(path).is != Entry::Is::kFolder) {
      all = one(path) && all;
      continue;
    }
    for (const std::string& file : tree_.below(path, kFilesAtOnce)) all = one(file) && all;
  }
  if (!all && result) {
    return fail(Code::kLimitExceeded, "only the first " + counted(files, "file") + " of " +
                                          shown_list(paths, 3) + " were kept");
  }
  return result;
}

Result<void> Keeper::keep_content(const std::string& path, std::string_view content,
                                  const Keeping& how, std::int64_t now_wall_ms) {
  Version version;
  version.worktree = worktree_;
  version.path = path;
  version.writer = how.writer;
  version.by = how.by;
  version.why = how.why;
  version.mode = tree_.look(path).mode;
  version.size = content.size();
  version.content = content_id(content);
  version.content_is = secrecy_ ? secrecy_(path) : Content::kKept;
  if (content.size() > std::min(limits_.file_bytes, limits_.bytes / 4)) {
    version.content_is = Content::kLarge;
  }
  const bool kept = version.content_is == Content::kKept;
  LK_CHECK(add(std::move(version), kept ? std::optional(content) : std::nullopt, now_wall_ms));
  return {};
}

bool Keeper::knows_stash(const std::string& commit) {
  return load_recent() && recent_.contains(kStashPath + commit);
}

Result<void> Keeper::keep_stash(const std::string& commit, const std::string& words,
                                const Who& writer, std::int64_t now_wall_ms) {
  Version version;
  version.worktree = worktree_;
  version.path = kStashPath + commit;
  version.kind = Kind::kStash;
  version.why = Why::kAfter;
  version.writer = writer;
  version.content = commit;
  version.target = words;
  LK_CHECK(add(std::move(version), std::nullopt, now_wall_ms));
  return {};
}

}  // namespace lockkeeper::snapshot
