#include "crew/journal.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/text.h"
#include "crew/record/record_json.h"
#include "crew/record/whole_number.h"

namespace lockkeeper::crew {
namespace {

constexpr int kFormat = 1;

Json head_json(const RunRecord& record, const JournalHead& head) {
  return {{"lockkeeper_run", kFormat},        {"id", record.id},
          {"plan", json_text(record.plan)},   {"plan_sha256", head.plan_digest},
          {"session", head.session},          {"feature", record.feature},
          {"realm", json_text(record.realm)}, {"jobs", record.jobs},
          {"started_ms", record.started_ms}};
}

Result<Told> head_from(const Json& json) {
  Told told;
  if (!json.contains("lockkeeper_run") || json.at("lockkeeper_run") != kFormat) {
    return fail(Code::kInvalidInput, "it is not the journal of a run of this version");
  }
  told.record.id = json.at("id").get<std::string>();
  told.record.plan = json.at("plan").get<std::string>();
  told.head.plan_digest = json.at("plan_sha256").get<std::string>();
  told.head.session = json.at("session").get<std::string>();
  told.record.feature = json.at("feature").get<std::string>();
  told.record.realm = json.at("realm").get<std::string>();
  told.record.jobs = whole_number<std::size_t>(json.at("jobs"));
  told.record.started_ms = whole_number<std::int64_t>(json.at("started_ms"));
  return told;
}

Result<void> take_line(const Json& json, Told& told) {
  RunRecord& record = told.record;
  if (json.contains("run")) {
    const Json& run = json.at("run");
    record.ended_ms = whole_number<std::int64_t>(run.at("ended_ms"));
    record.resumed = whole_number<std::size_t>(run.at("resumed"));
    record.jobs = whole_number<std::size_t>(run.at("jobs"));
    record.problems = run.at("problems").get<std::vector<std::string>>();
    return {};
  }
  LK_ASSIGN(AgentRecord agent, agent_from(json));
  const auto known = std::ranges::find(record.agents, agent.id, &AgentRecord::id);
  if (known == record.agents.end()) {
    record.agents.push_back(std::move(agent));
  } else {
    *known = std::move(agent);
  }
  return {};
}

Result<void> parse_line(std::string_view line, std::size_t number, Told& told) {
  try {
    const Json json = Json::parse(line);
    if (number == 1) {
      LK_ASSIGN(told, head_from(json));
      return {};
    }
    return take_line(json, told);
  } catch (const std::exception& error) {
    return fail(Code::kInvalidInput, quote(error.what()));  // it may repeat any bytes
  }
}

}  // namespace

Result<Journal> Journal::begin(const Folder& folder, const RunRecord& record,
                               const JournalHead& head) {
  LK_ASSIGN(const bool there, folder.has(kJournalName));
  if (there) {
    return fail(Code::kFailed, quote(folder.path_of(kJournalName)) + " is there already");
  }
  // Whole or not at all: a run without its head could not be continued.
  LK_CHECK(folder.write(kJournalName, head_json(record, head).dump() + "\n"));
  return go_on(folder);
}

Result<Journal> Journal::go_on(const Folder& folder) {
  LK_ASSIGN(const auto text, folder.read(kJournalName, kJournalBytesMax));
  LK_ASSIGN(Fd fd, folder.append(kJournalName));
  const std::size_t whole = text ? text->rfind('\n') + 1 : 0;
  if (text && whole < text->size() && ::ftruncate(fd.get(), static_cast<off_t>(whole)) != 0) {
    return fail(errno_error(errno, folder.path_of(kJournalName), Code::kFailed));
  }
  return Journal(std::move(fd), folder.path_of(kJournalName));
}

Result<Told> Journal::read(const Folder& folder) {
  LK_ASSIGN(const auto text, folder.read(kJournalName, kJournalBytesMax));
  if (!text || text->find('\n') == std::string::npos) {
    return fail(Code::kNotFound, "there is no run in " + quote(folder.path()),
                "begin one: leave --resume away");
  }
  Told told;
  std::size_t number = 0;
  for (std::size_t at = 0, end = 0; (end = text->find('\n', at)) != std::string::npos;
       at = end + 1) {
    const std::string_view line = std::string_view(*text).substr(at, end - at);
    if (const auto taken = parse_line(line, ++number, told); !taken) {
      return fail(Code::kInvalidInput,
                  quote(folder.path_of(kJournalName)) + ", line " + std::to_string(number) + ": " +
                      taken.error().message,
                  "begin again: --restart keeps what is there under earlier/");
    }
  }
  return told;
}

Result<void> Journal::agent(const AgentRecord& agent) {
  return line(agent_json(agent).dump());
}

Result<void> Journal::agents(const std::vector<AgentRecord>& agents) {
  if (agents.empty()) return {};
  std::string lines;
  for (const AgentRecord& each : agents) {
    if (!lines.empty()) lines += "\n";
    lines += agent_json(each).dump();
  }
  return line(lines);
}

Result<void> Journal::run(const RunRecord& record) {
  Json run{{"ended_ms", record.ended_ms}, {"resumed", record.resumed}, {"jobs", record.jobs}};
  run["problems"] = Json::array();
  for (const std::string& problem : record.problems) run["problems"].push_back(json_text(problem));
  return line(Json{{"run", run}}.dump());
}

Result<void> Journal::line(const std::string& text) {
  struct stat status{};
  if (::fstat(fd_.get(), &status) != 0) return fail(errno_error(errno, path_, Code::kFailed));
  if (status.st_nlink == 0) {
    return fail(Code::kFailed, quote(path_) + " was removed while the run was at work");
  }
  if (write_all(fd_.get(), text + "\n") && ::fdatasync(fd_.get()) == 0) return {};
  Error error = errno_error(errno, path_, Code::kFailed);
  // Half a line would spoil the next one.
  static_cast<void>(::ftruncate(fd_.get(), status.st_size));
  return fail(std::move(error));
}

}  // namespace lockkeeper::crew
