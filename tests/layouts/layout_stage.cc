#include "layouts/layout_stage.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

namespace lockkeeper::layouts {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::string iso_time(int seconds_from_now) {
  const std::time_t at = std::time(nullptr) + seconds_from_now;
  std::tm parts{};
  ::gmtime_r(&at, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

LayoutStage::LayoutStage(Git git) : FaultStage(git) {
  fs::create_directories(repo() + "/spec");
  fs::create_directories(repo() + "/out");
}

std::string LayoutStage::add(const std::string& kind, const std::string& root, const Words& more) {
  Words words{"layout", "add", kind, root};
  words.insert(words.end(), more.begin(), more.end());
  const Json added = expect(0, "", words).json();
  return added.value("added", "");
}

void LayoutStage::add_both() {
  add("mkdir", "spec");
  add("workflow", "out");
}

std::string LayoutStage::mkdir_lock(const std::string& name) const {
  return repo() + "/spec/.locks/files/" + name;
}

bool LayoutStage::bash_takes(const std::string& name, const std::string& agent) const {
  const std::string path = mkdir_lock(name);
  fs::create_directories(fs::path(path).parent_path());
  if (::mkdir(path.c_str(), 0777) != 0) return false;
  write_text(path + "/owner", "agent: " + agent + "\ntask: T1\ntimestamp: " + iso_time(0) + "\n");
  return true;
}

void LayoutStage::bash_drops(const std::string& name) const {
  fs::remove_all(mkdir_lock(name));
}

std::vector<std::string> LayoutStage::mkdir_locks() const {
  return names_in(repo() + "/spec/.locks/files");
}

std::string LayoutStage::workflow_lock(const std::string& agent) const {
  return repo() + "/out/locks/" + agent + ".lock";
}

void LayoutStage::workflow_takes(const std::string& agent, const std::vector<std::string>& files,
                                 const std::vector<std::string>& folders, int seconds) const {
  const Json lock = {{"agent", agent},          {"locked_at", iso_time(0)},
                     {"files", files},          {"directories", folders},
                     {"task_description", "t"}, {"expires_at", iso_time(seconds)}};
  const std::string path = workflow_lock(agent);
  fs::create_directories(fs::path(path).parent_path());
  write_text(path + ".part", lock.dump());
  fs::rename(path + ".part", path);
}

void LayoutStage::workflow_drops(const std::string& agent) const {
  fs::remove(workflow_lock(agent));
}

std::vector<std::string> LayoutStage::workflow_names() const {
  return names_in(repo() + "/out/locks");
}

std::vector<Json> LayoutStage::workflow_mirrors() const {
  std::vector<Json> all;
  for (const std::string& name : workflow_names()) {
    if (name.starts_with(".") || name.find(".lk-") == std::string::npos) continue;
    all.push_back(Json::parse(read_text(repo() + "/out/locks/" + name), nullptr, false));
  }
  return all;
}

std::vector<std::string> LayoutStage::traces() const {
  std::vector<std::string> left;
  for (const char* folder : {"/spec/.locks", "/out/locks"}) {
    for (const std::string& name : names_in(repo() + folder)) {
      if (name.starts_with(".")) left.push_back(name);
    }
  }
  return left;
}

std::vector<Json> LayoutStage::events(const std::string& what) {
  std::vector<Json> found;
  for (Json& event : expect(0, "", {"log"}).lines()) {
    if (event["event"] == what) found.push_back(std::move(event));
  }
  return found;
}

Json LayoutStage::conflict(const Answer& answer) {
  const Json json = answer.json();
  const Json all = json.value("conflicts", Json::array());
  EXPECT_EQ(all.size(), 1U) << answer.all();
  return all.size() == 1 ? all[0] : Json();
}

Json LayoutStage::layout(const std::string& kind) {
  const Json all = expect(0, "", {"layout", "list"}).json();
  for (const Json& one : all["layouts"]) {
    if (one["kind"] == kind) return one;
  }
  return {};
}

}  // namespace lockkeeper::layouts
