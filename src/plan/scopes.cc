#include "plan/scopes.h"

#include <algorithm>
#include <map>
#include <span>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"

namespace lockkeeper::plan {
namespace {

constexpr std::string_view kFields[] = {
    "agent", "files",   "directories", "globs",   "keys",    "task",    "task_description",
    "after", "command", "ttl",         "minutes", "timeout", "retries", "priority"};
// What work packages and other tools call these fields.
struct OtherName {
  std::string_view theirs, ours;
};
constexpr OtherName kOtherNames[] = {{"depends_on", "after"},
                                     {"dependencies", "after"},
                                     {"depends", "after"},
                                     {"needs", "after"},
                                     {"requires", "after"},
                                     {"name", "agent"},
                                     {"id", "agent"},
                                     {"package_id", "agent"},
                                     {"agent_id", "agent"},
                                     {"description", "task_description"},
                                     {"title", "task_description"},
                                     {"prompt", "task_description"},
                                     {"folders", "directories"},
                                     {"dirs", "directories"},
                                     {"paths", "files"},
                                     {"write_allow", "globs"},
                                     {"patterns", "globs"},
                                     {"locks", "keys"},
                                     {"run", "command"},
                                     {"cmd", "command"},
                                     {"timeout_minutes", "timeout"},
                                     {"retry_budget", "retries"},
                                     {"ttl_minutes", "ttl"},
                                     {"estimate", "minutes"},
                                     {"task_id", "task"},
                                     {"packages", "agents"},
                                     {"feature_id", "feature"},
                                     {"schema_version", "version"}};
constexpr std::string_view kTopFields[] = {"agents", "scopes", "feature", "version"};
constexpr const char* kHint =
    "write {\"agents\":[{\"agent\":\"NAME\",\"files\":[…],\"directories\":[…]}]}";

class Reader {
 public:
  explicit Reader(std::vector<Finding>& findings) : findings_(findings) {}

  // What stands beside the agents; `list` is one of the root's entries.
  void top_level(const yaml::Node& root, const yaml::Node& list) {
    for (const yaml::Node::Entry& each : root.entries) {
      if (each.key == "scopes" && &each.value != &list) {
        wrong(each.place, "the plan has both \"agents\" and \"scopes\"", "list all under agents");
      } else if (std::ranges::find(kTopFields, each.key) == std::end(kTopFields)) {
        unknown(each, quote(each.key) + " beside the agents", kTopFields);
      }
    }
    if (auto finding = check_feature(root)) findings_.push_back(std::move(*finding));
  }

  void agents(const yaml::Node& list) {
    const std::size_t count = list.is_list() ? list.list.size() : list.entries.size();
    if (count == 0) return wrong(list.place, "the scopes list no agents");
    if (count > kScopesAgentsMax) {
      return wrong(list.place,
                   "the scopes list " + std::to_string(count) + " agents; the limit is " +
                       std::to_string(kScopesAgentsMax),
                   "use several files");
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (list.is_list()) {
        agent(list.list[i], {}, i + 1);
      } else {
        agent(list.entries[i].value, {list.entries[i].key, list.entries[i].place}, i + 1);
      }
    }
  }

  std::vector<ScopeEntry> entries;

 private:
  void wrong(yaml::Place place, std::string message, std::string hint = kHint) {
    findings_.push_back(
        {"schema", Severity::kError, place, agent_, std::move(message), std::move(hint), {}});
  }

  void agent(const yaml::Node& node, const Name& name, std::size_t number) {
    agent_ = name.text;
    const std::string which = "agent " + std::to_string(number);
    if (!node.is_map()) return wrong(node.place, which + " of the scopes is not an object");
    ScopeEntry entry;
    entry.agent = name;
    const bool usable = read_name(node, which, entry.agent);
    agent_ = entry.agent.text;
    const std::string who = agent_.empty() ? which : quote(agent_);
    for (const yaml::Node::Entry& each : node.entries) {
      field(entry, each, who + ": " + quote(each.key));
    }
    if (usable) entries.push_back(std::move(entry));
  }

