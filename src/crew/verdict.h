// Judges an attempt that has ended: whose the changes are, whether the agent may try again, what a
// person should know.
#pragma once

#include <string>
#include <vector>

#include "crew/changes/changes.h"
#include "crew/record/record.h"
#include "crew/report/report_parts.h"
#include "plan/plan_file.h"

namespace lockkeeper::crew {

WriteScope scope_of(const plan::Job& job, bool fold_case);

// Was the agent at work at any time during the attempt?
bool worked_between(const AgentRecord& agent, const Attempt& attempt);

// Before: the attempt lists everything that changed while it ran. After: without changes in the
// scope of `others` who were at work; changes in nobody's scope are marked, with all who may have
// made them.
void attribute(Attempt& attempt, const WriteScope& mine, const std::vector<WriteScope>& others);

// Fails an attempt that succeeded while files outside every scope were changed.
void insist_on_scope(Attempt& attempt);

// May an agent whose last attempt failed try again? `retries` times after the first attempt.
// Forgiven and stopped attempts do not count. A command that was not found is not tried again.
bool may_try_again(const AgentRecord& agent, std::int64_t retries);

// Notes for people: changes outside every scope, processes left behind, a cut log.
std::vector<std::string> notes_on(const Attempt& attempt, const Suspects& suspects);

}  // namespace lockkeeper::crew
