#include "cli/verbs/recover_data.h"

#include <algorithm>
#include <filesystem>
#include <functional>

#include "base/text.h"
#include "git/ref_log.h"
#include "key/path.h"
#include "realm/resolve.h"
#include "snapshot/site/realm_keeper.h"
#include "snapshot/tree.h"

namespace lockkeeper::cli {
namespace {

using snapshot::Kind;
using snapshot::Version;

constexpr std::size_t kIdDigitsLeast = 4;

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
  LK_ASSIGN(recovery.scanned_, recovery.vault_->each([&](Version&& version) {
    if (version.kind == Kind::kStash) {
      recovery.stashes_.push_back({std::move(version)});
    } else {
      KeptFile file(version.worktree, version.path);
      recovery.files_[std::move(file)].push_back(std::move(version));
    }
    return true;
  }));
  for (auto& [file, versions] : recovery.files_) {
    std::ranges::stable_sort(versions, {}, &Version::at_wall_ms);
  }
  std::ranges::reverse(recovery.stashes_);
  mark_listed(recovery.stashes_, realm);
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

std::vector<snapshot::Loss> Recovery::losses() const {
  std::vector<snapshot::Loss> all;
  for (const auto& [file, versions] : files_) {
    Version now = on_disk(file);
    // When a file went away, nobody can tell.
    if (now.at_wall_ms == 0) now.at_wall_ms = versions.back().at_wall_ms;
    std::ranges::move(snapshot::losses_of(versions, now), std::back_inserter(all));
  }
  std::ranges::stable_sort(all, std::greater<>(), &snapshot::Loss::at_wall_ms);
  return all;
}

Result<Version> Recovery::choose(const KeptFile& file, const std::string& id) const {
  const std::vector<Version>& versions = versions_of(file);
  const std::string name = shown(file.second);
  const std::string list = "lockkeeper recover list " + shell_quote(file.second);
  if (versions.empty()) {
    return fail(Code::kNotFound, "no version of " + name + " was kept", "see: lockkeeper recover");
  }
  if (!id.empty()) {
    std::vector<Version> found;
    std::ranges::copy_if(versions, std::back_inserter(found),
                         [&](const Version& version) { return version.id.starts_with(id); });
    if (found.size() == 1) return found.front();
    if (found.empty()) {
      return fail(Code::kNotFound, name + " has no version " + quote(id), "see: " + list);
    }
    return fail(Code::kInvalidInput,
                std::to_string(found.size()) + " versions of " + name + " begin with " + quote(id),
                "write more of the id; see: " + list);
  }
  const Version now = on_disk(file);
  const auto losses = snapshot::losses_of(versions, now);
  for (auto loss = losses.rbegin(); loss != losses.rend(); ++loss) {
    if (is_kept(loss->version)) return loss->version;
  }
  for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
    if (is_kept(*version) && !same_state(*version, now)) return *version;
  }
  return fail(Code::kNotFound, "nothing that was kept of " + name + " differs from what is there",
              "see: " + list);
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
