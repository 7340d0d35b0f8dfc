// Resolutions as text and as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/quote.h"
#include "plan/resolutions.h"
#include "plan/scopes.h"

namespace lockkeeper::plan {
namespace {

using Kind = Resolution::Kind;

// "a, b and c", each by `one_text`.
template <class Value, class TextOf>
std::string listed(const std::vector<Value>& list, const TextOf& one_text) {
  constexpr std::size_t kShown = 6;  // the JSON has all of them
  std::string text;
  for (std::size_t i = 0; i < list.size() && i < kShown; ++i) {
    const bool last = i > 0 && i + 1 == list.size();
    text += i == 0 ? "" : last ? " and " : ", ";
    text += one_text(list[i]);
  }
  if (list.size() > kShown) text += " and " + std::to_string(list.size() - kShown) + " more";
  return text;
}

std::string text_of(const key::Resource& resource) {
  return shown(resource.text());
}

// "src/a.py and src/b.py for backend".
std::string part_text(const Resolution& resolution, const Resolution::Part& part) {
  const std::string text = listed(part.resources, [&](const key::Resource& each) {
    const auto& made = resolution.new_folders;
    const bool is_new = std::ranges::find(made, each) != made.end();
    return (is_new ? "a new folder such as " : "") + text_of(each);
  });
  return (text.empty() ? "nothing" : text) + " for " + shown(part.agent);
}

// "file", "directory", "glob" or "key".
std::string kind_field(const key::Resource& resource) {
  if (resource.kind() == key::Kind::kFolder) return "directory";
  const std::string list = scope_list(resource);
  return list.substr(0, list.size() - 1);
}

void add_resources(Json& to, const std::vector<key::Resource>& resources) {
  to["files"] = Json::array();
  to["directories"] = Json::array();
  for (const key::Resource& resource : resources) {
    to[scope_list(resource)].push_back(resource.text());
  }
}

std::string sequential_text(const Resolution& resolution) {
  return "Run " + shown(resolution.order.front().run) + " after " +
         listed(resolution.order, [](const Resolution::Order& each) { return shown(each.after); }) +
         (resolution.order.size() > 1 ? " complete" : " completes");
}

std::string reassign_text(const Resolution& resolution) {
  return "Assign " + listed(resolution.moves, [](const Resolution::Move& move) {
           return text_of(move.resource) + " to " + shown(move.to) + " only";
         });
}

std::string except_text(const Resolution& resolution) {
  return "Leave " + listed(resolution.excepts, [](const Resolution::Except& each) {
           return text_of(each.without) + " out of " + shown(each.agent) + "'s " + text_of(each.of);
         });
}

std::string split_text(const Resolution& resolution) {
  if (!resolution.excepts.empty()) return except_text(resolution);
  if (resolution.parts.empty()) return "Leave what is shared to its holder";
  std::string text;
  const key::Resource* folder = nullptr;
  for (const Resolution::Part& part : resolution.parts) {
    const bool first = folder == nullptr || part.of != *folder;
    if (first)
      text += std::string(text.empty() ? "Divide " : "; divide ") + text_of(part.of) + ": ";
    if (!first) text += ", ";
    text += part_text(resolution, part);
    folder = &part.of;
  }
  for (const Resolution::Move& move : resolution.moves) {
    text += "; take " + text_of(move.resource) + " from " + shown(move.from);
  }
  return text;
}

std::string merge_text(const Resolution& resolution) {
  return "Merge the tasks of " +
         listed(resolution.merged, [](const std::string& name) { return shown(name); }) +
         " into one, for " + shown(resolution.merged.front());
}

Json edits_json(const Resolution& resolution) {
  Json edits = Json::array();
  for (const Resolution::Order& order : resolution.order) {
    edits.push_back({{"run", order.run}, {"after", order.after}});
  }
  for (const Resolution::Move& move : resolution.moves) {
    Json edit{{kind_field(move.resource), move.resource.text()}, {"from", move.from}};
    if (!move.to.empty()) edit["to"] = move.to;
    edits.push_back(std::move(edit));
  }
  for (const Resolution::Part& part : resolution.parts) {
    Json edit;
    edit[kind_field(part.of)] = part.of.text();
    edit["agent"] = part.agent;
    if (resolution.kind == Kind::kSeparate) {
      edit["new_file"] = part.resources.front().text();
    } else {
      add_resources(edit, part.resources);
    }
    edits.push_back(std::move(edit));
  }
  for (const Resolution::Except& each : resolution.excepts) {
    edits.push_back({{"agent", each.agent}, {"deny", each.without.text()}, {"of", each.of.text()}});
  }
  if (resolution.kind == Kind::kMerge) {
    edits.push_back({{"agent", resolution.merged.front()}, {"merges", resolution.merged}});
  }
  return edits;
}

}  // namespace

const char* resolution_name(Kind kind) {
  constexpr const char* kNames[] = {"sequential", "reassign", "split", "merge", "separate"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string resolution_text(const Resolution& resolution) {
  switch (resolution.kind) {
    case Kind::kSequential:
      return sequential_text(resolution);
    case Kind::kReassign:
      return reassign_text(resolution);
    case Kind::kSplit:
      return split_text(resolution);
    case Kind::kMerge:
      return merge_text(resolution);
    case Kind::kSeparate:
      return "Create separate files: " + listed(resolution.parts, [&](const auto& part) {
               return part_text(resolution, part);
             });
  }
  return {};
}

Json scope_json(const Scope& scope) {
  Json json;
  json["agent"] = scope.agent;
  add_resources(json, scope.resources);
  if (!scope.task_description.empty()) json["task_description"] = scope.task_description;
  return json;
}

Json resolution_json(const Resolution& resolution) {
  Json json;
  json["resolution"] = resolution_name(resolution.kind);
  json["summary"] = resolution_text(resolution);
  json["edits"] = edits_json(resolution);
  if (!resolution.scopes.empty()) {
    json["scopes"] = Json::array();
    for (const Scope& scope : resolution.scopes) json["scopes"].push_back(scope_json(scope));
  }
  return json;
}

}  // namespace lockkeeper::plan
