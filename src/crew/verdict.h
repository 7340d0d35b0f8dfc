// What to make of an attempt that has ended: whose the changes are, whether it is tried again, what
// to say of it.
#pragma once

#include <string>
#include <vector>

#include "crew/changes/changes.h"
#include "crew/record/record.h"
#include "plan/plan_file.h"

namespace lockkeeper::crew {

WriteScope scope_of(const plan::Job& job, bool fold_case);

// Was the agent at work at some time during the attempt?
bool worked_between(const AgentRecord& agent, const Attempt& attempt);

// The attempt's changes are all that changed while it ran. Those in nobody's scope are marked, with
// everybody who may have made them; those in the scope of others who were at work are theirs, and
// go.
void attribute(Attempt& attempt, const WriteScope& mine, const std::vector<WriteScope>& others);

// An attempt that succeeded and changed what is outside its scope has strayed.
void insist_on_scope(Attempt& attempt);

// Whether an agent whose last attempt did not succeed gets another: `retries` more after the first.
// Attempts that are forgiven do not count, nor do those that somebody stopped. A command that
// cannot be started is not tried again: it would not be there the next time either.
bool may_try_again(const AgentRecord& agent, std::int64_t retries);

// What else a person should know: changes outside the scope, processes left behind, a cut log.
std::vector<std::string> notes_on(const Attempt& attempt);

}  // namespace lockkeeper::crew
