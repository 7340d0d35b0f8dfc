#include "crew/job_orders.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "crew/brief.h"
#include "crew/record/run_files.h"

namespace lockkeeper::crew {
namespace {

// A file name with pattern characters is written with them as classes ("[*]"), so that the service
// reads it literally.
std::string text_for_service(const key::Resource& resource) {
  const bool literal = resource.kind() == key::Kind::kFile || resource.kind() == key::Kind::kFolder;
  const std::string& text = resource.text();
  if (!literal || text.find_first_of("*?[{") == std::string::npos) return text;
  std::string pattern;
  for (const char c : text) {
    const bool sign = std::string_view("*?[]{}").contains(c);
    pattern += sign ? std::string("[") + c + "]" : std::string(1, c);
  }
  return resource.kind() == key::Kind::kFolder ? pattern + "**" : pattern;
}

std::string task_key(const std::string& id) {
  std::string key = id.starts_with('.') ? "task:_" : "task:";  // "." and ".." are not ids
  for (const char c : id) key += is_name_character(c) ? c : '_';
  return key;
}

constexpr std::size_t kReasonBytes = 200;

std::string reason_of(const plan::Job& job) {
  if (!job.reason.empty()) return job.reason;
  return cut_utf8(job.description.substr(0, job.description.find('\n')), kReasonBytes);
}

}  // namespace

std::vector<std::string> lock_texts(const plan::Job& job) {
  std::vector<std::string> texts;
  for (const key::Resource& lock : job.locks) texts.push_back(text_for_service(lock));
  if (texts.empty()) texts.push_back(task_key(job.id));
  return texts;
}

bool is_free(service::Locks& locks, const plan::Job& job, const std::string& but) {
  service::CheckCommand check;
  check.wanted.texts = lock_texts(job);
  const auto reply = locks.check(check);
  return reply && std::ranges::all_of(reply->conflicts, [&](const core::Conflict& conflict) {
           return !but.empty() && conflict.holder.owner.session.starts_with(but);
         });
}

std::string session_for(const std::string& run_session, const std::string& id, std::size_t number) {
  constexpr std::size_t kIdBytes = 80;
  std::string name = file_name_for(id);
  if (name.size() > kIdBytes)
    name = "%%" + std::to_string(number);  // no file_name_for() looks like this
  return run_session + "/" + name;
}

std::string branch_for(const std::string& run, const std::string& id) {
  std::string name = file_name_for(id);
  // git-check-ref-format(1)
  const bool refused =
      name.find("..") != std::string::npos || name.ends_with('.') || name.ends_with(".lock");
  if (refused) {
    std::string spelled;
    for (const char c : name) spelled += c == '.' ? "%2e" : std::string(1, c);
    name = std::move(spelled);
  }
  return "lk/" + run + "/" + name;
}

std::string commit_message(const plan::Job& job, const std::string& run, const std::string& plan) {
  constexpr std::size_t kSubjectBytes = 100;
  const std::string what = job.description.substr(0, job.description.find('\n'));
  std::string text =
      cut_utf8(job.id + ": " + (what.empty() ? "work of run " + run : what), kSubjectBytes);
  text = escaped(text) + "\n\nOne agent's part of " + escaped(plan) + ".\n\n";
  text += "Lockkeeper-Run: " + run + "\nLockkeeper-Agent: " + escaped(job.id) + "\n";
  if (!job.task.empty()) text += "Lockkeeper-Task: " + escaped(job.task) + "\n";
  return text;
}

std::vector<AgentRecord> records_for(const plan::Plan& plan, std::vector<AgentRecord> known) {
  std::map<std::string, AgentRecord> by_id;
  for (AgentRecord& each : known) by_id.emplace(each.id, std::move(each));
  std::vector<AgentRecord> records;
  records.reserve(plan.jobs.size());
  for (const plan::Job& job : plan.jobs) {
    const auto found = by_id.find(job.id);
    if (found != by_id.end()) {
      records.push_back(std::move(found->second));
      continue;
    }
    AgentRecord& fresh = records.emplace_back();
    fresh.id = job.id;
    for (const key::Resource& lock : job.locks) fresh.locks.push_back(lock.text());
  }
  return records;
}

Orders orders_of(const plan::Job& job) {
  Orders orders;
  orders.agent = job.id;
  orders.locks = lock_texts(job);
  orders.ttl_ms = job.ttl_ms;
  orders.reason = reason_of(job);
  orders.task = job.task;
  orders.command = job.command;
  orders.environment = {{"LOCKKEEPER_DESCRIPTION", cut_text(job.description, "the plan")},
                        {"LOCKKEEPER_TASK", job.task}};
  orders.timeout_ms = job.timeout_ms;
  return orders;
}

}  // namespace lockkeeper::crew
