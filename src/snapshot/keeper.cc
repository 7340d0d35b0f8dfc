#include "snapshot/keeper.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace lockkeeper::snapshot {
namespace {

constexpr std::size_t kFilesAtOnce = 2'000;
constexpr std::uint64_t kBytesAtOnce = 64U << 20;
constexpr std::uint64_t kHashedBytesMax = 16U << 20;  // of what is not kept
constexpr std::size_t kMissesMax = 16;
constexpr std::uint32_t kUsualMode = 0644;
constexpr const char* kStashPath = "refs/stash";

}  // namespace

Keeper::Keeper(Place place, Limits limits, std::string worktree, Secrecy secrecy, std::string tree)
    : place_(std::move(place)),
      limits_(limits),
      worktree_(std::move(worktree)),
      tree_name_(std::move(tree)),
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

// A single file is looked for in the newest records alone: reading all of them takes longer than
// keeping it once more.
Result<void> Keeper::load(Reach reach) {
  if (loaded_ && *loaded_ >= reach) return {};
  loaded_ = reach;
  LK_ASSIGN(Vault* const from, vault());
  LK_ASSIGN(read_, from->recent(reach));
  recent_.clear();
  records_.clear();
  for (const std::string& records : read_) {
    each_record(records, [&](const Record& record) {
      look_at(record);
      return true;
    });
  }
  return {};
}

// Most are never asked for, and reading them whole took as long as keeping a file.
void Keeper::look_at(const Record& record) {
  const bool stash = record.kind == Kind::kStash;
  if (stash || record.content_is == Content::kSecret) {
    auto version = version_of(record);
    if (!version) return;
    if (!stash && version->size > 0) secrets_in_.insert_or_assign(version->content, version->path);
    if (stash) recent_.insert_or_assign(kStashPath + version->content, std::move(*version));
  }
  if (!stash && record.worktree == worktree_) records_.insert_or_assign(record.path, record);
}

bool Keeper::knows(const std::string& path) const {
  return recent_.contains(path) || records_.contains(path);
}

Result<const Version*> Keeper::newest(const std::string& path) {
  LK_CHECK(load(Reach::kLast));
  if (!knows(path) && loaded_ == Reach::kLast && ++misses_ > kMissesMax) {
    LK_CHECK(load(Reach::kNewest));
  }
  if (const auto found = recent_.find(path); found != recent_.end()) return &found->second;
  const auto record = records_.find(path);
  if (record == records_.end()) return nullptr;
  auto version = version_of(record->second);
  if (!version) return nullptr;
  return &recent_.insert_or_assign(path, std::move(*version)).first->second;
}

bool Keeper::is_within(Reach reach, std::int64_t kept_wall_ms) {
  if (!since_ms_.contains(reach)) {
    const auto from = vault();
    const auto since = from ? (*from)->within_since_ms(reach) : Result<std::int64_t>(0);
    since_ms_[reach] = since.value_or(0);
  }
  return kept_wall_ms >= since_ms_[reach];
}

// The cheapest question first: nearly always it is enough.
bool Keeper::is_safe(const std::string& path, std::int64_t kept_wall_ms) {
  if (is_within(Reach::kNewest, kept_wall_ms) || is_within(Reach::kSafe, kept_wall_ms)) return true;
  return !load(Reach::kSafe) || knows(path);
}

Result<Seen> Keeper::add(Version version, std::optional<std::string_view> content,
                         std::int64_t now_wall_ms) {
  LK_ASSIGN(Vault* const into, vault());
  LK_CHECK(into->add(version, content, now_wall_ms));
  Seen seen{version.mark, version.content, true};
  if (version.content_is == Content::kSecret && version.size > 0) {
    secrets_in_.insert_or_assign(version.content, version.path);
  }
  std::string path = version.path;
  recent_.insert_or_assign(std::move(path), std::move(version));
  return seen;
}

Content Keeper::content_is(const std::string& path, std::uint64_t size) const {
  const Content secrecy = secrecy_ ? secrecy_(path) : Content::kKept;
  const bool large = size > std::min(limits_.file_bytes, limits_.bytes / 4);
  return secrecy == Content::kKept && large ? Content::kLarge : secrecy;
}

// Was only its hash kept, and do the settings now allow more?
bool Keeper::would_keep(const Version& known, const std::string& path) const {
  return known.kind == Kind::kFile && known.content_is != Content::kKept &&
         content_is(path, known.size) == Content::kKept && !is_secrets(known.content);
}

// A copy of a secret under another name, such as a backup, is one as well.
bool Keeper::is_secrets(const std::string& content) const {
  const auto found = secrets_in_.find(content);
  return found != secrets_in_.end() && secrecy_ && secrecy_(found->second) == Content::kSecret;
}

