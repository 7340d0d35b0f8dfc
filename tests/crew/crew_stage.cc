#include "crew/crew_stage.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace lockkeeper::stage {
namespace {

// JSON is YAML: a JSON string needs no further escaping.
std::string text(const std::string& value) {
  return Json(value).dump();
}

std::string files_below(const std::string& folder) {
  std::string all;
  if (!std::filesystem::exists(folder)) return all;
  for (const auto& each : std::filesystem::recursive_directory_iterator(folder)) {
    all += each.path().string();
    if (each.is_regular_file()) all += ": " + read_text(each.path().string());
    all += '\n';
  }
  return all;
}

}  // namespace

CrewStage::CrewStage() {
  stage_.env["LOCKKEEPER"] = Stage::program();
  stage_.env["RAN"] = stage_.path("ran");
}

void CrewStage::write_plan(const std::vector<Hand>& hands) const {
  std::string yaml = "agents:\n";
  for (const Hand& hand : hands) {
    yaml += "  - agent: " + text(hand.agent) + "\n    command: " + text(hand.command) + "\n";
    yaml +=
        "    files: " + Json(hand.files).dump() + "\n    after: " + Json(hand.after).dump() + "\n";
    for (const std::string& field : hand.more) yaml += "    " + field + "\n";
  }
  write_text(plan(), yaml);
}

Words CrewStage::words(const Words& more) const {
  Words all{"workflow", "run", plan(), "--output", out()};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<std::string> CrewStage::ran() const {
  std::vector<std::string> lines;
  std::ifstream file(stage_.path("ran"));
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

Json CrewStage::report() const {
  return Json::parse(read_text(out() + "/report.json"), nullptr, false);
}

Json CrewStage::agent(const std::string& id) const {
  const Json record = report();
  for (const Json& each : record["agents"]) {
    if (each["id"] == id) return each;
  }
  ADD_FAILURE() << "no agent " << id << " in " << record.dump(1);
  return {};
}

std::string CrewStage::ending(const std::string& id) const {
  const Json record = agent(id);
  if (!record.is_object() || record["attempts"].empty()) return "";
  return record["attempts"].back()["ending"].get<std::string>();
}

std::string CrewStage::log(const std::string& id, int attempt) const {
  return read_text(out() + "/agents/" + id + "/" + std::to_string(attempt) + "/log");
}

void CrewStage::expect_nothing_left() {
  const Json list = stage_.list();
  EXPECT_TRUE(list["leases"].empty()) << list.dump(1);
  EXPECT_TRUE(list["waiters"].empty()) << list.dump(1);
  EXPECT_EQ(files_below(out() + "/locks"), "");
  EXPECT_FALSE(exists(out() + "/locks"));
  const Json layouts = stage_.json("", {"layout", "list"}).json();
  EXPECT_TRUE(layouts["layouts"].empty()) << layouts.dump(1);
}

std::string CrewStage::says(const std::string& name, const std::string& file) {
  return "\"$LOCKKEEPER\" check --held " + file + " >/dev/null && echo " + name +
         " >> \"$RAN\" || echo " + name + " UNLOCKED >> \"$RAN\"";
}

}  // namespace lockkeeper::stage
