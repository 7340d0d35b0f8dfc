#include "enforce/hook/words.h"

#include <algorithm>

#include "base/text.h"
#include "service/messages.h"
#include "service/report.h"

namespace lockkeeper::enforce::hook {
namespace {

constexpr std::size_t kFilesTold = 5;
constexpr std::string_view kWhatToDo =
    "The file was not changed. Do other work and try again later, or ask the user. Do not change "
    "it in another way, such as with a shell command. To see all locks: lockkeeper list";

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
  return format_duration(std::max<std::int64_t>(1'000, now_wall_ms - at_wall_ms)) + " ago";
}

std::string with_hint(const Error& error) {
  return error.message + (error.hint.empty() ? "" : "; " + error.hint);
}

}  // namespace

void Lines::add(const std::string& line) {
  if (line.empty()) return;
  text_ += (text_.empty() ? "" : "\n") + line;
}

std::string in_the_way(const core::Conflict& conflict, const core::Owner& asker,
                       std::int64_t now_wall_ms) {
  const std::string file = shown(conflict.requested.resource.text());
  if (!conflict.holder.edit) {
    return file + " is " + service::holder_text(conflict, now_wall_ms, asker);
  }
  std::string text = file + " is being edited by " + name_of(conflict.holder, asker);
  const std::string held = conflict.held.resource.text();
  if (held != conflict.requested.resource.text()) text += " (" + shown(held) + ")";
  return text;
}

std::string held_words(const std::vector<core::Conflict>& conflicts, const core::Owner& asker,
                       std::int64_t now_wall_ms) {
  std::string text = "lockkeeper: ";
  std::vector<std::string> said;
  for (const core::Conflict& conflict : conflicts) {
    std::string one = in_the_way(conflict, asker, now_wall_ms);
    if (std::ranges::find(said, one) == said.end()) said.push_back(std::move(one));
  }
  const std::size_t most = std::min(said.size(), kFilesTold);
  text += join(std::span(said).first(most), "; ");
  if (said.size() > most) text += "; and " + std::to_string(said.size() - most) + " more";
  return text + ". " + std::string(kWhatToDo);
}

std::string deadlock_words(const service::AcquireResult& result, const core::Owner& asker,
                           std::int64_t now_wall_ms) {
  service::HintContext asked;
  asked.asker = asker;
  asked.now_wall_ms = now_wall_ms;
  return "lockkeeper: " + with_hint(service::refusal(result, asked));
}

std::string lost_words(const std::vector<core::LostLease>& lost) {
  std::string text = "lockkeeper: ";
  for (std::size_t i = 0; i < std::min(lost.size(), kFilesTold); ++i) {
    text += (i > 0 ? "; " : "") + service::lost_text(lost[i]);
  }
  return text;
}

std::string stale_words(const std::vector<core::Trace>& unseen, const core::Owner& asker,
                        std::int64_t now_wall_ms) {
  std::string text = "lockkeeper: ";
  for (std::size_t i = 0; i < std::min(unseen.size(), kFilesTold); ++i) {
    const core::Trace& trace = unseen[i];
    text += (i > 0 ? "; " : "") + shown(trace.change.path) + " was changed by " +
            writer_of(trace, asker) + " " + ago_text(trace.at_wall_ms, now_wall_ms);
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
  return "lockkeeper cannot tell whether this file is free: " + with_hint(error) +
         ". The call is refused until it can. To find out more: lockkeeper doctor";
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
