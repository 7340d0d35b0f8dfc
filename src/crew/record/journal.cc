#include "crew/record/journal.h"

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

Json head_json(const RunState& state) {
  const auto& [record, head] = state;
  Json json{{"lockkeeper_run", kFormat},        {"id", record.id},
            {"plan", json_text(record.plan)},   {"plan_sha256", head.plan_digest},
            {"session", head.session},          {"feature", record.feature},
            {"realm", json_text(record.realm)}, {"jobs", record.jobs},
            {"started_ms", record.started_ms}};
  if (!record.trees.folder.empty()) json["worktrees"] = run_trees_json(record.trees);
  return json;
}

Result<RunState> head_from(const Json& json) {
  RunState state;
  if (!json.contains("lockkeeper_run") || json.at("lockkeeper_run") != kFormat) {
    return fail(Code::kInvalidInput, "not the journal of a run by this version of lockkeeper");
  }
  state.record.id = json.at("id").get<std::string>();
  state.record.plan = json.at("plan").get<std::string>();
  state.head.plan_digest = json.at("plan_sha256").get<std::string>();
  state.head.session = json.at("session").get<std::string>();
  state.record.feature = json.at("feature").get<std::string>();
  state.record.realm = json.at("realm").get<std::string>();
  state.record.jobs = whole_number<std::size_t>(json.at("jobs"));
  state.record.started_ms = whole_number<std::int64_t>(json.at("started_ms"));
  if (json.contains("worktrees")) state.record.trees = run_trees_from(json.at("worktrees"));
  return state;
}

Result<void> take_line(const Json& json, RunState& state) {
  RunRecord& record = state.record;
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

Result<void> parse_line(std::string_view line, std::size_t number, RunState& state) {
  try {
    const Json json = Json::parse(line);
    if (number == 1) {
      LK_ASSIGN(state, head_from(json));
      return {};
    }
    return take_line(json, state);
  } catch (const std::exception& error) {
    return fail(Code::kInvalidInput, quote(error.what()));  // it may quote any bytes
  }
}

Result<RunState> parse_lines(std::string_view text, const std::string& path) {
  RunState state;
  std::size_t number = 0;
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string_view::npos;
       at = end + 1) {
    const std::string_view line = text.substr(at, end - at);
    if (const auto taken = parse_line(line, ++number, state); !taken) {
      return fail(Code::kInvalidInput,
                  quote(path) + ", line " + std::to_string(number) + ": " + taken.error().message,
                  "start again with --restart; it keeps the old run under earlier/");
    }
  }
  return state;
}

}  // namespace

Result<Journal> Journal::begin(const Folder& folder, const RunState& state) {
  LK_ASSIGN(const bool there, folder.has(kJournalName));
  if (there) {
    return fail(Code::kFailed, quote(folder.path_of(kJournalName)) + " already exists");
  }
  // Whole or not at all: a run without its first line could not be resumed.
  LK_CHECK(folder.write(kJournalName, head_json(state).dump() + "\n"));
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

Result<RunState> Journal::read(const Folder& folder) {
  LK_ASSIGN(const auto text, folder.read(kJournalName, kJournalBytesMax));
  if (!text || text->find('\n') == std::string::npos) {
    return fail(Code::kNotFound, "there is no run in " + quote(folder.path()),
                "start one: omit --resume");
  }
  return parse_lines(*text, folder.path_of(kJournalName));
}

Result<RunState> read_now(const Folder& folder) {
  LK_ASSIGN(const auto text, folder.read(kNowName, kJournalBytesMax));
  if (text) return parse_lines(*text, folder.path_of(kNowName));
  return fail(Code::kNotFound, "nobody tells how the run in " + quote(folder.path()) + " stands");
}

void NowFile::tell(const RunState& state, std::int64_t now_mono_ms) {
  constexpr std::int64_t kRestMs = 500;
  if (told_ms_ != 0 && now_mono_ms - told_ms_ < kRestMs) return;
  told_ms_ = now_mono_ms;
  std::string text = head_json(state).dump() + "\n";
  for (const AgentRecord& agent : state.record.agents) text += agent_json(agent).dump() + "\n";
  if (text == told_ || !folder_.write(kNowName, text)) return;
  told_ = std::move(text);
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
    return fail(Code::kFailed, quote(path_) + " was removed during the run");
  }
  if (write_all(fd_.get(), text + "\n") && ::fdatasync(fd_.get()) == 0) return {};
  Error error = errno_error(errno, path_, Code::kFailed);
  // Half a line would spoil the next line.
  static_cast<void>(::ftruncate(fd_.get(), status.st_size));
  return fail(std::move(error));
}

}  // namespace lockkeeper::crew