  // False: the agent has no name of its own.
  bool read_name(const yaml::Node& node, const std::string& which, Name& name) {
    const std::size_t before = findings_.size();
    if (const yaml::Node* const named = node.find("agent")) {
      const auto text = text_of(*named, which + ": \"agent\"");
      if (text && !name.text.empty() && name.text != *text) {
        wrong(named->place,
              "the scope of " + quote(name.text) + " names another agent, " + quote(*text));
      }
      name = {text.value_or(""), named->place};
    }
    if (findings_.size() > before) return false;
    if (name.text.empty()) {
      wrong(node.place, which + " of the scopes has no \"agent\"");
      return false;
    }
    const auto [first, fresh] = known_.emplace(name.text, name.place.line);
    if (fresh) return true;
    wrong(name.place,
          "the agent " + quote(name.text) + " is listed twice, first in line " +
              std::to_string(first->second),
          "give each agent its own name");
    findings_.back().rule = "duplicate-id";
    findings_.back().package = name.text;
    return false;
  }

  std::optional<std::string> text_of(const yaml::Node& node, const std::string& what) {
    if (node.is_text()) return node.text;
    wrong(node.place, what + " is not a string");
    return std::nullopt;
  }

  // `one_is_fine`: a string counts as a list of one.
  std::vector<Name> list_of(const yaml::Node& node, const std::string& what, bool one_is_fine) {
    std::vector<Name> names;
    if (one_is_fine && node.is_text()) return {{node.text, node.place}};
    if (!node.is_list()) {
      wrong(node.place, what + " is not a list of strings");
      return names;
    }
    for (const yaml::Node& each : node.list) {
      if (auto text = text_of(each, "an entry of " + what)) names.push_back({*text, each.place});
    }
    return names;
  }

  std::optional<std::int64_t> number_of(const yaml::Node& node, const std::string& what,
                                        std::int64_t least, std::int64_t most) {
    const auto value = node.whole();
    if (value && *value >= least && *value <= most) return value;
    wrong(node.place, what + " is not a whole number from " + std::to_string(least) + " to " +
                          std::to_string(most));
    return std::nullopt;
  }

  std::optional<std::int64_t> duration_of(const yaml::Node& node, const std::string& what,
                                          bool allow_none) {
    const auto text = text_of(node, what);
    if (!text) return std::nullopt;
    const auto length = parse_duration_ms(*text, {.allow_none = allow_none});
    if (length) return *length;
    wrong(node.place, what + ": " + length.error().message, length.error().hint);
    return std::nullopt;
  }

  std::optional<std::int64_t> timeout_of(const yaml::Node& node, const std::string& what) {
    const auto length = duration_of(node, what, false);
    if (length && *length == 0) wrong(node.place, what + " is zero", "write \"30m\"");
    return length;
  }

  void field(ScopeEntry& entry, const yaml::Node::Entry& given, const std::string& what) {
    const std::string& name = given.key;
    const yaml::Node& value = given.value;
    const bool known = std::ranges::find(kFields, name) != std::end(kFields);
    if (!known) return unknown(given, what, kFields);
    if (value.kind == yaml::Node::Kind::kNull || name == "agent") return;
    if (name == "files") {
      entry.files = list_of(value, what, false);
    } else if (name == "directories") {
      entry.directories = list_of(value, what, false);
    } else if (name == "globs") {
      entry.globs = list_of(value, what, false);
    } else if (name == "keys") {
      entry.keys = list_of(value, what, false);
    } else if (name == "after") {
      entry.after = list_of(value, what, true);
    } else if (name == "command") {
      list_of(value, what, true);  // for its findings
      entry.command = read_command(value);
    } else if (name == "task") {
      entry.task = text_of(value, what).value_or("");
    } else if (name == "task_description") {
      entry.task_description = text_of(value, what).value_or("");
    } else if (name == "ttl") {
      entry.ttl_ms = duration_of(value, what, true);
    } else if (name == "minutes") {
      entry.minutes = number_of(value, what, 1, 1'000'000);
    } else if (name == "timeout") {
      entry.timeout_ms = timeout_of(value, what);
    } else if (name == "retries") {
      entry.retries = number_of(value, what, 0, 100);
    } else if (name == "priority") {
      entry.priority = number_of(value, what, 1, 10);
    }
  }

