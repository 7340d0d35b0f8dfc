// A hook of a coding agent: the payload in, the answer out. Before an edit its files are claimed,
// all or none, or the call is refused. After a call, what became of it is reported. See
// docs/agents.md for what people see of it, and core rule 16 for what a claim is.
//
// It fails closed: whatever keeps it from judging an edit refuses the edit. Where no table can
// exist, it lets everything pass and creates nothing.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "enforce/answer.h"
#include "service/runtime.h"

namespace lockkeeper::enforce::hook {

// The session of a call that nobody makes: `doctor` only wants to see it refused. What it meets is
// not recorded.
inline constexpr std::string_view kProofSession = "lockkeeper-proof-";

struct World {
  const service::Runtime* runtime = nullptr;  // must outlive the call
  Client client = Client::kClaude;            // the one that the hook was installed for
  std::string cwd;                            // absolute
  std::optional<int> client_pid;              // its claims end with it; nullopt: not known
  // The client has ended. Whoever stands in its place as our parent is a stranger: nothing may be
  // claimed that would last as long as that one.
  bool client_gone = false;
  // The session of commands that know the client by its process alone. Empty: not known.
  std::string process_session = {};
  // Can this repository have a table? The error says why not. Empty: it can.
  std::function<Result<void>(const realm::Realm&)> table_possible = {};
  // What else the agent should know when its session starts, in a line. Empty: nothing.
  std::function<std::string()> at_start = {};
  // After a command that names git, once it is on record who ran it: the session, and its worktree.
  std::function<void(const core::Owner&, const std::string& worktree)> after_git = {};
  // Called before anything is opened, with what to say if this process must end without an answer.
  std::function<void(const Said&)> on_last_word = {};
};

// Throws nothing that the standard library does not.
Said answer_hook(const World& world, std::string_view payload);

// Whether judge_git() has anything to judge. Nothing is opened, and nobody is asked for.
bool is_git_to_judge(std::span<const std::string> words);
// One call of git that no hook tells of: `words` are those after "git". `identities`: the names
// that its caller has, at least one.
Answer judge_git(const World& world, const std::vector<core::Owner>& identities,
                 std::span<const std::string> words);

// A second hook at the end of a turn, which the client does not wait for: once a file is free that
// this owner was refused in the turn, its answer wakes the agent. Sleeps through `sleep_ms`, which
// says false if it should give up. Exits at once unless the settings have hook.wake.
Said answer_wake(const World& world, std::string_view payload,
                 const std::function<bool(int ms)>& sleep_ms);

}  // namespace lockkeeper::enforce::hook
