// What `recover` knows: every version that was kept, by file, and what was lost.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/context.h"
#include "cli/verbs/recover_git.h"
#include "snapshot/losses.h"
#include "snapshot/vault.h"
#include "snapshot/version.h"

namespace lockkeeper::cli {

// A worktree's root and a path from there.
using KeptFile = std::pair<std::string, std::string>;

struct KeptStash {
  snapshot::Version version;
  bool listed = false;  // does `git stash list` still have it?
};

class Recovery {
 public:
  // Reads the whole index. Nothing was ever kept: it is empty.
  static Result<Recovery> load(const realm::Realm& realm, const realm::Settings& settings);

  bool empty() const { return files_.empty() && stashes_.empty(); }
  const std::map<KeptFile, std::vector<snapshot::Version>>& files() const { return files_; }
  const std::vector<KeptStash>& stashes() const { return stashes_; }  // newest first
  std::size_t torn_bytes() const { return scanned_.torn_bytes; }
  // What was kept earlier may be gone; nullopt: nothing is.
  std::optional<std::int64_t> complete_since_ms() const { return complete_since_ms_; }

  // Oldest first; empty: there are none.
  const std::vector<snapshot::Version>& versions_of(const KeptFile& file) const;
  // What is on disk now.
  snapshot::Version on_disk(const KeptFile& file) const;
  // Of all files, newest first. What git has in a commit is not lost.
  std::vector<snapshot::Loss> losses();

  // A version by the beginning of its id. Without one, the newest content that was lost; unless
  // `only_lost`, else the newest that differs from what is on disk. not_found, also if only its
  // hash was kept; invalid_input if several begin so.
  Result<snapshot::Version> choose(const KeptFile& file, const std::string& id, bool only_lost);
  // Exactly what was kept.
  Result<std::string> content(const snapshot::Version& version) const;

 private:
  std::vector<snapshot::Loss> losses_among(const std::vector<KeptFile>& files);
  std::string none_lost_words(const KeptFile& file) const;
  Result<snapshot::Version> by_id(const KeptFile& file, const std::string& id) const;

  std::optional<snapshot::Vault> vault_;
  std::optional<CommittedContents> committed_;  // none: there is no git
  std::map<KeptFile, std::vector<snapshot::Version>> files_;
  std::vector<KeptStash> stashes_;
  snapshot::Scanned scanned_;
  std::optional<std::int64_t> complete_since_ms_;
};

// That no version of the file is there.
Error no_version(const KeptFile& file, const Recovery& recovery);

// What a word such as "src/a.c" or "src/a.c@1f2e3d" means.
struct Chosen {
  KeptFile file;
  std::string version = {};  // the beginning of an id; empty: not given
};
// The file as it is named, if one of that name was kept; otherwise without its "@VERSION".
Result<Chosen> chosen_file(const VerbContext& context, const OpenLocks& open,
                           const Recovery& recovery, const std::string& word);
// The word without "@VERSION", for finding its realm.
std::string file_in(const std::string& word);

}  // namespace lockkeeper::cli
