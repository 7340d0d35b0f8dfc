#include "plan/dependencies.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "plan/finding.h"
#include "plan/graph.h"

namespace lockkeeper::plan {
namespace {

// "a needs b needs c needs a"; the middle of a long cycle is left out.
std::string cycle_text(const std::vector<Dependent>& all, const std::vector<std::size_t>& cycle) {
  constexpr std::size_t kShown = 12;
  std::string text;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    if (cycle.size() > kShown && i == kShown - 1) {
      text += "… (" + std::to_string(cycle.size() - kShown) + " more) needs ";
      i = cycle.size() - 1;
    }
    text += shown_name(all[cycle[i]].id.text) + " needs ";
  }
  return text + shown_name(all[cycle.front()].id.text);
}

// By name; the first of equal names.
std::map<std::string_view, std::size_t> check_ids(const std::vector<Dependent>& all,
                                                  const AddDependencyFinding& add) {
  std::map<std::string_view, std::size_t> numbers;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Name& id = all[i].id;
    if (id.text.empty()) continue;
    const auto [first, fresh] = numbers.emplace(id.text, i);
    if (fresh) continue;
    add("duplicate-id", i, id.place,
        "the name " + quote(id.text) + " is already used in line " +
            std::to_string(all[first->second].id.place.line),
        "give each package its own name");
  }
  return numbers;
}

}  // namespace

std::vector<std::vector<std::size_t>> read_dependencies(const std::vector<Dependent>& all,
                                                        const AddDependencyFinding& add) {
  constexpr std::size_t kGuesses = 50;  // each compares every name
  std::size_t guesses = 0;
  const std::map<std::string_view, std::size_t> numbers = check_ids(all, add);
  std::vector<std::string_view> known;
  for (const auto& [id, number] : numbers) known.push_back(id);
  std::vector<std::vector<std::size_t>> needs(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::set<std::string_view> seen;
    for (const Name& need : *all[i].needs) {
      if (!seen.insert(need.text).second) continue;
      if (const auto found = numbers.find(need.text); found != numbers.end()) {
        needs[i].push_back(found->second);
        continue;
      }
      const auto guess = ++guesses > kGuesses ? std::nullopt : nearest(need.text, known);
      add("depends-on", i, need.place,
          shown_name(all[i].id.text) + " depends on " + quote(need.text) +
              ", which is not in the plan",
          guess ? "did you mean " + *guess + "?" : "name one that is in the plan, or remove it");
    }
  }
  for (const std::vector<std::size_t>& cycle : Graph(needs).cycles()) {
    add("cycle", cycle.front(), all[cycle.front()].id.place,
        "these can never start: " + cycle_text(all, cycle), "remove one of the dependencies");
  }
  return needs;
}

}  // namespace lockkeeper::plan
