// The names in a plan, and what each waits for, as numbers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plan/model.h"

namespace lockkeeper::plan {

// A package or an agent.
struct Dependent {
  Name id;  // an empty one is ignored
  const std::vector<Name>* needs = nullptr;
};

// `number`: the dependent that the finding is about.
using AddDependencyFinding =
    std::function<void(const char* rule, std::size_t number, yaml::Place place, std::string message,
                       std::string hint)>;

// What each needs, by number, each once and in the order of the file. Checks the rules
// duplicate-id, depends-on and cycle.
std::vector<std::vector<std::size_t>> read_dependencies(const std::vector<Dependent>& all,
                                                        const AddDependencyFinding& add);

}  // namespace lockkeeper::plan
