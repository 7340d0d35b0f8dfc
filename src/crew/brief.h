// What an agent is told before it starts: its boundaries as a text for its prompt, and its command
// line with the blanks filled in.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/plan_file.h"
#include "service/locks.h"

namespace lockkeeper::crew {

// Somebody else who has something in the realm right now.
struct Neighbour {
  std::string agent;
  std::vector<std::string> resources;
  std::string what;  // "works on this plan too", "reason …"
};

// Who holds something under no session that begins with `ours`; a hundred at most. Nobody where the
// table cannot be read: this is for telling, not for deciding.
std::vector<Neighbour> neighbours_outside(service::Locks& locks, const std::string& ours);

// What it may change, what it may read, who holds the rest, and how to ask for more.
std::string scope_text(const plan::Job& job, const std::string& realm_root,
                       const std::vector<Neighbour>& neighbours);

// The blanks of a command line, by name ("scope"), each also a variable of its environment.
struct Blank {
  const char* name;
  const char* variable;
};
const std::vector<Blank>& blanks();

// `{scope}` and the other blanks filled in. Several words: as they are. One word is a line for the
// shell: there a blank becomes its variable, quoted as its surroundings ask, so that no text of a
// plan is ever read as a command. Braces that are no blank stay.
std::vector<std::string> filled_command(const std::vector<std::string>& command,
                                        const std::map<std::string, std::string>& values);

// An environment variable or argument can be so long; longer texts end in a line that says where
// the rest is.
inline constexpr std::size_t kVariableBytesMax = 100'000;
std::string cut_text(const std::string& text, const std::string& whole_in);

}  // namespace lockkeeper::crew
