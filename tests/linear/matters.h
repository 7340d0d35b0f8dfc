// Which of the things that end by themselves a step's answer may depend on.
#pragma once

#include "linear/spec.h"

namespace lockkeeper::linear {

bool has(const sim::Entry& entry, int resource);

// The waiters that this lease lets pass somebody (rule 2). If it ends, they stand behind him.
std::vector<core::LeaseId> passing_by(const sim::Model& model, const sim::Entry& lease);

// Does this waiter pass somebody?
bool passes(const sim::Model& model, const sim::Entry& waiter);

// May the step pass him only as long as he waits? Once he is served, his lease is in its way, or on
// its side.
bool may_pass(const Part& part, const State& state, const Step& step, const sim::Entry& waiter);

// May he be filed under it?
bool stood_under(const State& state, const sim::Entry& waiter, const Former& former);

// May his turn have come without anybody's commit?
bool is_late(const State& state, const sim::Entry& waiter);

// Could it matter to the step whether this lease, or this request in the queue, is over?
bool matters(const Part& part, const State& state, const Step& step, const core::LeaseId& id);

}  // namespace lockkeeper::linear
