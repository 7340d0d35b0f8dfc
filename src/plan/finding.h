// One thing that is wrong with a plan: what, where, and what to do.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "yaml/document.h"

namespace lockkeeper::plan {

enum class Severity { kError, kWarning };

struct Finding {
  std::string rule;  // "lock-key"; the names are listed in rules()
  Severity severity = Severity::kError;
  yaml::Place place;
  std::string package;                      // empty: about the whole file
  std::string message;                      // names the value
  std::string hint;                         // the corrected form, or what to do; may be empty
  std::string witness;                      // for an overlap: a name that both cover
  std::optional<bool> witness_exists = {};  // on disk; nullopt: cannot be told
};

// A package's or agent's name for a message: as it is if it is a plain word, else quoted and cut.
std::string shown_name(std::string_view name);

// Every rule, in the order of a report, with the problem that it finds.
struct Rule {
  const char* name;
  const char* summary;
  const char* of_agents = nullptr;  // the same about a scopes file; null: the summary will do

  const char* summary_for(bool scopes) const {
    return scopes && of_agents != nullptr ? of_agents : summary;
  }
};
const std::vector<Rule>& rules();

}  // namespace lockkeeper::plan
