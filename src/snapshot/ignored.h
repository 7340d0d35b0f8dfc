// Does git ignore a file? As .gitignore files and .git/info/exclude say; a file that is tracked all
// the same counts as ignored here, and the user's own list for all repositories is not read.
//
// REQUIRES: one thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/tree.h"

namespace lockkeeper::snapshot {

// A line of such a file.
struct IgnoreRule {
  std::vector<std::string> parts;  // between slashes; "**" stands for any number of names
  bool anchored = false;           // from the folder of its file; else at any depth below it
  bool folders_only = false;
  bool not_ignored = false;  // "!…"
};

std::vector<IgnoreRule> ignore_rules(std::string_view text);

class Ignored {
 public:
  // `exclude`: the text of info/exclude. `tree` must outlive it.
  Ignored(Tree& tree, std::string_view exclude) : tree_(tree), exclude_(ignore_rules(exclude)) {}

  bool ignores(std::string_view path);

 private:
  const std::vector<IgnoreRule>& rules_in(const std::string& folder);
  bool decided(std::string_view path, bool folder, bool& ignored);

  Tree& tree_;
  const std::vector<IgnoreRule> exclude_;
  std::map<std::string, std::vector<IgnoreRule>> rules_;  // by folder
};

}  // namespace lockkeeper::snapshot
