// The results of the workflow verbs, as JSON and as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/output.h"
#include "dialect/workflow/workflow.h"
#include "service/report.h"

namespace lockkeeper::cli {

// {"outcome","agent","file",…}: granted and renewed with the lease, refused with conflicts,
// overlaps and resolutions.
service::Json locked_json(const dialect::workflow::Locked& locked);
// "locked src/a.ts for frontend, ends in 1h" and where its file is.
std::string locked_text(const dialect::workflow::Locked& locked, std::int64_t now_wall_ms);
// The overlapping scopes and the numbered options, in the workflow protocol's form.
std::string conflict_text(const dialect::workflow::Locked& locked);

service::Json status_json(const dialect::workflow::Status& status, const std::string& output);
std::vector<Line> status_lines(const dialect::workflow::Status& status, std::size_t columns);

service::Json unlocked_json(const dialect::workflow::Unlocked& unlocked);
std::string unlocked_text(const dialect::workflow::Unlocked& unlocked);

}  // namespace lockkeeper::cli
