// The rules of the settings that are tables of their own: [[protect]], [[policy]], [[layout]].
// Plain data; those of hooks are in realm/hook_settings.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "key/resource.h"
#include "realm/setting.h"

namespace lockkeeper::realm {

// Only `agents` may lock what overlaps `paths`.
struct ProtectRule {
  std::vector<key::Resource> paths;
  std::vector<std::string> agents;  // empty: nobody
  std::string reason;               // may be empty
  Origin origin;
};

// A path or key as the program reads it. In namespaces without globs: a text in which `*` stands
// for any characters and `?` for one.
struct PolicyPattern {
  std::string text;
  std::optional<key::Resource> resource;  // none: `text` is matched against the whole key
};

// What some agents may lock; realm/policy.h says how the rules work together.
struct PolicyRule {
  std::vector<std::string> agents;  // names, with `*` and `?`; empty: everybody
  bool lists = false;               // allow or prefixes is there: nothing else may be locked
  std::vector<PolicyPattern> allow;
  std::vector<std::string> prefixes;
  std::vector<PolicyPattern> deny;
  std::string reason;  // may be empty
  Origin origin;
};

// [[layout]]: files in which we see another tool's locks (layout/layout.h).
struct LayoutSetting {
  std::string kind;
  std::string root;  // relative: from the realm's root
  std::string mode;  // off read both
  std::map<std::string, std::string> options;
  Origin origin;
  bool of_repository = false;  // from the file that comes with the repository, whoever wrote that
};

}  // namespace lockkeeper::realm
