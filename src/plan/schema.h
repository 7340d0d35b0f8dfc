// Does a file have the structure of work packages? By a JSON Schema of our own (schemas/), so that
// editors and other tools can use the same one.
#pragma once

#include <string_view>
#include <vector>

#include "plan/document.h"
#include "plan/finding.h"

namespace lockkeeper::plan {

// The schema's text, as shipped.
std::string_view work_packages_schema();

// One finding of rule `schema` for each value that breaks it, at that value.
std::vector<Finding> check_structure(const Node& root);

}  // namespace lockkeeper::plan
