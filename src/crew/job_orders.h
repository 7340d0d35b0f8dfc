// What a plan says of a job, as orders for its supervisor.
#pragma once

#include <string>
#include <vector>

#include "crew/orders.h"
#include "crew/record/record.h"
#include "plan/plan_file.h"
#include "service/locks.h"

namespace lockkeeper::crew {

// The job's locks as the service reads them, from the realm's root. Never empty: nobody runs
// unlocked, and who names nothing that can be locked holds `task:ID`.
std::vector<std::string> lock_texts(const plan::Job& job);

// Could it have its locks at this moment, but for sessions that begin with `but`?
bool is_free(service::Locks& locks, const plan::Job& job, const std::string& but = "");

// Under which an agent asks: the run's own session, then the agent's name; each attempt adds its
// number. So what an earlier attempt left behind excludes a later one.
std::string session_for(const std::string& run_session, const std::string& id, std::size_t number);

// One record for each job, in the plan's order: the known one, else a new one.
std::vector<AgentRecord> records_for(const plan::Plan& plan, std::vector<AgentRecord> known);

// All that the plan alone decides; session, folder, limits are the foreman's.
Orders orders_of(const plan::Job& job);

}  // namespace lockkeeper::crew
