// The doctor's part about a store on etcd: its members, its space and alarms, how long a commit
// takes, and what the hub of this machine has seen of it.
#pragma once

#include <string>

#include "cli/context.h"
#include "cli/verbs/check_list.h"
#include "realm/environment.h"

namespace lockkeeper::app {

// Its rows are audited by nobody: hubs write. Begins a new epoch if `how` says so.
void check_etcd(const std::string& url, const realm::Environment& env, cli::Repair how,
                cli::CheckList& list);

// The same, without repairs, of each store that a hub on this machine serves now.
void check_served_etcd(const realm::Environment& env, cli::CheckList& list);

}  // namespace lockkeeper::app
