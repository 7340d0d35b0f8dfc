// What has happened in a history: a run in which something never did tells nothing about it.
#pragma once

#include <map>
#include <string>

#include "linear/history.h"

namespace lockkeeper::linear {

inline constexpr const char* kAlwaysSeen[] = {
    "granted", "renewed", "held", "timeout", "deadlock", "queued", "released", "lost", "not_found",
    "broken", "current", "no answer",
    // Several processes in one lease.
    "kept", "a lease of another process renewed", "a lease without an answer met",
    // Request ids.
    "repeated and granted", "repeated and renewed", "repeated and lost", "misused",
    "repeated by another process",
    // Left behind.
    "held by what was left behind", "left behind and taken back", "left behind and ended",
    // Delegation, and parts of sessions.
    "granted under a lease", "lost under a lease", "lost what it took under a lease",
    "held by a sibling", "a part works in what its session holds", "deadlock of a part",
    "waited as a part"};

std::map<std::string, std::size_t> seen_in(const History& history);

}  // namespace lockkeeper::linear
