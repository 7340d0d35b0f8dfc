#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bench/show.h"

namespace lockkeeper::bench {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Row& row) {
  Json json = {{"name", row.name},
               {"durability", row.durability},
               {"p50_us", row.samples.p50()},
               {"p99_us", row.samples.at(0.99)},
               {"max_us", row.samples.max()},
               {"count", row.samples.count()}};
  if (row.per_second > 0) json["per_second"] = row.per_second;
  if (!row.lacks.empty()) json["lacks"] = row.lacks;
  return json;
}

Json json_of(const Target& target) {
  Json json = {{"what", target.what},
               {"value", target.value},
               {"unit", target.unit},
               {"better", target.better == Target::Better::kLess ? "less" : "more"}};
  if (target.must) json["must"] = *target.must;
  if (target.aim) json["aim"] = *target.aim;
  static constexpr const char* kVerdicts[] = {"aim", "met", "missed", "published"};
  json["verdict"] = kVerdicts[static_cast<int>(target.verdict())];
  return json;
}

}  // namespace

void show_json(const Report& report, const Setup& setup) {
  Json json;
  json["facts"] = Json::object();
  for (const auto& [name, value] : report.facts) json["facts"][name] = value;
  json["settings"] = {{"seconds", setup.seconds}, {"held", setup.held},
                      {"many", setup.many},       {"globs", setup.globs},
                      {"waiters", setup.waiters}, {"foreign", setup.foreign}};
  json["questions"] = Json::array();
  for (const Answer& answer : report.answers) {
    Json rows = Json::array();
    for (const Row& row : answer.rows) rows.push_back(json_of(row));
    Json targets = Json::array();
    for (const Target& target : answer.targets) targets.push_back(json_of(target));
    json["questions"].push_back({{"id", answer.id},
                                 {"title", answer.title},
                                 {"rows", rows},
                                 {"targets", targets},
                                 {"notes", answer.notes},
                                 {"skipped", answer.skipped}});
  }
  fmt::print("{}\n", json.dump(2));
}

}  // namespace lockkeeper::bench
