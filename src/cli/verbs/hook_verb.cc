// `hook CLIENT`: what a coding agent starts before and after its tool calls. `hook report`: what
// was refused, or would have been.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/fd.h"
#include "base/parse.h"
#include "base/text.h"
#include "cli/verbs/git_arming.h"
#include "cli/verbs/log_view.h"
#include "cli/verbs/verbs.h"
#include "enforce/hook/hook.h"
#include "guard/arming.h"
#include "guard/bypass.h"
#include "guard/guard.h"
#include "host/last_word.h"
#include "host/pipes.h"
#include "host/process.h"
#include "host/signals.h"
#include "install/git_pieces.h"
#include "install/machine.h"
#include "realm/identity.h"

namespace lockkeeper::cli {
namespace {

// Below half of the shortest limit of the clients, after which most of them let the call pass.
constexpr int kHookAnswersWithinMs = 12'000;

std::string read_payload(std::FILE* in) {
  std::string payload;
  char buffer[65536];
  while (payload.size() <= enforce::kPayloadBytesMax) {
    const std::size_t n = std::fread(buffer, 1, sizeof buffer, in);
    if (n == 0) break;
    payload.append(buffer, n);
  }
  return payload;
}

// Claude Code says which process it is. Others are the nearest one that is not only a shell.
std::optional<int> hook_client_pid(const realm::Environment& env) {
  const auto named = realm::variable(env, "CLAUDE_PID");
  const auto pid = named ? number_in<int>(*named) : std::nullopt;
  if (pid && *pid > 0 && host::is_ancestor(*pid)) return pid;
  return host::find_client();
}

// Every client reads what a hook says. The kernel closes the files of a process before it gives its
// children to another one, so a parent that was found first and still has a reader beside it is the
// client.
void find_hook_client(const realm::Environment& env, enforce::hook::World& world) {
  world.client_pid = hook_client_pid(env);
  world.client_gone = host::has_no_reader(STDOUT_FILENO);
  if (world.client_gone) world.client_pid.reset();
}

host::LastWord as_last_word(const enforce::Said& said) {
  return {said.out, said.err, said.exit_code};
}

// Another tool has taken the place of our git hooks.
std::string git_guard_news(const VerbContext& context, const std::string& cwd) {
  const auto realm = realm::realm_of(cwd, context.runtime().env);
  if (!realm || !realm->in_git || realm->bare) return {};
  const auto machine = install::look_at_machine(context.runtime().env, realm->root);
  const std::string trouble = machine ? install::git_guard_trouble(*machine) : std::string();
  if (trouble.empty()) return {};
  return "lockkeeper: the commit guard of this repository is not at work: " + trouble +
         ". Tell the user: lockkeeper install git";
}

enforce::hook::World hook_world(const VerbContext& context, enforce::Client client) {
  const CliEnvironment& environment = context.environment();
  enforce::hook::World world;
  world.runtime = &context.runtime();
  world.client = client;
  world.cwd = environment.cwd;
  if (world.cwd.empty()) world.cwd = realm::current_folder().value_or("/");
  find_hook_client(context.runtime().env, world);
  if (client == enforce::Client::kGemini && !world.client_gone) {
    const auto process = host::client_process();
    if (process && *process) world.process_session = realm::process_session(**process);
  }
  world.table_possible = environment.table_possible;
  world.at_start = [&context, cwd = world.cwd] { return git_guard_news(context, cwd); };
  world.after_git = [&context](const core::Owner& who, const std::string& worktree) {
    guard::World git;
    git.runtime = &context.runtime();
    git.party = guard::Party{.owner = who};
    guard::after_command(git, worktree);
  };
  return world;
}

constexpr std::size_t kEnvFileBytesMax = 1U << 20;

// Claude Code names a file at the start of a session whose lines its shells run first: from then on
// their git runs our hooks. A session without them is not guarded in git, and works all the same.
void arm_shells(const VerbContext& context, const std::string& cwd) {
  const realm::Environment& env = context.runtime().env;
  const auto file = realm::variable(env, "CLAUDE_ENV_FILE");
  if (!file || !file->starts_with('/')) return;
  const std::string home = realm::variable(env, "CLAUDE_PROJECT_DIR").value_or(cwd);
  const auto realm = realm::realm_of(home, env);
  if (!realm || !realm->in_git || realm->bare) return;
  guard::note_start(*realm, env);
  const auto variables = guard::arming(env, realm->root, context.environment().program);
  if (!variables) return;
  const auto& make_front = context.runtime().git_front;
  const std::string front = make_front ? make_front(false).value_or("") : std::string();
  const std::string lines =
      guard::arming_lines(*variables, front, read_file(*file, kEnvFileBytesMax).value_or(""));
  const Fd fd(::open(file->c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (fd) static_cast<void>(write_all(fd.get(), lines));
}

int say_to_client(const CliEnvironment& environment, const enforce::Said& said) {
  std::fputs(said.out.c_str(), environment.out);
  std::fputs(said.err.c_str(), environment.err);
  return said.exit_code;
}

Result<int> run_hook(VerbContext& context, enforce::Client client) {
  bool wake = false;
  if (client == enforce::Client::kClaude) {
    context.arguments().flag("--wake", wake,
                             "wait until a refused file is free, then wake the agent\n"
                             "(only with [hook] wake = true)");
  }
  if (const auto status = context.parse()) return *status;
  const CliEnvironment& environment = context.environment();
  enforce::hook::World world = hook_world(context, client);
  if (wake) {
    const host::SignalWatch signals;
    const auto sleep_ms = [&](int ms) {
      signals.sleep_ms(ms);
      return signals.signal() == 0 && (!world.client_pid || host::is_ancestor(*world.client_pid));
    };
    const std::string payload = read_payload(environment.in);
    return say_to_client(environment, enforce::hook::answer_wake(world, payload, sleep_ms));
  }
  const auto late = enforce::refuse_unread(
      client, "", "lockkeeper got no payload in time. Run: lockkeeper doctor");
  host::arm_last_word(as_last_word(late), kHookAnswersWithinMs);
  const std::string payload = read_payload(environment.in);
  if (client == enforce::Client::kClaude) arm_shells(context, world.cwd);
  world.on_last_word = [](const enforce::Said& said) {
    host::arm_last_word(as_last_word(said), kHookAnswersWithinMs);
  };
  const enforce::Said said = enforce::hook::answer_hook(world, payload);
  host::disarm_last_word();
  return say_to_client(environment, said);
}

template <enforce::Client kClient>
Result<int> hook_of(VerbContext& context) {
  return run_hook(context, kClient);
}

// What one agent met in one file of another's.
struct Meeting {
  std::string file;
  std::string agent;
  std::string other;
  std::map<std::string, std::size_t> counts;  // by what became of it
  std::int64_t last_wall_ms = 0;
};

// In the order of the columns.
constexpr std::string_view kBecame[] = {"refused", "warned", "asked", "overwrote", "changed"};

bool is_of_hooks(const core::Event& event) {
  const bool known = std::ranges::find(kBecame, event.what) != std::end(kBecame);
  return known &&
         (event.cause == "edit" || event.cause == "command" || event.cause == "unattributed");
}

std::vector<Meeting> meetings_of(const std::vector<core::Event>& events) {
  std::map<std::tuple<std::string, std::string, std::string>, Meeting> meetings;
  for (const core::Event& event : events) {
    if (!is_of_hooks(event)) continue;
    for (const std::string& file : event.resources) {
      Meeting& one = meetings[{file, event.owner.agent, event.by.agent}];
      one.file = file;
      one.agent = event.owner.agent;
      one.other = event.by.agent;
      ++one.counts[event.what];
      one.last_wall_ms = std::max(one.last_wall_ms, event.at_wall_ms);
    }
  }
  std::vector<Meeting> sorted;
  for (auto& [key, one] : meetings) sorted.push_back(std::move(one));
  std::ranges::stable_sort(sorted, std::greater<>(), &Meeting::last_wall_ms);
  return sorted;
}

service::Json report_json(const std::vector<Meeting>& meetings) {
  service::Json json = service::Json::object();
  std::map<std::string_view, std::size_t> totals;
  service::Json files = service::Json::array();
  for (const Meeting& one : meetings) {
    service::Json row = {{"resource", one.file}, {"agent", one.agent}, {"by", one.other}};
    for (const std::string_view what : kBecame) {
      const auto found = one.counts.find(std::string(what));
      const std::size_t count = found == one.counts.end() ? 0 : found->second;
      row[std::string(what)] = count;
      totals[what] += count;
    }
    row["last"] = format_time(one.last_wall_ms);
    files.push_back(std::move(row));
  }
  for (const std::string_view what : kBecame) json[std::string(what)] = totals[what];
  json["files"] = std::move(files);
  return json;
}

std::string times_text(std::size_t count) {
  return count == 1 ? "once" : std::to_string(count) + " times";
}

std::string other_text(const Meeting& one) {
  if (one.other.empty()) return "somebody unknown";
  return (one.other == one.agent ? "another " : "") + shown(one.other);
}

// One line for what was tried, and one for what was done to somebody's work.
std::vector<std::string> meeting_lines(const Meeting& one) {
  const auto count = [&](std::string_view what) {
    const auto found = one.counts.find(std::string(what));
    return found == one.counts.end() ? 0 : found->second;
  };
  std::vector<std::string> lines;
  std::vector<std::string> tried;
  for (const std::string_view what : {"refused", "warned", "asked"}) {
    if (count(what) > 0) tried.push_back(std::to_string(count(what)) + " " + std::string(what));
  }
  if (!tried.empty()) {
    lines.push_back("calls by " + shown(one.agent) + " while " + other_text(one) +
                    " was working on it: " + join(tried, ", "));
  }
  if (count("overwrote") > 0) {
    lines.push_back("changed by " + shown(one.agent) + " over the work of " + other_text(one) +
                    " " + times_text(count("overwrote")));
  }
  if (count("changed") > 0) {
    lines.push_back((one.other.empty() ? "" : "written by " + shown(one.other) + ", then ") +
                    "changed by somebody unknown " + times_text(count("changed")));
  }
  return lines;
}

void show_report(Output& out, const std::vector<Meeting>& meetings) {
  if (meetings.empty()) {
    out.text("no edit or command was refused, and nobody's work was overwritten");
    return;
  }
  for (const Meeting& one : meetings) {
    for (const std::string& line : meeting_lines(one)) out.text(shown(one.file) + ": " + line);
  }
}

Result<int> hook_report(VerbContext& context) {
  std::optional<std::string> since;
  context.arguments().value("--since", since, "TIME",
                            "10m for 10 minutes ago, or a time; default: all");
  if (const auto status = context.parse()) return *status;
  service::LogCommand command;
  if (since) LK_CHECK(read_since(*since, context.now_wall_ms(), command));
  context.allow_bad_settings();
  LK_ASSIGN(auto open, context.open(std::vector<std::string>()));
  LK_ASSIGN(const auto events, open->locks.log(command));
  const std::vector<Meeting> meetings = meetings_of(events);
  context.out().object(report_json(meetings));
  show_report(context.out(), meetings);
  return 0;
}

constexpr Verb kHookVerbs[] = {
    {"report", "What was refused, or would have been under another policy",
     "  lockkeeper hook report\n"
     "  lockkeeper hook report --since 1d --json\n",
     hook_report, Does::kLook},
    {"claude", "Answer a hook of Claude Code: its payload on stdin",
     "  lockkeeper install claude      # writes the hooks that start this\n",
     hook_of<enforce::Client::kClaude>},
    {"codex", "Answer a hook of Codex",
     "  lockkeeper install codex       # writes the hooks that start this\n",
     hook_of<enforce::Client::kCodex>},
    {"gemini", "Answer a hook of Gemini CLI",
     "  lockkeeper install gemini      # writes the hooks that start this\n",
     hook_of<enforce::Client::kGemini>},
    {"copilot", "Answer a hook of GitHub Copilot CLI",
     "  lockkeeper install copilot     # writes the hooks that start this\n",
     hook_of<enforce::Client::kCopilot>},
    {"opencode", "Answer our plugin for opencode",
     "  lockkeeper install opencode    # writes the plugin that starts this\n",
     hook_of<enforce::Client::kOpencode>},
    {"cursor", "Answer a hook of Cursor (experimental)",
     "  lockkeeper install cursor      # writes the hooks that start this\n",
     hook_of<enforce::Client::kCursor>},
};

}  // namespace

std::span<const Verb> hook_subcommands() {
  return kHookVerbs;
}

}  // namespace lockkeeper::cli
