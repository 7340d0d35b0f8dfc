#include "dialect/workflow/scopes.h"

#include <nlohmann/json.hpp>
#include <set>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"

namespace lockkeeper::dialect::workflow {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFields[] = {"agent",   "files", "directories",      "globs",
                                        "keys",    "task",  "task_description", "after",
                                        "command", "ttl"};

std::unexpected<Error> wrong(std::string message) {
  return fail(Code::kInvalidInput, std::move(message),
              "write {\"agents\":[{\"agent\":\"NAME\",\"files\":[…],\"directories\":[…]}]}");
}

Result<std::string> text_of(const Json& value, const std::string& what) {
  if (!value.is_string()) return wrong(what + " is not a string");
  return value.get<std::string>();
}

// `one_is_fine`: a string stands for a list of one.
Result<std::vector<std::string>> list_of(const Json& value, const std::string& what,
                                         bool one_is_fine) {
  std::vector<std::string> list;
  if (one_is_fine && value.is_string()) return std::vector{value.get<std::string>()};
  if (!value.is_array()) return wrong(what + " is not a list of strings");
  for (const Json& each : value) {
    LK_ASSIGN(std::string text, text_of(each, "an entry of " + what));
    list.push_back(std::move(text));
  }
  return list;
}

Result<void> read_field(ScopeEntry& entry, const std::string& name, const Json& value,
                        const std::string& what) {
  if (value.is_null()) return {};
  if (name == "files") {
    LK_ASSIGN(entry.files, list_of(value, what, false));
  } else if (name == "directories") {
    LK_ASSIGN(entry.directories, list_of(value, what, false));
  } else if (name == "globs") {
    LK_ASSIGN(entry.globs, list_of(value, what, false));
  } else if (name == "keys") {
    LK_ASSIGN(entry.keys, list_of(value, what, false));
  } else if (name == "after") {
    LK_ASSIGN(entry.after, list_of(value, what, true));
  } else if (name == "command") {
    LK_ASSIGN(entry.command, list_of(value, what, true));
  } else if (name == "task") {
    LK_ASSIGN(entry.task, text_of(value, what));
  } else if (name == "task_description") {
    LK_ASSIGN(entry.task_description, text_of(value, what));
  } else if (name == "ttl") {
    LK_ASSIGN(const std::string text, text_of(value, what));
    auto length = parse_duration_ms(text, {.allow_none = true});
    if (!length) return wrong(what + ": " + length.error().message);
    entry.ttl_ms = *length;
  } else if (name != "agent") {
    const auto meant = nearest(name, kFields);
    return wrong(what + " is not known" + (meant ? "; did you mean " + quote(*meant) + "?" : ""));
  }
  return {};
}

Result<ScopeEntry> read_entry(const Json& value, const std::string& name, std::size_t number) {
  const std::string which = "agent " + std::to_string(number);
  if (!value.is_object()) return wrong(which + " of the scopes is not an object");
  ScopeEntry entry;
  entry.agent = name;
  if (const auto named = value.find("agent"); named != value.end()) {
    LK_ASSIGN(entry.agent, text_of(*named, which + ": \"agent\""));
    if (!name.empty() && name != entry.agent) {
      return wrong("the scope of " + quote(name) + " names another agent, " + quote(entry.agent));
    }
  }
  if (entry.agent.empty()) return wrong(which + " of the scopes has no \"agent\"");
  for (const auto& [field, content] : value.items()) {
    LK_CHECK(read_field(entry, field, content, quote(entry.agent) + ": " + quote(field)));
  }
  return entry;
}

// The list of agents, or the object of agents by name.
Result<const Json*> agents_of(const Json& json) {
  if (json.is_array()) return &json;
  if (!json.is_object()) return wrong("the scopes are neither a list nor an object");
  for (const char* const name : {"agents", "scopes"}) {
    if (const auto found = json.find(name); found != json.end()) {
      if (found->is_array() || found->is_object()) return &*found;
      return wrong(quote(name) + " is neither a list nor an object");
    }
  }
  return wrong("the scopes have neither \"agents\" nor \"scopes\"");
}

}  // namespace

Result<std::vector<ScopeEntry>> parse_scopes(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return wrong("the scopes are not JSON");
  LK_ASSIGN(const Json* const agents, agents_of(json));
  if (agents->empty()) return wrong("the scopes name no agent");
  if (agents->size() > kScopesAgentsMax) {
    return fail(Code::kLimitExceeded,
                "the scopes name more than " + std::to_string(kScopesAgentsMax) + " agents",
                "use several files");
  }
  std::vector<ScopeEntry> entries;
  std::set<std::string> known;
  for (const auto& [name, value] : agents->items()) {
    LK_ASSIGN(ScopeEntry entry,
              read_entry(value, agents->is_array() ? std::string() : name, entries.size() + 1));
    if (!known.insert(entry.agent).second) {
      return wrong("the agent " + quote(entry.agent) + " is in the scopes twice");
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<std::vector<ScopeEntry>> read_scopes(const std::string& path) {
  auto text = read_file(path, kScopesBytesMax);
  if (!text) {
    return fail(Code::kInvalidInput, "--scopes: " + text.error().message,
                "name a file of JSON that can be read");
  }
  auto entries = parse_scopes(*text);
  if (!entries) entries.error().message = path + ": " + entries.error().message;
  return entries;
}

}  // namespace lockkeeper::dialect::workflow
