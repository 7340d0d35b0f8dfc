#include "cli/verbs/recover_data.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <ranges>

#include "base/clock.h"
#include "base/text.h"
#include "git/ref_log.h"
#include "key/path.h"
#include "realm/resolve.h"
#include "service/report.h"
#include "snapshot/site/realm_keeper.h"
#include "snapshot/tree.h"

namespace lockkeeper::cli {
namespace {

using snapshot::Kind;
using snapshot::Version;

constexpr std::size_t kIdDigitsLeast = 4;
constexpr std::size_t kShownDigits = 8;

// "src/a.c" and "1f2e3d" of "src/a.c@1f2e3d".
std::optional<std::pair<std::string, std::string>> split_version(const std::string& word) {
  const std::size_t sign = word.rfind('@');
  if (sign == std::string::npos || sign == 0) return std::nullopt;
  const std::string id = lowered(word.substr(sign + 1));
  const bool digits = id.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!digits || id.size() < kIdDigitsLeast || id.size() > 16) return std::nullopt;
  return std::pair(word.substr(0, sign), id);
}

void mark_listed(std::vector<KeptStash>& stashes, const realm::Realm& realm) {
  const auto entries = git::newest_log_entries(git::stash_log(realm.common_dir));
  for (KeptStash& stash : stashes) {
    stash.listed = std::ranges::any_of(
        entries, [&](const git::LogEntry& entry) { return entry.commit == stash.version.content; });
  }
}

bool is_kept(const Version& version) {
  const bool file = version.kind == Kind::kFile;
  return version.kind == Kind::kSymlink || (file && version.content_is == snapshot::Content::kKept);
}

std::string_view why_only_hash(snapshot::Content content) {
  switch (content) {
    case snapshot::Content::kKept:
      break;
    case snapshot::Content::kLarge:
      return "it is larger than snapshots.file allows";
    case snapshot::Content::kSecret:
      return "snapshots.only_hash names it, or a file with the same content";
    case snapshot::Content::kIgnored:
      return "git ignores it";
    case snapshot::Content::kUnread:
      return "it could not be read";
  }
  return "";
}

// Which there are instead.
std::string versions_hint(const KeptFile& file, const std::vector<Version>& versions) {
  const std::string name = shell_quote(file.second);
  if (versions.empty()) return "see: lockkeeper recover list " + name;
  std::vector<std::string> ids;
  for (const Version& version : versions) ids.push_back(version.id.substr(0, kShownDigits));
  return "name a version, as in " + name + "@" + ids.front() + "; kept are " + shown_list(ids, 5);
}

std::string absolute_path(const VerbContext& context, const std::string& text) {
  const auto here = context.wanted({});
  const std::filesystem::path base = here ? here->base.folder : "/";
  return (base / text).lexically_normal().string();
}

}  // namespace

Result<Recovery> Recovery::load(const realm::Realm& realm, const realm::Settings& settings) {
  Recovery recovery;
  LK_ASSIGN(recovery.vault_, snapshot::Vault::find(snapshot::place_of(realm, settings)));
  if (!recovery.vault_) return recovery;
  const snapshot::Worktrees trees(realm);
  // In the order in which they were kept: clocks may have been set back since.
  LK_ASSIGN(recovery.scanned_, recovery.vault_->each([&](Version&& version) {
    version.worktree = trees.root_of(version);
    if (version.kind == Kind::kStash) {
      recovery.stashes_.push_back({std::move(version)});
    } else {
      KeptFile file(version.worktree, version.path);
      recovery.files_[std::move(file)].push_back(std::move(version));
    }
    return true;
  }));
  LK_ASSIGN(recovery.complete_since_ms_, recovery.vault_->complete_since_ms());
  std::ranges::reverse(recovery.stashes_);
  mark_listed(recovery.stashes_, realm);
  if (realm.in_git) recovery.committed_ = CommittedContents(realm.root);
  return recovery;
}

const std::vector<Version>& Recovery::versions_of(const KeptFile& file) const {
  static const std::vector<Version> kNone;
  const auto found = files_.find(file);
  return found == files_.end() ? kNone : found->second;
}

Version Recovery::on_disk(const KeptFile& file) const {
  snapshot::Tree tree(file.first);
  const snapshot::Entry entry = tree.look(file.second);
  Version now;
  now.worktree = file.first;
  now.path = file.second;
  now.mode = entry.mode;
  now.mark = entry.mark;
  now.size = entry.mark.size;
  now.at_wall_ms = entry.mark.changed_ns / 1'000'000;
  using Is = snapshot::Entry::Is;
  if (entry.is == Is::kSymlink) {
    now.kind = Kind::kSymlink;
    now.target = tree.target(file.second).value_or("");
  } else if (entry.is == Is::kOther && !entry.mark.any() && !versions_of(file).empty()) {
    return versions_of(file).back();  // it cannot be seen, so nobody can say that it has changed
  } else if (entry.is != Is::kFile) {
    now.kind = Kind::kGone;
  } else {
    const std::vector<Version>& versions = versions_of(file);
    const bool known =
        !versions.empty() && versions.back().mark.any() && versions.back().mark == entry.mark;
    now.content =
        known ? versions.back().content : tree.hash(file.second, snapshot::kFileBytesMost);
  }
  return now;
}

std::vector<snapshot::Loss> Recovery::losses() {
  std::vector<KeptFile> files;
  for (const auto& [file, versions] : files_) files.push_back(file);
  std::vector<snapshot::Loss> all = losses_among(files);
  std::ranges::stable_sort(all, std::greater<>(), &snapshot::Loss::at_wall_ms);
  return all;
}

