#include "crew/run_ledger.h"

#include <algorithm>

#include "base/text.h"

namespace lockkeeper::crew {

void RunLedger::tell(CrewEvent::What what, const AgentRecord* agent, std::string text) const {
  if (on_event_) on_event_({what, agent, std::move(text)});
}

void RunLedger::problem(const std::string& text) {
  constexpr std::size_t kProblemsMax = 200;
  std::vector<std::string>& problems = record().problems;
  if (problems.size() == kProblemsMax || std::ranges::find(problems, text) != problems.end()) {
    return;
  }
  problems.push_back(text);
  tell(CrewEvent::What::kNote, nullptr, text);
}

void RunLedger::wait(AgentRecord& agent, Wait::For what, const std::string& on) {
  agent.standing = Standing::kWaiting;
  if (begin_wait(agent, what, on, now())) tell(CrewEvent::What::kWaiting, &agent, on);
}

bool RunLedger::write(const AgentRecord& agent) {
  auto written = run_.journal.agent(agent);
  if (written && !run_.output.is_there()) {
    written = fail(Code::kFailed, quote(run_.output.path()) + " is gone");
  }
  if (!written) fail_with(written.error());
  return written.has_value();
}

void RunLedger::fail_with(const Error& error) {
  problem("no more agents are started: " + error.message);
  failed_ = true;
}

}  // namespace lockkeeper::crew
