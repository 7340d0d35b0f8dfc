// Which of the things that end by themselves a step's answer may depend on.
#pragma once

#include "linear/spec.h"

namespace lockkeeper::linear {

bool has(const sim::Entry& entry, int resource);

// The waiters that this lease lets pass somebody (rule 2). If it ends, they stand behind him.
std::vector<core::LeaseId> passing_by(const sim::Model& model, const sim::Entry& lease);

// May he be filed under it?
bool stood_under(const State& state, const sim::Entry& waiter, const Former& former);

// May his turn have come without anybody's commit?
bool is_late(const State& state, const sim::Entry& waiter);

// Could it matter to the step whether this lease, or this request in the queue, is over?
bool matters(const State& state, const Step& step, const sim::Entry& entry);

}  // namespace lockkeeper::linear