std::vector<snapshot::Loss> Recovery::losses_among(const std::vector<KeptFile>& files) {
  std::vector<snapshot::Loss> all;
  for (const KeptFile& file : files) {
    const std::vector<Version>& versions = versions_of(file);
    if (versions.empty()) continue;
    Version now = on_disk(file);
    // When a file went away, nobody can tell.
    if (now.at_wall_ms == 0) now.at_wall_ms = versions.back().at_wall_ms;
    std::ranges::move(snapshot::losses_of(versions, now), std::back_inserter(all));
  }
  if (committed_) committed_->without(all);
  return all;
}

Result<Version> Recovery::by_id(const KeptFile& file, const std::string& id) const {
  const std::string name = shown(file.second);
  const std::string list = "see: lockkeeper recover list " + shell_quote(file.second);
  std::vector<Version> found;
  for (const Version& version : versions_of(file)) {
    // Two with one id are the same in everything.
    const bool again = std::ranges::find(found, version.id, &Version::id) != found.end();
    if (version.id.starts_with(id) && !again) found.push_back(version);
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) return fail(Code::kNotFound, name + " has no version " + quote(id), list);
  return fail(Code::kInvalidInput,
              std::to_string(found.size()) + " versions of " + name + " begin with " + quote(id),
              "write more of the id; " + list);
}

Error no_version(const KeptFile& file, const Recovery& recovery) {
  const auto since_ms = recovery.complete_since_ms();
  const std::string name = shown(file.second);
  const std::string words = since_ms ? "no version of " + name + " is kept; those from before " +
                                           format_time(*since_ms) + " are no longer kept"
                                     : "no version of " + name + " was kept";
  return {Code::kNotFound, words, "see: lockkeeper recover"};
}

// REQUIRES: some version of it
std::string Recovery::none_lost_words(const KeptFile& file) const {
  const std::string name = shown(file.second);
  const Version& last = versions_of(file).back();
  if (!complete_since_ms_) {
    const bool removed = last.kind == Kind::kGone && last.writer.known();
    if (!removed) return "nothing of " + name + " was lost";
    // Under another name it may be lost all the same.
    return name + " was removed or renamed by " +
           service::owner_text({last.writer.agent, last.writer.session}) +
           ", and nothing else of it was lost";
  }
  const std::string before =
      " from before " + format_time(*complete_since_ms_) + " are no longer kept";
  // Something must have been there before it went.
  const Version& first = versions_of(file).front();
  if (first.kind == Kind::kGone && first.why != snapshot::Why::kBefore) {
    return "what was lost of " + name + " is no longer kept: versions" + before;
  }
  return "nothing of " + name + " that is still kept was lost; versions" + before;
}

Result<Version> Recovery::choose(const KeptFile& file, const std::string& id, bool only_lost) {
  const std::vector<Version>& versions = versions_of(file);
  const std::string name = shown(file.second);
  if (versions.empty()) return fail(no_version(file, *this));
  if (!id.empty()) return by_id(file, id);
  const Version now = on_disk(file);
  const auto losses = losses_among({file});
  std::vector<Version> others;  // that differ from what is there, the newest first
  for (const Version& version : versions | std::views::reverse) {
    const bool differs = version.kind != Kind::kGone && !same_state(version, now);
    const bool again = std::ranges::any_of(
        others, [&](const Version& other) { return same_state(other, version); });
    if (differs && !again) others.push_back(version);
  }
  if (losses.empty() && only_lost) {
    return fail(Code::kNotFound, none_lost_words(file), versions_hint(file, others));
  }
  if (losses.empty() && others.empty()) {
    return fail(Code::kNotFound, "nothing that was kept of " + name + " differs from what is there",
                "see: lockkeeper recover list " + shell_quote(file.second));
  }
  Version chosen = losses.empty() ? others.front() : losses.back().version;
  if (is_kept(chosen)) return chosen;
  // Something older in its place would look like the same.
  std::erase_if(others, [](const Version& version) { return !is_kept(version); });
  return fail(Code::kNotFound,
              "of " + name + " as it was last, only the hash " + chosen.content +
                  " was kept: " + std::string(why_only_hash(chosen.content_is)),
              versions_hint(file, others));
}

Result<std::string> Recovery::content(const Version& version) const {
  if (version.kind == Kind::kGone) {
    return fail(Code::kNotFound,
                shown(version.path) + "@" + version.id + " says that there was no such file");
  }
  if (version.kind != Kind::kFile) return std::string();
  return vault_->content(version);
}

std::string file_in(const std::string& word) {
  const auto split = split_version(word);
  return split ? split->first : word;
}

Result<Chosen> chosen_file(const VerbContext& context, const OpenLocks& open,
                           const Recovery& recovery, const std::string& word) {
  const realm::Realm& realm = open.site.realm();
  // A worktree that is gone has no realm that could say where its files are.
  const auto by_name = [&](const std::string& text) -> std::optional<KeptFile> {
    const std::string absolute = absolute_path(context, text);
    for (const auto& [file, versions] : recovery.files()) {
      if (file.first + "/" + file.second == absolute) return file;
    }
    return std::nullopt;
  };
  if (auto whole = by_name(word)) return Chosen{std::move(*whole)};
  const auto split = split_version(word);
  const std::string text = split ? split->first : word;
  Chosen chosen;
  if (split) chosen.version = split->second;
  if (auto file = by_name(text)) {
    chosen.file = std::move(*file);
    return chosen;
  }
  LK_ASSIGN(const service::Wanted here, context.wanted({}));
  realm::Resolver resolver(realm, open.site.key_rules(), here.base, context.runtime().env);
  LK_ASSIGN(const std::vector<key::Parsed> all, resolver.resolve_all(text, key::Syntax::kLiteral));
  chosen.file = {realm.root, std::string(key::path_body(all.front().resource.text()))};
  return chosen;
}

}  // namespace lockkeeper::cli
