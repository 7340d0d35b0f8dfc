// The product's own history, judged: replayed, no two leases that conflict, each whole, fences
// growing, every grant ended once; and compared with what the workers wrote down: nothing that was
// acknowledged is missing, and nothing ended in a way that its holder did not bring about.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "chaos/ledger.h"

namespace lockkeeper::chaos {

// `events` as `log --json` has them. A lease of the crowd has its hold's name as its session and
// its scope's name as its task; leases of `outsider` are nobody's business. Empty: all is well.
//   I1 I2 I3   by replay
//   I5         a hold of the ledger ends by its own release, by its length, or by its death
//   I9 I11     each acknowledged fence is in one event; each grant ends once
std::vector<std::string> judge_history(const std::vector<nlohmann::json>& events,
                                       const Verdict& ledger, const std::string& outsider);

}  // namespace lockkeeper::chaos
