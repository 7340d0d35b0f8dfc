// What a run keeps about itself: journals, orders and results of any text.
#include <nlohmann/json.hpp>

#include "crew/orders.h"
#include "crew/record/journal.h"
#include "crew/record/record_json.h"
#include "fuzz.h"

namespace lockkeeper::fuzz {
namespace {

const Folder& folder() {
  static const Folder kFolder = *crew::open_run_files(scratch());
  return kFolder;
}

std::string path() {
  return folder().path_of(crew::kJournalName);
}

void check_journal(std::string_view text) {
  write_file(path(), text);
  const auto told = crew::Journal::read(folder());
  if (!told) {
    const Code code = told.error().code;
    require(code == Code::kInvalidInput || code == Code::kNotFound, "refused with another code");
    return require_readable(told.error());
  }
  // Written down once more it says the same, also behind half a line.
  require(folder().remove(crew::kJournalName).has_value(), "it cannot be removed");
  {
    auto journal = crew::Journal::begin(folder(), *told);
    require(journal.has_value(), "it cannot be begun");
    for (const crew::AgentRecord& agent : told->record.agents) {
      require(journal->agent(agent).has_value(), "an agent cannot be written");
    }
    require(journal->run(told->record).has_value(), "the run cannot be written");
  }
  const auto again = crew::Journal::read(folder());
  require(again.has_value(), "what was written is refused");
  require(again->record.id == told->record.id && again->record.jobs == told->record.jobs &&
              again->record.ended_ms == told->record.ended_ms &&
              again->record.problems == told->record.problems &&
              again->record.agents.size() == told->record.agents.size(),
          "something was lost");
  for (std::size_t i = 0; i < told->record.agents.size(); ++i) {
    require(crew::agent_json(again->record.agents[i]) == crew::agent_json(told->record.agents[i]),
            "an agent is another");
  }
}

void check_orders(std::string_view text) {
  const auto orders = crew::orders_from(std::string(text));
  if (!orders) return require_readable(orders.error());
  require(!orders->command.empty() && !orders->locks.empty(), "nobody runs unlocked");
  const std::string written = crew::orders_text(*orders);
  const auto again = crew::orders_from(written);
  require(again.has_value(), "what was written is refused: " + written);
  require(crew::orders_text(*again) == written, "what was written is read as something else");
  require(again->command == orders->command && again->environment == orders->environment,
          "words were lost");
}

void check_result(std::string_view text) {
  const auto json = Json::parse(text, nullptr, false);
  const auto attempt = crew::attempt_from(json);
  if (!attempt) return require_readable(attempt.error());
  const auto again = crew::attempt_from(crew::attempt_json(*attempt));
  require(again && crew::attempt_json(*again) == crew::attempt_json(*attempt), "another result");
}

}  // namespace

void run(Input input) {
  const unsigned choice = input.byte() % 3U;
  const std::string_view text = input.rest();
  if (choice == 0) return check_journal(text);
  if (choice == 1) return check_orders(text);
  check_result(text);
}

}  // namespace lockkeeper::fuzz
