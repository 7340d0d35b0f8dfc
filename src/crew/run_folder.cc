#include "crew/run_folder.h"

#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "crew/orders.h"
#include "crew/record/record_json.h"
#include "crew/record/run_list.h"
#include "host/file_ops.h"

namespace lockkeeper::crew {
namespace {

constexpr std::size_t kSmallFile = 4096;

Error at_work(const Folder& output, const std::string& who) {
  const std::string by = who.empty() ? "" : " (process " + who + ")";
  return {Code::kHeld, "another workflow run is using " + quote(output.path()) + by,
          "wait until it ends, or use another folder: --output DIR"};
}

// The file holds the foreman's process number, for the message to a second foreman.
Result<Fd> lock_run(const Folder& output) {
  LK_ASSIGN(std::optional<Fd> lock, host::try_lock(output, kRunLockName));
  if (!lock) {
    const auto who = output.read(kRunLockName, kSmallFile);
    std::string text = who && *who ? **who : "";
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return fail(at_work(output, text));
  }
  const std::string own = std::to_string(::getpid()) + "\n";
  if (::ftruncate(lock->get(), 0) != 0 || !write_all(lock->get(), own)) {
    return fail(errno_error(errno, output.path_of(kRunLockName), Code::kFailed));
  }
  return std::move(*lock);
}

// A supervisor may outlive its foreman; the folder that it writes to must not be moved.
Result<void> nobody_at_work(const Folder& output, const RunRecord& record) {
  LK_ASSIGN(const auto agents, output.existing(kAgentsName));
  if (!agents) return {};
  for (const AgentRecord& agent : record.agents) {
    if (!has_open_attempt(agent)) continue;
    LK_ASSIGN(const auto attempt, attempt_folder(*agents, agent.id, agent.attempts.back().number));
    if (!attempt) continue;
    LK_ASSIGN(const bool alive, host::is_locked(*attempt, kAliveName));
    if (alive) {
      return fail(Code::kHeld, quote(agent.id) + " of the previous run is still working",
                  "to go on with it, add --resume; to give it up, end its lock, which stops it: "
                  "lockkeeper list, then lockkeeper break --lease ID --reason TEXT");
    }
  }
  return {};
}

Result<void> move_aside(const Folder& output, const std::string& run) {
  LK_ASSIGN(const Folder earlier, output.folder("earlier"));
  std::string name = file_name_for(run);
  for (int i = 2;; ++i) {
    LK_ASSIGN(const bool taken, earlier.has(name));
    if (!taken) break;
    name = file_name_for(run) + "." + std::to_string(i);
  }
  LK_ASSIGN(const Folder aside, earlier.folder(name));
  // The journal last: the run exists while its journal does.
  for (const char* const each :
       {"report.md", "report.json", "timeline.svg", kAgentsName, kJournalName}) {
    LK_ASSIGN(const bool there, output.has(each));
    if (there) {
      LK_CHECK(output.rename(each, aside, each));
    }
  }
  return {};
}

Error unfinished(const Folder& output) {
  return {Code::kFailed, "the run in " + quote(output.path()) + " has not finished",
          "resume it with --resume, or start again with --restart (the old run is kept under "
          "earlier/)"};
}

bool same_realm(const RunState& before, const RunState& fresh) {
  return before.record.realm == json_text(fresh.record.realm);
}

// What a resume would run again; nothing if the plan or the realm is another.
std::vector<std::string> agents_to_repeat(const RunState& before, const RunState& fresh) {
  std::vector<std::string> names;
  const bool same = before.head.plan_digest == fresh.head.plan_digest && same_realm(before, fresh);
  for (const AgentRecord& agent : before.record.agents) {
    const bool over = agent.standing == Standing::kDone && !is_unmerged(agent.tree);
    if (same && !over) names.push_back(agent.id);
  }
  return names;
}

Result<RunState> resumed(const Folder& output, const RunState& fresh) {
  LK_ASSIGN(RunState state, Journal::read(output));
  if (state.head.plan_digest != fresh.head.plan_digest) {
    return fail(Code::kInvalidInput,
                quote(fresh.record.plan) + " has changed since the run in " + quote(output.path()) +
                    " started",
                "restore it, or start again: --restart instead of --resume");
  }
  if (!same_realm(state, fresh)) {
    return fail(Code::kInvalidInput,
                "the run in " + quote(output.path()) + " belongs to " + quote(state.record.realm) +
                    ", not to " + quote(fresh.record.realm),
                "run it there: --realm " + shell_quote(state.record.realm));
  }
  return state;
}

}  // namespace

Result<OpenRun> open_run(const std::string& output, Beginning beginning, const RunState& fresh) {
  LK_ASSIGN(Folder folder, open_run_files(output));
  LK_ASSIGN(Fd lock, lock_run(folder));
  if (beginning == Beginning::kResume) {
    LK_ASSIGN(RunState state, resumed(folder, fresh));
    LK_ASSIGN(Journal journal, Journal::go_on(folder));
    return OpenRun{std::move(folder), std::move(lock), std::move(journal), std::move(state)};
  }
  LK_ASSIGN(const bool there, folder.has(kJournalName));
  std::vector<std::string> not_resumed;
  std::string trees_before;
  if (there) {
    auto before = Journal::read(folder);
    const bool readable = before.has_value();
    if (beginning != Beginning::kRestart) {
      if (!readable && before.error().code != Code::kNotFound) {
        return fail(std::move(before.error()));
      }
      if (readable && before->record.ended_ms == 0) return fail(unfinished(folder));
    }
    if (readable) {
      LK_CHECK(nobody_at_work(folder, before->record));
    }
    if (readable && beginning == Beginning::kFresh) not_resumed = agents_to_repeat(*before, fresh);
    if (readable && ::access(before->record.trees.folder.c_str(), F_OK) == 0) {
      trees_before = before->record.trees.folder;
    }
    LK_CHECK(move_aside(folder, readable ? before->record.id : "unreadable"));
  }
  LK_ASSIGN(Journal journal, Journal::begin(folder, fresh));
  return OpenRun{std::move(folder),      std::move(lock),        std::move(journal), fresh,
                 std::move(not_resumed), std::move(trees_before)};
}

}  // namespace lockkeeper::crew
