// Peers side by side.
#pragma once

#include <vector>

#include "bench/peers/peer.h"
#include "bench/report.h"

namespace lockkeeper::bench {

// The makers' results: those that are there, the others named as skipped in the answer.
std::vector<std::unique_ptr<Peer>> present(std::vector<Made> made, Answer& answer);

Row row_of(const Peer& peer, Samples samples);

// A row for each peer, one client each, taking turns.
void compare(const Setup& setup, const std::vector<std::unique_ptr<Peer>>& peers, Answer& answer);

// The same with several processes for each.
void compare_crowds(const Setup& setup, const std::vector<std::unique_ptr<Peer>>& peers,
                    int processes, Answer& answer);

}  // namespace lockkeeper::bench
