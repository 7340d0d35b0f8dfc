// What is wrong with a plan: one thing, where it stands, and what to do.
#pragma once

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
  std::string package;  // empty: of the file as a whole
  std::string message;  // names the value
  std::string hint;     // the corrected form, or the next step; may be empty
  std::string witness;  // of an overlap: a name that both cover
};

// A package's or agent's name for a message: as it is, or in quotes and cut if it is no plain word.
std::string shown_name(std::string_view name);

// Every rule by name, in the order of a report, with one sentence on what it is for.
struct Rule {
  const char* name;
  const char* summary;
};
const std::vector<Rule>& rules();

}  // namespace lockkeeper::plan
