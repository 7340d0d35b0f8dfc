#include "enforce/hook/words.h"

#include <algorithm>

#include "base/text.h"
#include "core/sessions.h"
#include "service/messages.h"
#include "service/report.h"

namespace lockkeeper::enforce::hook {
namespace {

constexpr std::size_t kFilesTold = 5;
constexpr std::string_view kWhatToDo =
    " Do other work and try again later, or ask the user. Do not change it in another way, such as "
    "with a shell command. To see all locks: ";

std::string name_of(const core::Lease& holder, const core::Owner& asker) {
  std::string kin = service::kin_text(holder, asker);
  if (!kin.empty()) return kin;
  return holder.foreign ? shown(holder.owner.agent) : service::owner_text(holder.owner);
}

std::string writer_of(const core::Trace& trace, const core::Owner& asker) {
  if (trace.owner.agent.empty()) return "somebody";
  core::Lease as_holder;
  as_holder.owner = trace.owner;
  return name_of(as_holder, asker);
}

std::string ago_text(std::int64_t at_wall_ms, std::int64_t now_wall_ms) {
  return format_ago(std::min(at_wall_ms, now_wall_ms - 1'000), now_wall_ms);
}

std::string with_hint(const Error& error) {
  return error.message + (error.hint.empty() ? "" : "; " + error.hint);
}

// A hint may be a question.
std::string as_sentence(const std::string& text) {
  return text + (text.ends_with('?') || text.ends_with('.') ? "" : ".");
}

}  // namespace

void Lines::add(const std::string& line) {
  if (line.empty()) return;
  text_ += (text_.empty() ? "" : "\n") + line;
}

namespace {

// The subagent of a session that is in the way itself is not worth a second clause.
bool is_told_with(const core::Conflict& part, const core::Conflict& whole) {
  return part.holder.edit && whole.holder.edit && !part.holder.foreign && !whole.holder.foreign &&
         part.requested.resource == whole.requested.resource &&
         core::is_part_of(part.holder.owner, whole.holder.owner);
}

std::string clauses(const std::vector<core::Conflict>& conflicts, const Listener& to) {
  std::vector<std::string> said;
  for (const core::Conflict& conflict : conflicts) {
    const bool known = std::ranges::any_of(
        conflicts, [&](const core::Conflict& other) { return is_told_with(conflict, other); });
    if (known) continue;
    std::string one = in_the_way(conflict, to);
    if (std::ranges::find(said, one) == said.end()) said.push_back(std::move(one));
  }
  const std::size_t most = std::min(said.size(), kFilesTold);
  std::string text = "lockkeeper: " + join(std::span(said).first(most), "; ");
  if (said.size() > most) text += "; and " + std::to_string(said.size() - most) + " more";
  return text + ".";
}

}  // namespace

std::string in_the_way(const core::Conflict& conflict, const Listener& to) {
  const std::string file = shown(to.names.name(conflict.requested.resource.text()));
  if (!conflict.holder.edit || conflict.waiting) {
    return file + " is " + service::holder_text(conflict, to.now_wall_ms, to.asker, to.names);
  }
  const std::string by = "being edited by " + name_of(conflict.holder, to.asker);
  const std::string held = shown(to.names.name(conflict.held.resource.text()));
  return held == file ? file + " is " + by : file + " overlaps " + held + ", which is " + by;
}

std::string held_words(const std::vector<core::Conflict>& conflicts, const Listener& to) {
  const std::string nothing = to.files > 1 ? " The whole call was refused: none of its " +
                                                 std::to_string(to.files) + " files was changed."
                                           : " The file was not changed.";
  return clauses(conflicts, to) + nothing + std::string(kWhatToDo) + to.list;
}

std::string question_words(const std::vector<core::Conflict>& conflicts, const Listener& to) {
  return clauses(conflicts, to) + " Allow this edit anyway?";
}

std::string deadlock_words(const service::AcquireResult& result, const Listener& to) {
  service::HintContext asked;
  asked.asker = to.asker;
  asked.now_wall_ms = to.now_wall_ms;
  asked.names = to.names;
  return "lockkeeper: " + with_hint(service::refusal(result, asked));
}

std::string lost_words(const std::vector<core::LostLease>& lost) {
  std::string text = "lockkeeper: ";
  for (std::size_t i = 0; i < std::min(lost.size(), kFilesTold); ++i) {
    text += (i > 0 ? "; " : "") + service::lost_text(lost[i]);
  }
  return text;
}

std::string stale_words(const std::vector<core::Trace>& unseen, const Listener& to) {
  std::string text = "lockkeeper: ";
  for (std::size_t i = 0; i < std::min(unseen.size(), kFilesTold); ++i) {
    const core::Trace& trace = unseen[i];
    text += (i > 0 ? "; " : "") + shown(to.names.name(trace.change.path)) + " was changed by " +
            writer_of(trace, to.asker) + " " + ago_text(trace.at_wall_ms, to.now_wall_ms);
  }
  return text +
         ". Your call would replace the whole file. It was not written. Read the file again, keep "
         "what was changed, and then repeat the call";
}

std::string elsewhere_words(const core::Conflict& conflict) {
  return "lockkeeper: " + shown(conflict.requested.resource.text()) + " is also being edited by " +
         service::owner_text(conflict.holder.owner) + " in another worktree, " +
         shown(conflict.holder.terms.worktree) + ". Expect a merge";
}

std::string failed_words(const Error& error) {
  return "lockkeeper cannot tell whether this file is free: " + as_sentence(with_hint(error)) +
         " The call is refused until it can. To find out more: lockkeeper doctor";
}

std::string bad_settings_words(const Error& mistake) {
  return "lockkeeper refused this call, because its settings have a mistake: " +
         as_sentence(with_hint(mistake)) +
         " Correct that file, or ask the user to, and repeat the call. Until then only shell "
         "commands and edits of that file pass. To check it: lockkeeper doctor";
}

std::string unusable_words(const Error& error) {
  return "lockkeeper: edits of this repository's files are refused for now: " +
         as_sentence(with_hint(error)) + " To find out more: lockkeeper doctor";
}

std::string not_judged_words(const Error& error) {
  return "lockkeeper refused this call: " + with_hint(error);
}

std::string notice_words(const service::Notices& notices, std::int64_t now_wall_ms) {
  Lines lines;
  if (!notices.lost.empty()) lines.add(lost_words(notices.lost) + ". Read those files again");
  for (const core::Message& message : notices.messages) {
    lines.add("lockkeeper: " + service::message_text(message, now_wall_ms));
  }
  if (notices.more_messages > 0) {
    lines.add("lockkeeper: " + counted(notices.more_messages, "more message") +
              ": lockkeeper message read");
  }
  for (const core::Waiter& waiter : notices.waiting) {
    lines.add("lockkeeper: " + service::waiting_text(waiter, now_wall_ms));
  }
  return lines.text();
}

}  // namespace lockkeeper::enforce::hook
