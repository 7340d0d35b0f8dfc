// What a plan's job means for a run: its locks, its session, its record, its supervisor's orders.
#pragma once

#include <string>
#include <vector>

#include "crew/orders.h"
#include "crew/record/record.h"
#include "plan/plan_file.h"
#include "service/locks.h"

namespace lockkeeper::crew {

// The job's locks as the service reads them, from the realm's root. Never empty: an agent without
// locks of its own holds `task:ID`.
std::vector<std::string> lock_texts(const plan::Job& job);

// Are the job's locks free now? Sessions that begin with `but` do not count.
bool is_free(service::Locks& locks, const plan::Job& job, const std::string& but = "");

// The session of an agent: the run's, then the agent's name. Each attempt adds its number, so that
// an earlier attempt's leftovers exclude a later attempt.
std::string session_for(const std::string& run_session, const std::string& id, std::size_t number);

// The branch of an agent's worktree: "lk/RUN/AGENT", with what git does not allow in a name written
// as its code. REQUIRES: `run` is a name of ours.
std::string branch_for(const std::string& run, const std::string& id);
// Of the commit with an agent's work.
std::string commit_message(const plan::Job& job, const std::string& run, const std::string& plan);

// One record for each job, in the plan's order: the known one, or a new one.
std::vector<AgentRecord> records_for(const plan::Plan& plan, std::vector<AgentRecord> known);

// The orders as far as the plan decides; session, folder and limits are the foreman's.
Orders orders_of(const plan::Job& job);

}  // namespace lockkeeper::crew
