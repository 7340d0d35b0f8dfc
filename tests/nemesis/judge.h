// The simple judge of a history that a nemesis was at work in. It asks nobody but the history, and
// knows no more of a lock table than what its users were promised:
//
//   I1  two conflicting leases were never surely held at one time. Surely held is a lease from the
//       moment when its holder was told until it began to give it back, until its process was
//       killed, or until its ttl had passed since it was asked for (I6).
//   I3  whoever asks after a grant was told gets a greater fence.
//   L4  a conflicting request that was made after another was known to be in the queue is not
//       granted before that one.
//   I9  what was asked again after `unknown` was told something definite, unless its process died
//       or was told to stop.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "linear/history.h"

namespace lockkeeper::nemesis {

struct Judged {
  std::size_t grants = 0;
  std::size_t conflicting = 0;     // pairs of leases that must not meet
  std::size_t in_queue_order = 0;  // pairs whose order in the queue was known
  std::uint64_t highest_fence = 0;
  std::uint64_t lowest_fence = 0;
  std::vector<std::string> violations;  // empty: all is well
};

// `text` is the history, with lines "# queued CALL TIME" where a caller knew that it was in the
// queue.
Judged judge(const std::string& text);

// What the linearizability checker can decide in time. A request without an answer is over once its
// repetition has been answered: whatever it was, it does nothing later. Renewals without an answer
// are left out, and so are the leases of kTimedFolder: how late those end depends on who leads.
linear::History settled(const std::string& text);

// The sessions that may still have a lease after all processes have ended: detached ones that were
// told of it and have not given it back, and those that never heard what became of a request. Any
// other lease would be one of which nobody knows (I9).
std::set<std::string> may_be_left(const std::string& text);

}  // namespace lockkeeper::nemesis
