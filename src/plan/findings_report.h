// Findings for people, programs and code hosts.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "plan/validate.h"

namespace lockkeeper::plan {

// One file that was checked.
struct FileReport {
  std::string file;  // as named
  Validated result;
};

// {"rule","severity","line","column","package","message","hint"}, and for an overlap "witness" and
// "witness_exists".
Json finding_json(const Finding& finding);
// {"file","kind","valid","packages","locks","keys","errors","warnings","findings":[…]}
Json findings_json(const FileReport& report);
// SARIF 2.1.0, all files in one run.
Json sarif_json(const std::vector<FileReport>& reports, const std::string& version);

}  // namespace lockkeeper::plan
