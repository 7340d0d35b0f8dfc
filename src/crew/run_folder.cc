#include "crew/run_folder.h"

#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "crew/record/record_json.h"
#include "host/file_ops.h"

namespace lockkeeper::crew {
namespace {

constexpr const char* kLockName = "run.lock";
constexpr std::size_t kSmallFile = 4096;

Error at_work(const Folder& output, const std::string& who) {
  const std::string by = who.empty() ? "" : " (process " + who + ")";
  return {Code::kHeld, "a workflow run is at work in " + quote(output.path()) + by,
          "wait until it has ended, or name another folder: --output DIR"};
}

// The foreman's own number is in the file, for those who come later.
Result<Fd> lock_run(const Folder& output) {
  LK_ASSIGN(std::optional<Fd> lock, host::try_lock(output, kLockName));
  if (!lock) {
    const auto who = output.read(kLockName, kSmallFile);
    std::string text = who && *who ? **who : "";
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return fail(at_work(output, text));
  }
  const std::string own = std::to_string(::getpid()) + "\n";
  if (::ftruncate(lock->get(), 0) != 0 || !write_all(lock->get(), own)) {
    return fail(errno_error(errno, output.path_of(kLockName), Code::kFailed));
  }
  return std::move(*lock);
}

// An attempt's keeper may outlive its foreman; what it writes must not be moved under it.
Result<void> nobody_at_work(const Folder& output, const RunRecord& record) {
  LK_ASSIGN(const auto agents, output.existing(kAgentsName));
  if (!agents) return {};
  for (const AgentRecord& agent : record.agents) {
    if (agent.attempts.empty() || agent.attempts.back().ending != Ending::kNone) continue;
    LK_ASSIGN(const auto folder, agents->existing(file_name_for(agent.id)));
    if (!folder) continue;
    LK_ASSIGN(const auto attempt, folder->existing(std::to_string(agent.attempts.back().number)));
    if (!attempt) continue;
    LK_ASSIGN(const bool alive, host::is_locked(*attempt, "alive"));
    if (alive) {
      return fail(Code::kHeld, quote(agent.id) + " of the run before is still at work",
                  "go on with it: add --resume");
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
  // The journal last: as long as it is there, the run is.
  for (const char* const each :
       {"report.md", "report.json", "timeline.svg", kAgentsName, kJournalName}) {
    LK_ASSIGN(const bool there, output.has(each));
    if (there) {
      LK_CHECK(output.rename(each, aside, each));
    }
  }
  return {};
}

bool finished(const RunRecord& record) {
  return record.ended_ms != 0;
}

Error unfinished(const Folder& output) {
  return {Code::kFailed, "the run in " + quote(output.path()) + " has not ended",
          "go on with it: add --resume; or begin again: --restart (what is there is kept under "
          "earlier/)"};
}

Result<Told> resumed(const Folder& output, const NewRun& fresh) {
  LK_ASSIGN(Told told, Journal::read(output));
  if (told.head.plan_digest != fresh.head.plan_digest) {
    return fail(Code::kInvalidInput,
                quote(fresh.record.plan) + " is not the plan of the run in " +
                    quote(output.path()) + ": it has changed since",
                "put it back, or begin again: --restart instead of --resume");
  }
  if (told.record.realm != json_text(fresh.record.realm)) {
    return fail(Code::kInvalidInput,
                "the run in " + quote(output.path()) + " is one of " + quote(told.record.realm) +
                    ", not of " + quote(fresh.record.realm),
                "run it there: --realm " + shell_quote(told.record.realm));
  }
  return told;
}

}  // namespace

Result<OpenRun> open_run(const std::string& output, Beginning beginning, const NewRun& fresh) {
  LK_ASSIGN(Folder folder, open_run_files(output));
  LK_ASSIGN(Fd lock, lock_run(folder));
  if (beginning == Beginning::kResume) {
    LK_ASSIGN(Told told, resumed(folder, fresh));
    LK_ASSIGN(Journal journal, Journal::go_on(folder));
    return OpenRun{std::move(folder), std::move(lock), std::move(journal), std::move(told)};
  }
  LK_ASSIGN(const bool there, folder.has(kJournalName));
  if (there) {
    auto before = Journal::read(folder);
    const bool readable = before.has_value();
    const bool empty = !readable && before.error().code == Code::kNotFound;
    if (!readable && !empty && beginning != Beginning::kRestart) {
      return fail(std::move(before.error()));
    }
    if (readable && !finished(before->record) && beginning != Beginning::kRestart) {
      return fail(unfinished(folder));
    }
    if (readable) {
      LK_CHECK(nobody_at_work(folder, before->record));
    }
    LK_CHECK(move_aside(folder, readable ? before->record.id : "unreadable"));
  }
  LK_ASSIGN(Journal journal, Journal::begin(folder, fresh.record, fresh.head));
  return OpenRun{std::move(folder), std::move(lock), std::move(journal),
                 Told{fresh.record, fresh.head}};
}

}  // namespace lockkeeper::crew