  void unknown(const yaml::Node::Entry& given, const std::string& what,
               std::span<const std::string_view> known) {
    const auto other = std::ranges::find(kOtherNames, given.key, &OtherName::theirs);
    const bool listed =
        other != std::end(kOtherNames) && std::ranges::find(known, other->ours) != known.end();
    const auto meant = listed ? std::string(other->ours) : nearest(given.key, known);
    wrong(given.place,
          what + " is unknown" + (meant ? "; did you mean " + quote(*meant) + "?" : ""));
  }

  std::vector<Finding>& findings_;
  std::string agent_;                         // whose scope is being read
  std::map<std::string, std::size_t> known_;  // agents, each with its line
};

}  // namespace

const char* scope_list(const key::Resource& resource) {
  if (!resource.is_path()) return "keys";
  if (resource.is_glob()) return "globs";
  return resource.kind() == key::Kind::kFolder ? "directories" : "files";
}

std::vector<std::string> texts_of(const std::vector<Name>& names) {
  std::vector<std::string> texts;
  for (const Name& name : names) texts.push_back(name.text);
  return texts;
}

const yaml::Node* scope_agents(const yaml::Node& root, std::string& why) {
  if (root.is_list()) return &root;
  if (!root.is_map()) {
    why = "the scopes are neither a list nor an object";
    return nullptr;
  }
  for (const char* const name : {"agents", "scopes"}) {
    const yaml::Node* const found = root.find(name);
    if (found == nullptr) continue;
    if (found->is_list() || found->is_map()) return found;
    why = quote(name) + " is neither a list nor an object";
    return nullptr;
  }
  why = "the scopes have neither \"agents\" nor \"scopes\"";
  return nullptr;
}

std::vector<ScopeEntry> read_scopes(const yaml::Node& root, std::vector<Finding>& findings) {
  std::string why;
  const yaml::Node* const agents = scope_agents(root, why);
  if (agents == nullptr) {
    findings.push_back({"schema", Severity::kError, root.place, {}, why, kHint, {}});
    return {};
  }
  Reader reader(findings);
  reader.top_level(root, *agents);
  reader.agents(*agents);
  return std::move(reader.entries);
}

Result<std::vector<ScopeEntry>> parse_scopes(std::string_view text) {
  const auto document = yaml::parse_document(text, {.bytes = kScopesBytesMax});
  if (!document) {
    const yaml::Place place = document.error().place;
    return fail(Code::kInvalidInput,
                (place.line == 0 ? std::string() : "line " + std::to_string(place.line) + ": ") +
                    document.error().message,
                kHint);
  }
  std::vector<Finding> findings;
  std::vector<ScopeEntry> entries = read_scopes(*document, findings);
  if (findings.empty()) return entries;
  std::vector<std::string> messages;
  for (const Finding& each : findings) messages.push_back(each.message);
  return fail(Code::kInvalidInput, join(messages, "\n"), findings.front().hint);
}

Result<std::vector<ScopeEntry>> read_scopes_file(const std::string& path) {
  auto text = read_file(path, kScopesBytesMax);
  if (!text) {
    return fail(Code::kInvalidInput, "--scopes: " + text.error().message,
                "name a readable JSON or YAML file");
  }
  auto entries = parse_scopes(*text);
  if (!entries) entries.error().message = path + ": " + entries.error().message;
  return entries;
}

}  // namespace lockkeeper::plan
