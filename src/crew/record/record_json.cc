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

std::string text_from(const Json& json, const char* key) {
  return json.at(key).is_null() ? "" : json.at(key).get<std::string>();
}

TreeRecord read_tree(const Json& json) {
  TreeRecord tree;
  tree.folder = text_from(json, "folder");
  tree.branch = text_from(json, "branch");
  tree.state = named(json.at("state"), tree_state_name, TreeRecord::State::kGivenUp);
  tree.start = text_from(json, "start");
  tree.commit = text_from(json, "commit");
  tree.merge = text_from(json, "merge");
  tree.builds_on = json.at("builds_on").get<std::vector<std::string>>();
  tree.conflicts = json.at("conflicts").get<std::vector<std::string>>();
  tree.why = text_from(json, "why");
  tree.removed = json.at("removed").get<bool>();
  tree.kept = text_from(json, "kept");
  return tree;
}

Attempt read_attempt(const Json& json) {
  Attempt attempt;
  attempt.number = whole_number<std::size_t>(json.at("attempt"));
  attempt.lease = json.at("lease").get<std::string>();
  attempt.fence = whole_number<std::uint64_t>(json.at("fence"));
  attempt.started_ms = time_from(json.at("started_at"));
  attempt.ended_ms = time_from(json.at("ended_at"));
  attempt.ending = named(json.at("ending"), ending_name, Ending::kUncommitted);
  attempt.exit_status = whole_number<int>(json.at("exit_status"));
  attempt.why = json.at("why").get<std::string>();
  attempt.processes_ended = whole_number<std::size_t>(json.at("processes_ended"));
  attempt.log_bytes = whole_number<std::uint64_t>(json.at("log_bytes"));
  attempt.log_cut = json.at("log_cut").get<bool>();
  for (const Json& each : json.at("changes")) attempt.changes.push_back(change_from(each));
  if (json.contains("changes_unknown")) {
    attempt.changes_unknown = json.at("changes_unknown").get<std::string>();
  }
  if (json.contains("start")) attempt.start = json.at("start").get<std::string>();
  if (json.contains("commit")) attempt.commit = json.at("commit").get<std::string>();
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
  if (json.contains("worktree")) agent.tree = read_tree(json.at("worktree"));
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
  if (!attempt.start.empty()) json["start"] = attempt.start;
  if (!attempt.commit.empty()) json["commit"] = attempt.commit;
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
  if (!agent.tree.branch.empty()) json["worktree"] = tree_json(agent.tree);
  return json;
}

Json tree_json(const TreeRecord& tree) {
  if (tree.branch.empty()) return {};
  const auto text = [](const std::string& value) { return text_or_null(json_text(value)); };
  Json json{{"folder", text(tree.folder)}, {"branch", text(tree.branch)}};
  json["state"] = tree_state_name(tree.state);
  json["start"] = text(tree.start);
  json["commit"] = text(tree.commit);
  json["merge"] = text(tree.merge);
  json["builds_on"] = tree.builds_on;
  json["conflicts"] = Json::array();
  for (const std::string& path : tree.conflicts) json["conflicts"].push_back(json_text(path));
  json["why"] = text(tree.why);
  json["removed"] = tree.removed;
  json["kept"] = text(tree.kept);
  return json;
}

Json run_trees_json(const RunTrees& trees) {
  if (trees.folder.empty()) return {};
  return {{"folder", json_text(trees.folder)},
          {"branch", json_text(trees.branch)},
          {"base", trees.base}};
}

RunTrees run_trees_from(const Json& json) {
  return {text_from(json, "folder"), text_from(json, "branch"), text_from(json, "base")};
}

Result<Attempt> attempt_from(const Json& json) {
  return guarded([&] { return read_attempt(json); });
}

Result<AgentRecord> agent_from(const Json& json) {
  return guarded([&] { return read_agent(json); });
}

}  // namespace lockkeeper::crew
