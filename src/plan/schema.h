// Does a file have the structure of work packages? Checked by the JSON Schema in schemas/, which
// editors and other tools can use, too.
//
// The check runs on the document itself, so that each finding has its line. Of draft 7 it supports
// what our schemas use: type, enum, required,
// properties, additionalProperties, items, minItems, maxItems, uniqueItems (of plain values),
// minLength, maxLength, pattern, minimum, maximum, allOf, anyOf, $ref to definitions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "plan/finding.h"
#include "yaml/document.h"

namespace lockkeeper::plan {

// The schema's text, as shipped.
std::string_view work_packages_schema();
// A valid file with comments, to start from.
std::string_view work_packages_example();

// One finding of rule `schema` for each wrong value; all that an object lacks is one finding. At
// most kStructureFindingsMax.
std::vector<Finding> check_structure(const yaml::Node& root);
// Only the unknown keys among them.
std::vector<Finding> unknown_keys(const yaml::Node& root);
// All of them, by any schema that uses only these keywords.
std::vector<Finding> check_structure(const yaml::Node& root, const nlohmann::json& schema);

inline constexpr std::size_t kStructureFindingsMax = 1'000;

}  // namespace lockkeeper::plan
