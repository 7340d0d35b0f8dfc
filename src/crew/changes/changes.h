// What an agent changed: the tree before it started compared with the tree after it ended.
#pragma once

#include <string>
#include <vector>

#include "crew/changes/tree_scan.h"
#include "crew/record/record.h"
#include "key/resource.h"

namespace lockkeeper::crew {

// What an agent may change.
struct WriteScope {
  std::string agent;
  std::vector<key::Resource> writes;
  std::vector<key::Resource> denies;
  bool fold_case = false;  // the realm's rule, by which the resources were made
};
// A name that cannot be a resource (not UTF-8, or with a line break) is judged by its folder.
bool may_write(const WriteScope& scope, const std::string& path);

// Every difference, ordered by path; crew/verdict.h decides whose it is. failed if git answered for
// only one of the two trees: they cannot be compared.
Result<std::vector<Change>> changes_between(const Tree& before, const Tree& after,
                                            const std::string& root);

}  // namespace lockkeeper::crew
