#include "crew/record/record_json.h"

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/text.h"
#include "crew/record/whole_number.h"

namespace lockkeeper::crew {
namespace {

std::int64_t time_from(const Json& json) {
  if (json.is_null()) return 0;
  const auto time = parse_time(json.get<std::string>());
  if (!time) throw std::invalid_argument(time.error().message);
  return *time;
}

// The enum's value of that name.
template <class Value>
Value named(const Json& json, const char* (*name_of)(Value), Value last) {
  const auto name = json.get<std::string>();
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const Value value = static_cast<Value>(i);
    if (name == name_of(value)) return value;
  }
  throw std::invalid_argument("unknown value " + quote(name));
}

Json change_json(const Change& change) {
  Json json{{"path", json_text(change.path)}, {"change", change_name(change.kind)}};
  json["outside"] = change.outside;
  if (!change.or_by.empty()) json["or_by"] = change.or_by;
  return json;
}

Change change_from(const Json& json) {
  Change change;
  change.path = json.at("path").get<std::string>();
  change.kind = named(json.at("change"), change_name, Change::Kind::kRemoved);
  change.outside = json.at("outside").get<bool>();
  if (json.contains("or_by")) change.or_by = json.at("or_by").get<std::vector<std::string>>();
  return change;
}

Attempt read_attempt(const Json& json) {
  Attempt attempt;
  attempt.number = whole_number<std::size_t>(json.at("attempt"));
  attempt.lease = json.at("lease").get<std::string>();
  attempt.fence = whole_number<std::uint64_t>(json.at("fence"));
  attempt.started_ms = time_from(json.at("started_at"));
  attempt.ended_ms = time_from(json.at("ended_at"));
  attempt.ending = named(json.at("ending"), ending_name, Ending::kStrayed);
  attempt.exit_status = whole_number<int>(json.at("exit_status"));
  attempt.why = json.at("why").get<std::string>();
  attempt.processes_ended = whole_number<std::size_t>(json.at("processes_ended"));
  attempt.log_bytes = whole_number<std::uint64_t>(json.at("log_bytes"));
  attempt.log_cut = json.at("log_cut").get<bool>();
  for (const Json& each : json.at("changes")) attempt.changes.push_back(change_from(each));
  if (json.contains("changes_unknown")) {
    attempt.changes_unknown = json.at("changes_unknown").get<std::string>();
  }
  return attempt;
}

AgentRecord read_agent(const Json& json) {
  AgentRecord agent;
  agent.id = json.at("agent").get<std::string>();
  agent.locks = json.at("locks").get<std::vector<std::string>>();
  agent.standing = named(json.at("standing"), standing_name, Standing::kStopped);
  agent.why = json.at("why").get<std::string>();
  for (const Json& each : json.at("waits")) {
    agent.waits.push_back({named(each.at("for"), wait_name, Wait::For::kPause),
                           each.at("on").get<std::string>(), time_from(each.at("from")),
                           time_from(each.at("until"))});
  }
  for (const Json& each : json.at("attempts")) agent.attempts.push_back(read_attempt(each));
  if (json.contains("forgiven")) agent.forgiven = whole_number<std::size_t>(json.at("forgiven"));
  return agent;
}

template <class Read>
auto guarded(const Read& read) -> Result<decltype(read())> {
  try {
    return read();
  } catch (const std::exception& error) {
    return fail(Code::kInvalidInput, "not a record of a run: " + quote(error.what()));
  }
}

}  // namespace

std::string json_text(std::string_view bytes) {
  if (is_valid_utf8(bytes)) return std::string(bytes);
  std::string text;
  for (const char c : bytes) {
    text += static_cast<unsigned char>(c) < 0x80 ? std::string(1, c) : "\xEF\xBF\xBD";
  }
  return text;
}

Json attempt_json(const Attempt& attempt) {
  Json json{{"attempt", attempt.number}, {"lease", attempt.lease}, {"fence", attempt.fence}};
  json["started_at"] = time_or_null(attempt.started_ms);
  json["ended_at"] = time_or_null(attempt.ended_ms);
  json["ending"] = ending_name(attempt.ending);
  json["exit_status"] = attempt.exit_status;
  json["why"] = json_text(attempt.why);
  json["processes_ended"] = attempt.processes_ended;
  json["log_bytes"] = attempt.log_bytes;
  json["log_cut"] = attempt.log_cut;
  json["changes"] = Json::array();
  for (const Change& change : attempt.changes) json["changes"].push_back(change_json(change));
  if (!attempt.changes_unknown.empty()) {
    json["changes_unknown"] = json_text(attempt.changes_unknown);
  }
  return json;
}

Json agent_json(const AgentRecord& agent) {
  Json json{{"agent", agent.id}, {"locks", agent.locks}};
  json["standing"] = standing_name(agent.standing);
  json["why"] = json_text(agent.why);
  json["waits"] = Json::array();
  for (const Wait& wait : agent.waits) {
    json["waits"].push_back({{"for", wait_name(wait.what)},
                             {"on", json_text(wait.on)},
                             {"from", time_or_null(wait.begin_ms)},
                             {"until", time_or_null(wait.end_ms)}});
  }
  json["attempts"] = Json::array();
  for (const Attempt& attempt : agent.attempts) json["attempts"].push_back(attempt_json(attempt));
  if (agent.forgiven > 0) json["forgiven"] = agent.forgiven;
  return json;
}

Result<Attempt> attempt_from(const Json& json) {
  return guarded([&] { return read_attempt(json); });
}

Result<AgentRecord> agent_from(const Json& json) {
  return guarded([&] { return read_agent(json); });
}

}  // namespace lockkeeper::crew
