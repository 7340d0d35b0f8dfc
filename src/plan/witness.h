// A name that two resources both cover, as people should read it: one that is on disk, if there is
// one. Otherwise it is made up, and is only an example.
//
// Thread safety: none; for one report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "key/resource.h"
#include "plan/resolutions.h"

namespace lockkeeper::plan {

struct Witness {
  std::string name;
  bool made_up = false;        // neither resource names it, and it is not known to be on disk
  std::optional<bool> exists;  // nullopt: cannot be told, or it is not a path
};

class WitnessFinder {
 public:
  // `children`: what is on disk; empty: nothing is known about it.
  explicit WitnessFinder(Children children) : children_(std::move(children)) {}

  // `common`: a name that both cover (key::overlap). The answer is not covered by `denied`, unless
  // `common` is. Looks at a limited number of names, in total and for each question.
  Witness find(const key::Resource& a, const key::Resource& b, const std::string& common,
               const std::vector<key::Resource>& denied = {});

 private:
  std::optional<bool> exists(const std::string& path) const;
  std::optional<std::string> search(const key::Resource& a, const key::Resource& b,
                                    const std::vector<key::Resource>& denied);

  Children children_;
  std::size_t looked_at_ = 0;
};

// After "both include": ` "src/a.py"`, or `, for example, "src/a.py", which does not exist yet`.
std::string included_text(const Witness& witness);

}  // namespace lockkeeper::plan