// The content, if it is to be kept. Says in `version` what is known of it.
std::optional<std::string> Keeper::read_content(const std::string& path, const Entry& entry,
                                                Version& version) {
  version.size = entry.mark.size;
  version.content_is = content_is(path, entry.mark.size);
  if (version.content_is != Content::kKept) {
    version.content = tree_.hash(path, kHashedBytesMax);
    return std::nullopt;
  }
  std::optional<std::string> content =
      tree_.read(path, std::min(limits_.file_bytes, limits_.bytes / 4));
  if (!content) {
    version.content_is = Content::kUnread;
    return std::nullopt;
  }
  version.content = content_id(*content);
  version.size = content->size();
  if (!is_secrets(version.content)) return content;
  version.content_is = Content::kSecret;
  return std::nullopt;
}

Result<Seen> Keeper::keep(const std::string& path, const Keeping& how, std::int64_t now_wall_ms) {
  const Entry entry = tree_.look(path);
  if (entry.is == Entry::Is::kOther) return Seen{entry.mark};
  LK_ASSIGN(const Version* const known, newest(path));
  // A folder in a file's place: the file is gone.
  const bool folder = entry.is == Entry::Is::kFolder;
  if (folder && (known == nullptr || known->kind == Kind::kGone)) return Seen{entry.mark};
  // Whoever has just written it is to be known as its writer.
  const bool names_nobody = known != nullptr && !would_keep(*known, path) &&
                            (!how.writer.known() || how.if_changed || known->writer == how.writer);
  if (names_nobody && known->mark.any() && known->mark == entry.mark) {
    return Seen{known->mark, known->content};
  }
  Version version;
  version.worktree = worktree_;
  version.tree = tree_name_;
  version.path = path;
  version.writer = how.writer;
  version.by = how.by;
  version.why = how.why;
  version.mode = folder ? 0 : entry.mode;
  std::optional<std::string> content;
  if (folder || entry.is == Entry::Is::kNothing) {
    version.kind = Kind::kGone;
  } else if (entry.is == Entry::Is::kSymlink) {
    version.kind = Kind::kSymlink;
    version.target = tree_.target(path).value_or("");
  } else {
    content = read_content(path, entry, version);
  }
  const bool settled = !is_young(entry.mark, now_wall_ms) && tree_.look(path).mark == entry.mark;
  if (settled && !folder) version.mark = entry.mark;
  Seen seen{entry.mark, version.content};
  if (names_nobody && same_state(*known, version)) return seen;
  if (how.again && content) {
    LK_ASSIGN(Vault* const into, vault());
    LK_ASSIGN(const bool fits, into->fits(version.content, content->size()));
    if (!fits) return seen;
  }
  LK_ASSIGN(const Seen added, add(std::move(version), content, now_wall_ms));
  seen.added = added.added;
  return seen;
}

Result<void> Keeper::keep_all(std::span<const std::string> paths, const Keeping& how,
                              std::int64_t now_wall_ms, const std::function<bool()>& go_on) {
  Result<void> result;
  std::size_t files = 0;
  std::uint64_t bytes = 0;
  bool in_time = true;
  const auto one = [&](const std::string& path) {
    in_time = in_time && (!go_on || go_on());
    if (!in_time || files >= kFilesAtOnce || bytes >= kBytesAtOnce) return false;
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
    // One more than can be kept, so that it is noticed.
    for (const std::string& file : tree_.below(path, kFilesAtOnce + 1)) all = one(file) && all;
  }
  if (!all && result) {
    const std::string limit = in_time
                                  ? "one call keeps at most " + std::to_string(kFilesAtOnce) +
                                        " files and " + std::to_string(kBytesAtOnce >> 20U) + " MiB"
                                  : "keeping more would take too long";
    return fail(Code::kLimitExceeded, "only the first " + counted(files, "file") + " of " +
                                          shown_list(paths, 3) + " " +
                                          (files == 1 ? "was" : "were") + " kept: " + limit);
  }
  return result;
}

Result<void> Keeper::keep_content(const std::string& path, std::string_view content,
                                  const Keeping& how, std::int64_t now_wall_ms) {
  Version version;
  version.worktree = worktree_;
  version.tree = tree_name_;
  version.path = path;
  version.writer = how.writer;
  version.by = how.by;
  version.why = how.why;
  const Entry entry = tree_.look(path);
  version.mode = entry.is == Entry::Is::kFile ? entry.mode : kUsualMode;
  version.size = content.size();
  version.content = content_id(content);
  LK_CHECK(load(Reach::kLast));
  version.content_is = content_is(path, content.size());
  if (version.content_is == Content::kKept && is_secrets(version.content)) {
    version.content_is = Content::kSecret;
  }
  const bool kept = version.content_is == Content::kKept;
  LK_CHECK(add(std::move(version), kept ? std::optional(content) : std::nullopt, now_wall_ms));
  return {};
}

bool Keeper::knows_stash(const std::string& commit) {
  return load(Reach::kLast) && recent_.contains(kStashPath + commit);
}

Result<void> Keeper::keep_stash(const std::string& commit, const std::string& words,
                                const Who& writer, std::int64_t now_wall_ms) {
  Version version;
  version.worktree = worktree_;
  version.tree = tree_name_;
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
