#include "plan/change.h"

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"

namespace lockkeeper::plan {
namespace {

template <class Value>
void add_once(std::vector<Value>& to, const Value& value) {
  if (std::ranges::find(to, value) == to.end()) to.push_back(value);
}

template <class Value>
void add_all(std::vector<Value>& to, const std::vector<Value>& from) {
  for (const Value& each : from) add_once(to, each);
}

// Without what one is denied and the other must write.
std::vector<key::Resource> denied_to_both(const Job& one, const Job& other) {
  std::vector<key::Resource> all;
  for (const auto& [from, beside] : {std::pair(&one, &other), std::pair(&other, &one)}) {
    for (const key::Resource& deny : from->denies) {
      const auto meets = [&](const key::Resource& write) { return key::may_overlap(deny, write); };
      if (std::ranges::none_of(beside->writes, meets)) add_once(all, deny);
    }
  }
  return all;
}

std::string command_line(const Command& command) {
  if (command.shell) return command.words.front();
  std::string line;
  for (const std::string& word : command.words) {
    line += (line.empty() ? "" : " ") + shell_quote(word);
  }
  return line;
}

// The second after the first has succeeded. Each is a program of its own: its `exit`, `cd` and
// comments end with it. Joined by &&, the first would lose its `set -e`, and a failure its effect.
Command in_turn(const Command& first, const Command& second) {
  return {{"(\n" + command_line(first) + "\n)\nstatus=$?\n[ $status -eq 0 ] || exit $status\n(\n" +
           command_line(second) + "\n)"},
          true};
}

}  // namespace

Job rescoped(Job job, const Change::Scope& change) {
  const auto removed = [&](const key::Resource& each) {
    return std::ranges::find(change.remove, each) != change.remove.end();
  };
  std::erase_if(job.locks, removed);
  std::erase_if(job.writes, removed);
  for (const Change::Added& added : change.add) {
    if (added.lock) add_once(job.locks, added.resource);
    if (added.resource.is_path()) add_once(job.writes, added.resource);
  }
  add_all(job.denies, change.deny);
  return job;
}

namespace {

Plan with_merged(const Plan& plan, const Change::Merge& merge) {
  Plan result;
  result.form = plan.form;
  result.feature = plan.feature;
  const auto number = [&](std::size_t job) {
    const std::size_t now = job == merge.from ? merge.into : job;
    return now - (now > merge.from ? 1 : 0);
  };
  for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
    if (i == merge.from) continue;
    Job job = i == merge.into ? merged(plan.jobs[i], plan.jobs[merge.from]) : plan.jobs[i];
    std::vector<std::size_t> needs;
    for (const std::size_t need : job.needs) {
      const bool itself = i == merge.into && (need == merge.into || need == merge.from);
      if (!itself) add_once(needs, number(need));
    }
    job.needs = std::move(needs);
    result.jobs.push_back(std::move(job));
  }
  return result;
}

}  // namespace

Job merged(const Job& into, const Job& from) {
  Job job = into;
  job.denies = denied_to_both(into, from);
  add_all(job.locks, from.locks);
  add_all(job.writes, from.writes);
  add_all(job.reads, from.reads);
  add_all(job.needs, from.needs);
  const auto join = [](std::string& text, const std::string& more, const char* between) {
    if (more.empty() || more == text) return;
    text += (text.empty() ? "" : between) + more;
  };
  const bool lines = (job.description + from.description).find('\n') != std::string::npos;
  join(job.description, from.description, lines ? "\n" : "; ");
  join(job.reason, from.reason, "; ");
  join(job.task, from.task, ", ");
  if (job.command.empty()) {
    job.command = from.command;
  } else if (!from.command.empty()) {
    job.command = in_turn(job.command, from.command);
  }
  job.priority = std::min(into.priority, from.priority);
  job.minutes = into.minutes + from.minutes;
  const bool endless = into.ttl_ms == kNoEnd || from.ttl_ms == kNoEnd;
  job.ttl_ms = endless ? kNoEnd : into.ttl_ms + from.ttl_ms;
  job.retries = std::max(into.retries, from.retries);
  return job;
}

Plan changed(const Plan& plan, const Change& change) {
  Plan result = plan;
  if (change.order) result.jobs[change.order->later].needs.push_back(change.order->earlier);
  for (const Change::Scope& scope : change.scopes) {
    result.jobs[scope.job] = rescoped(std::move(result.jobs[scope.job]), scope);
  }
  return change.merge ? with_merged(result, *change.merge) : result;
}

}  // namespace lockkeeper::plan
