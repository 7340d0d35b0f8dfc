// What a new worktree gets besides what git has: copies of `.env` files, links to caches, as
// [worktrees] of the settings says. Nothing follows a symlink, and nothing that is there is
// replaced.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "git/call.h"

namespace lockkeeper::crew {

inline constexpr std::size_t kCopiedFilesMax = 100'000;
inline constexpr std::uint64_t kCopiedBytesMax = 4ULL << 30;

struct Patterns {
  std::vector<std::string> copy;  // realm::matches_ignore_patterns()
  std::vector<std::string> link;
};

struct Provided {
  struct Copy {
    std::string path;    // from the root; a folder ends in '/'
    std::string digest;  // of a file as it was copied
  };
  std::vector<Copy> copies;
  std::vector<Copy> inside;           // the files in the folders among them
  std::vector<std::string> links;     // from the root, without '/' at the end
  std::vector<std::string> left_out;  // sentences
};

nlohmann::ordered_json provided_json(const Provided& provided);
// Throws if it is not what the function above wrote.
Provided provided_from(const nlohmann::ordered_json& json);

// Copies and links what git does not have in `checkout` into `tree` (both absolute). limit_exceeded
// beyond the limits above; no_space.
Result<Provided> provide(const std::string& checkout, const std::string& tree,
                         const Patterns& patterns, const git::GoOn& go_on);

// What somebody has made of it, as paths from the root. All of that would be lost with the
// worktree.
struct Touched {
  std::vector<std::string> changed;   // copies that are not as they were
  std::vector<std::string> added;     // files in a copied folder that were not copied
  std::vector<std::string> replaced;  // something else is there instead of the link
};
Result<Touched> touched(const std::string& tree, const Provided& provided);

// Files and folders that git does not have, ignored or not. A folder without anything of git's is
// one entry, which ends in '/'.
Result<std::set<std::string>> unknown_to_git(const std::string& root);

// Removes the links and copies. REQUIRES: touched() has nothing that must stay.
Result<void> take_back(const std::string& tree, const Provided& provided);

// For git: exactly what was provided, or is in a folder that was.
std::vector<std::string> pathspecs_of(const Provided& provided);
bool covers(const Provided& provided, const std::string& path);  // the same for one path
// The provided files and links, without the folders.
std::set<std::string> files_of(const Provided& provided);

}  // namespace lockkeeper::crew
