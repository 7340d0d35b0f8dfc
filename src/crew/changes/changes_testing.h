// For tests only: what changed while a function ran, as short strings.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "crew/changes/changes.h"
#include "realm/test_repository.h"

namespace lockkeeper::crew {

using Words = std::vector<std::string>;

inline Tree tree_of(const std::string& root, const Words& leave_out = {}) {
  Result<Tree> tree = scan_tree(root, leave_out);
  EXPECT_TRUE(tree) << tree.error().message;
  return tree ? *tree : Tree{};
}

// "added a.txt", "modified b.txt", …
inline Words words_of(const Result<std::vector<Change>>& changes) {
  EXPECT_TRUE(changes) << changes.error().message;
  Words words;
  if (!changes) return words;
  for (const Change& change : *changes) {
    words.push_back(std::string(change_name(change.kind)) + " " + change.path);
  }
  return words;
}

inline Words changes_during(const std::string& root, const std::function<void()>& work,
                            const Words& leave_out = {}) {
  const Tree before = tree_of(root, leave_out);
  work();
  const Tree after = tree_of(root, leave_out);
  return words_of(changes_between(before, after, root));
}

}  // namespace lockkeeper::crew
