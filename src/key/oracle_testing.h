// For tests only: what a resource covers, by a backtracking matcher over the pattern's text. It
// shares no code with the automata, and tries ALL names up to a small size.
#pragma once

#include <bitset>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "key/resource.h"

namespace lockkeeper::key {

using Strings = std::vector<std::string>;

constexpr std::size_t kNamesMax = 2048;
using Covered = std::bitset<kNamesMax>;

// A space of resources with few letters: the parts of its patterns, and its small names.
struct World {
  std::string prefix;  // "", "flag:", "event:"
  char separator;
  Strings atoms;
  std::vector<Strings> names;  // at most kNamesMax
};
World path_world();
World word_world(std::string prefix, char separator);

struct Entry {
  std::string given;
  Resource resource;
  Covered covered;  // which of the world's names
};

// nullopt: the text is refused. `problem` is set if the canonical form covers other names than the
// text does. REQUIRES: ASCII, beginning with the world's prefix.
std::optional<Entry> read_entry(const std::string& text, const World& world, std::string& problem);

// What is wrong with overlap()'s answer, or nothing. Both answers are checked: "no" against every
// small name, "yes" by its witness.
std::string pair_problem(const Entry& x, const Entry& y, const World& world, bool& overlapping);

// What is wrong with the answers of covers() and subsumes(), or nothing. `others`: resources that
// might overlap.
std::string inclusion_problem(const Entry& outer, const Entry& inner,
                              const std::vector<Entry>& others);

}  // namespace lockkeeper::key
