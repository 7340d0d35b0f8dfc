// What an agent gets before it starts: its scope as text for its prompt, and its command line with
// the placeholders filled in.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/placeholders.h"
#include "plan/plan_file.h"
#include "service/locks.h"

namespace lockkeeper::crew {

// Another agent that holds something in the realm right now.
struct Neighbour {
  std::string agent;
  std::vector<std::string> resources;
  std::string reason;
  bool in_plan = false;  // one of this plan's agents
};

// The holders whose session does not begin with `ours`; a hundred at most. Empty if the table
// cannot be read: the list is information, no decision depends on it.
std::vector<Neighbour> neighbours_outside(service::Locks& locks, const std::string& ours);

// What the agent may change and read, who holds the rest, and how to ask for more. `branch`: of its
// own worktree at `root`; empty: it has none.
std::string scope_text(const plan::Job& job, const std::string& root,
                       const std::vector<Neighbour>& neighbours, const std::string& branch = "");

using plan::Placeholder;
using plan::placeholders;

// The command with its placeholders filled in. In a line for the shell a placeholder becomes its
// variable, quoted to fit its surroundings, so that no text of a plan is read as a command. Other
// braces stay.
std::vector<std::string> filled_command(const plan::Command& command,
                                        const std::map<std::string, std::string>& values);

// The longest environment variable or argument. A longer text is cut and ends in a line that says
// where the rest is.
inline constexpr std::size_t kVariableBytesMax = 100'000;
std::string cut_text(const std::string& text, const std::string& whole_in);

}  // namespace lockkeeper::crew
