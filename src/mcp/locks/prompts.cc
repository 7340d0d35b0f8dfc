#include "mcp/locks/prompts.h"

#include "base/parse.h"
#include "base/quote.h"
#include "mcp/locks/arguments.h"
#include "mcp/locks/tool_text.h"
#include "service/report.h"

namespace lockkeeper::mcp::locks {
namespace {

constexpr std::size_t kLeasesTold = 30;

constexpr const char* kHow =
    "Several agents work in this repository at the same time; locks keep them apart.\n"
    "1. Before you plan, call lock_status with what you want to change.\n"
    "2. Before you change anything, lock all of it in one lock_acquire: files, folders (end in /), "
    "globs, or keys such as api:GET /v1/users and db:schema:users. All of it is granted, or none.\n"
    "3. Give a reason that others understand: they see it.\n"
    "4. Give a realistic ttl; call lock_renew if the work takes longer. It tells you if a lock was "
    "lost: then stop changing what it covered.\n"
    "5. Call lock_release as soon as a part is done.\n"
    "If something is held: do other work first, wait with wait_s: 45 and call again while the "
    "answer is \"queued\", or ask the holder with lock_message. Never change what another holds. "
    "On \"deadlock\" release what you hold, then ask for everything at once.\n"
    "A subagent passes its own name as agent in every call.\n";

constexpr const char* kPlan =
    "Plan it like this:\n"
    "1. List every file that the task will change, including tests, docs and generated files.\n"
    "2. Call lock_status with all of them.\n"
    "3. Group them into parts that can be finished one by one; begin with what is free. For what "
    "is held, say who holds it, until when, and whether to wait, ask, or do something else "
    "first.\n"
    "4. For each part: one lock_acquire with a reason, the changes, one lock_release.\n"
    "Show the plan before you begin.\n";

Answer prompt(const std::string& description, const std::string& text) {
  Answer answer;
  answer.result["description"] = description;
  answer.result["messages"] =
      Json::array({{{"role", "user"}, {"content", {{"type", "text"}, {"text", text}}}}});
  return answer;
}

Answer trouble_answer(const Error& error) {
  return Answer::failed(code::kInternalError, error.message, service::error_json(error));
}

std::int64_t now_of(service::Locks& locks) {
  return locks.site().runtime().clock->now().wall_ms;
}

// What one agent, or all agents, hold now.
Result<std::string> held_now(service::Locks& locks, const std::string& agent) {
  service::ListCommand command;
  command.agent = agent;
  LK_ASSIGN(const service::ListReply reply, locks.list(command));
  std::string text;
  const std::size_t all = reply.leases.size();
  for (std::size_t i = 0; i < all && i < kLeasesTold; ++i) {
    text += "- " + lease_text(reply.leases[i], now_of(locks)) + "\n";
  }
  if (all > kLeasesTold) {
    text += "- and " + std::to_string(all - kLeasesTold) + " more: call lock_status\n";
  }
  return text;
}

// Which of these files are held, and which are free.
Result<std::string> files_now(service::Locks& locks, const std::vector<std::string>& files) {
  std::string text;
  for (const std::string& file : files) {
    service::ListCommand command;
    command.under.texts = {file};
    const auto reply = locks.list(command);
    if (!reply && reply.error().code != Code::kInvalidResource) return fail(reply.error());
    if (!reply) {
      text += "- " + shown(file) + ": " + reply.error().message + "\n";
      continue;
    }
    bool free = true;
    for (const service::ListedLease& each : reply->leases) {
      text += "- " + shown(file) + " is locked: " + lease_text(each, now_of(locks)) + "\n";
      free = false;
    }
    if (free) text += "- " + shown(file) + " is free\n";
  }
  return text;
}

Answer how_to(service::Locks locks, const std::string& description, const Json& arguments) {
  const std::string agent = text_argument(arguments, "agent");
  const auto held = held_now(locks, agent);
  if (!held) return trouble_answer(held.error());
  const std::string whose = agent.empty() ? "now" : "by " + shown(agent) + " now";
  return prompt(description, kHow + (held->empty() ? "Nothing is held " + whose + ".\n"
                                                   : "Held " + whose + ":\n" + *held));
}

Answer plan_edits(service::Locks locks, const std::string& description, const Json& arguments) {
  const std::string task = text_argument(arguments, "task");
  if (task.find_first_not_of(" \t\r\n") == std::string::npos) {
    return Answer::failed(code::kInvalidParams, "the argument \"task\" is missing");
  }
  const std::vector<std::string> files = words_in(text_argument(arguments, "files"), " ,\n\t\r");
  std::string text = "Task: " + task + "\n";
  const auto now = files.empty() ? held_now(locks, "") : files_now(locks, files);
  if (!now) return trouble_answer(now.error());
  if (files.empty()) {
    text += now->empty() ? "Nothing is locked now.\n" : "Locked now:\n" + *now;
  } else {
    text += "Files that the task may touch, as they are now:\n" + *now;
  }
  return prompt(description, text + kPlan);
}

// The protocol makes all prompt arguments strings.
bool all_texts(const Json& arguments) {
  for (const auto& [name, value] : arguments.items()) {
    if (!value.is_string()) return false;
  }
  return true;
}

using Get = Answer (*)(service::Locks, const std::string&, const Json&);

Prompt finished(Prompt prompt, std::function<service::Locks()> reader, Get get) {
  prompt.get = [reader = std::move(reader), get, description = prompt.description](
                   Call&, const Json& arguments) {
    if (!all_texts(arguments)) {
      return Answer::failed(code::kInvalidParams, "arguments of a prompt are strings");
    }
    return get(reader(), description, arguments);
  };
  return prompt;
}

}  // namespace

std::vector<Prompt> lock_prompts(const std::function<service::Locks()>& reader) {
  Prompt how;
  how.name = "work_with_locks";
  how.title = "How to work with locks";
  how.description = "What an agent should know before it changes files here, and what is held now";
  how.arguments = {{"agent", "only what this agent holds", false}};
  Prompt plan;
  plan.name = "plan_my_edits";
  plan.title = "Plan my edits";
  plan.description = "Which files a task needs, which of them are free, and in what order";
  plan.arguments = {{"task", "what to do", true},
                    {"files", "files that it will touch, separated by spaces", false}};
  return {finished(std::move(how), reader, how_to), finished(std::move(plan), reader, plan_edits)};
}

}  // namespace lockkeeper::mcp::locks
