// Histories for other checkers.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "linear/history.h"

namespace lockkeeper::linear {
namespace {

using Json = nlohmann::ordered_json;

Json input_of(const Call& call) {
  const Asked& asked = call.asked;
  Json json{{"verb", name_of(asked.verb)}, {"owner", call.owner}};
  Json wishes = Json::array();
  for (const Wish& wish : asked.wishes) {
    wishes.push_back({{"resource", wish.resource},
                      {"mode", wish.mode == core::Mode::kShared ? "shared" : "exclusive"}});
  }
  json["resources"] = std::move(wishes);
  if (!asked.lease.empty()) json["lease"] = asked.lease;
  if (asked.fence) json["fence"] = *asked.fence;
  if (asked.ttl_ms != kNoEnd) json["ttl_ms"] = asked.ttl_ms;
  if (!asked.attach.empty()) json["attach"] = asked.attach;
  if (asked.grace_ms != 0) json["grace_ms"] = asked.grace_ms;
  if (!asked.request_id.empty()) json["request_id"] = asked.request_id;
  if (!asked.under.empty()) json["under"] = {{"lease", asked.under}, {"fence", asked.under_fence}};
  if (asked.wait) json["wait"] = true;
  if (asked.only_own_hold) json["only_own_hold"] = true;
  return json;
}

Json output_of(const Told& told) {
  Json json{{"outcome", told.word}};
  if (!told.lease.empty()) json["lease"] = told.lease;
  if (told.fence != 0) json["fence"] = told.fence;
  if (told.until_ms && *told.until_ms != kNoEnd) json["until_ms"] = *told.until_ms;
  if (told.word == "checked") {
    json["free"] = told.free;
    json["mine"] = told.mine;
    json["current"] = told.current;
  }
  if (told.by) json["by"] = *told.by;
  if (!told.lost.empty()) json["lost"] = told.lost;
  return json;
}

// JSON as EDN: keywords for keys, no commas needed.
std::string edn_of(const Json& json) {
  if (json.is_object()) {
    std::string text = "{";
    for (const auto& [name, value] : json.items()) {
      text += (text.size() > 1 ? ", :" : ":") + name + " " + edn_of(value);
    }
    return text + "}";
  }
  if (json.is_array()) {
    std::string text = "[";
    for (const Json& value : json) text += (text.size() > 1 ? " " : "") + edn_of(value);
    return text + "]";
  }
  return json.dump();
}

// Jepsen: a refusal that changed nothing is :fail, what may have happened :info.
const char* type_of(const Call& call) {
  static const std::set<std::string> kRefused{"held",      "timeout",   "interrupted",
                                              "deadlock",  "not_owner", "not_held",
                                              "not_found", "failed",    "misused"};
  if (!call.answered() || call.told.word == "unknown") return "info";
  return kRefused.contains(call.told.word) ? "fail" : "ok";
}

}  // namespace

std::string to_edn(const History& history) {
  std::vector<std::pair<std::int64_t, std::pair<bool, const Call*>>> events;
  std::map<std::string, std::size_t> processes;
  for (const Call& call : history.calls) {
    processes.emplace(call.process, processes.size());
    events.push_back({call.invoked, {false, &call}});
    const auto death = history.deaths.find(call.process);
    const std::int64_t end = call.answered()                 ? call.returned
                             : death != history.deaths.end() ? death->second.to
                                                             : kNever;
    events.push_back({end, {true, &call}});
  }
  std::ranges::stable_sort(events, {}, [](const auto& event) { return event.first; });
  std::string text = "[";
  std::size_t index = 0;
  for (const auto& [time, what] : events) {
    const auto& [ended, call] = what;
    Json value = input_of(*call);
    if (ended && call->answered()) value.update(output_of(call->told));
    text += (index == 0 ? "{:index " : "\n {:index ") + std::to_string(index) +
            ", :type :" + (ended ? type_of(*call) : "invoke") + ", :process " +
            std::to_string(processes.at(call->process)) + ", :f :" + name_of(call->asked.verb) +
            ", :value " + edn_of(value);
    if (time != kNever) text += ", :time " + std::to_string(time);
    text += "}";
    ++index;
  }
  return text + "]\n";
}

std::string to_json_lines(const History& history) {
  std::map<std::string, std::size_t> clients;
  std::string text;
  for (const Call& call : history.calls) {
    Json json{{"client_id", clients.emplace(call.process, clients.size()).first->second},
              {"input", input_of(call)},
              {"call", call.invoked}};
    const bool known = call.answered() && call.told.word != "unknown";
    json["output"] = known ? output_of(call.told) : Json();
    json["return"] = known ? Json(call.returned) : Json();
    const auto death = history.deaths.find(call.process);
    if (death != history.deaths.end()) json["gone_by"] = death->second.to;
    text += json.dump() + "\n";
  }
  return text;
}

}  // namespace lockkeeper::linear
