#include "interop/doors.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace lockkeeper::interop {
namespace {

using stage::Answer;
using stage::Json;
using stage::Stage;
using stage::Words;

bool lists(const Json& list, const char* who, const std::string& agent, const char* what,
           const std::string& held) {
  if (!list.is_array()) return false;
  return std::ranges::any_of(list, [&](const Json& one) {
    return one.value(who, Json()) == agent && one.value(what, Json()) == held;
  });
}

class Kept final : public Held {
 public:
  Kept(const Door& door, Stage& stage, std::string agent)
      : door_(door), stage_(stage), agent_(std::move(agent)) {}
  ~Kept() override { give_back(); }
  void give_back() override {
    if (!held_) return;
    held_ = false;
    door_.leave(stage_, agent_);
  }

 private:
  const Door& door_;
  Stage& stage_;
  const std::string agent_;
  bool held_ = true;
};

class Native final : public Door {
 public:
  Native() : Door("native") {}
  Answer ask(Stage& stage, const std::string& agent) const override {
    return stage.json(agent, {"acquire", kFile, "--reason", "JWT"});
  }
  void leave(Stage& stage, const std::string& agent) const override {
    stage.expect(0, agent, {"release", kFile});
  }
};

class Workflow final : public Door {
 public:
  Workflow() : Door("workflow") {}
  Answer ask(Stage& stage, const std::string& agent) const override {
    return stage.json(agent, words(stage, "lock", agent, {"--file", kFile}));
  }
  void leave(Stage& stage, const std::string& agent) const override {
    stage.expect(0, agent, words(stage, "unlock", agent, {}));
  }

 private:
  static Words words(const Stage& stage, const std::string& what, const std::string& agent,
                     const Words& more) {
    Words all = {"workflow", what, "--output", output_folder(stage), "--agent", agent};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

class Coordinator final : public Door {
 public:
  Coordinator() : Door("coordinator") {}
  Answer ask(Stage& stage, const std::string& agent) const override {
    return stage.json(agent, {"coordinator", "acquire", kFile, "--reason", "JWT"});
  }
  void leave(Stage& stage, const std::string& agent) const override {
    stage.expect(0, agent, {"coordinator", "release", kFile});
  }
  bool names(const Answer& refusal, const std::string& agent,
             const std::string& held) const override {
    const Json json = refusal.json();
    return json.value("reason", "") == "locked_by_other" && json.value("locked_by", "") == agent &&
           json.value("locked_path", "") == held;
  }
};

class CoordMcp final : public Door {
 public:
  CoordMcp() : Door("coordmcp") {}
  Answer ask(Stage& stage, const std::string& agent) const override {
    return stage.json(agent, words(stage, "lock_files", agent, {"--reason", "JWT"}));
  }
  void leave(Stage& stage, const std::string& agent) const override {
    const Answer left = stage.expect(0, agent, words(stage, "unlock_files", agent, {}));
    EXPECT_EQ(left.json()["unlocked_files"], Json::array({kFile})) << left.all();
  }
  // As the ADR has it: the file that was asked for, and whose it is.
  bool names(const Answer& refusal, const std::string& agent, const std::string&) const override {
    const Json json = refusal.json();
    const Json conflicts = json.value("conflicts", Json::array());
    // Whoever has a session is AGENT@SESSION there.
    const bool named = std::ranges::any_of(conflicts, [&](const Json& one) {
      const std::string by = one.value("locked_by", "");
      return (by == agent || by.starts_with(agent + "@")) && one.value("file", "") == kFile &&
             one.value("file_path", "") == kFile;
    });
    return json.value("error_type", "") == "FileLockConflict" && named;
  }

 private:
  // Its protocol has no sessions, so only callers that name one have one.
  static Words words(const Stage& stage, const std::string& tool, const std::string& agent,
                     const Words& more) {
    Words all = {"coordmcp", tool, "--agent-id", agent, "--project-id", kProject, "--file", kFile};
    all.insert(all.end(), more.begin(), more.end());
    const auto session = stage.env.find("LOCKKEEPER_SESSION");
    if (session != stage.env.end()) all.insert(all.end(), {"--session", session->second});
    return all;
  }
};

class Task final : public Door {
 public:
  Task() : Door("task") {}
  Answer ask(Stage& stage, const std::string& agent) const override {
    return stage.json(agent, {"task", "acquire", "T-" + agent, "--file", kFile, "--retry", "0"});
  }
  void leave(Stage& stage, const std::string& agent) const override {
    stage.expect(0, agent, {"task", "release", "T-" + agent});
  }
};

// Its command is told by a file that it may end.
class Guarded final : public Held {
 public:
  Guarded(stage::Process process, std::string stop)
      : process_(std::move(process)), stop_(std::move(stop)) {}
  ~Guarded() override { give_back(); }
  void give_back() override {
    if (ended_) return;
    ended_ = true;
    stage::write_text(stop_, "");
    EXPECT_EQ(process_.wait(), 0) << process_.out() << process_.err();
    std::filesystem::remove(stop_);
  }

 private:
  stage::Process process_;
  const std::string stop_;
  bool ended_ = false;
};

class Guard final : public Door {
 public:
  Guard() : Door("guard", 1) {}
  std::string takes() const override { return kFolder; }
  Answer ask(Stage& stage, const std::string& agent) const override {
    return stage.json(agent, {"guard", "--cwd", kFolder, "--", "true"});
  }
  void leave(Stage&, const std::string&) const override {}
  // By the lock file, as the protocol has it, or by what is held inside of the folder.
  bool names(const Answer& refusal, const std::string& agent,
             const std::string& held) const override {
    const Json json = refusal.json();
    const Json holder = json.value("holder", Json());
    if (holder.is_null()) return Door::names(refusal, agent, held);
    const Json agents = holder["agents"];
    const bool listed = std::ranges::find(agents, Json(agent)) != agents.end();
    const std::string process = holder["pid"].dump() + "@" + holder["hostname"].get<std::string>();
    return (listed || process == agent) && held == kFolder &&
           (holder["cwd"].get<std::string>() + "/").ends_with(std::string("/") + kFolder);
  }
  std::unique_ptr<Held> hold(Stage& stage, const std::string& agent) const override {
    const std::string stop = stage.path("stop"), began = stage.path("began");
    std::filesystem::remove(began);
    const std::string wait =
        "echo > '" + began + "'; while [ ! -e '" + stop + "' ]; do sleep 0.02; done";
    stage::Process process =
        stage.start(agent, {"guard", "--cwd", kFolder, "--", "sh", "-c", wait});
    const bool runs = stage::eventually([&] { return stage::exists(began) || !process.running(); });
    EXPECT_TRUE(runs && process.running()) << process.out() << process.err();
    return std::make_unique<Guarded>(std::move(process), stop);
  }
};

}  // namespace

std::unique_ptr<Held> Door::hold(Stage& stage, const std::string& agent) const {
  const Answer answer = ask(stage, agent);
  EXPECT_EQ(answer.status, 0) << name() << " does not get what is free: " << answer.all();
  if (answer.status != 0) return nullptr;
  return std::make_unique<Kept>(*this, stage, agent);
}

bool Door::names(const Answer& refusal, const std::string& agent, const std::string& held) const {
  const Json json = refusal.json();
  return json.value("outcome", "") == "held" &&
         lists(json["conflicts"], "agent", agent, "held", held);
}

const std::vector<std::unique_ptr<Door>>& doors() {
  static const std::vector<std::unique_ptr<Door>> kAll = [] {
    std::vector<std::unique_ptr<Door>> all;
    all.push_back(std::make_unique<Native>());
    all.push_back(std::make_unique<Workflow>());
    all.push_back(std::make_unique<Coordinator>());
    all.push_back(std::make_unique<CoordMcp>());
    all.push_back(std::make_unique<Guard>());
    all.push_back(std::make_unique<Task>());
    return all;
  }();
  return kAll;
}

std::string output_folder(const Stage& stage) {
  return stage.repo() + "/.output/run-1";
}

std::string coordmcp_folder(const Stage& stage) {
  return stage.path("home") + "/.coordmcp/data";
}

std::string spec_folder(const Stage& stage) {
  return stage.repo() + "/spec";
}

std::string temp_folder(const Stage& stage) {
  return stage.path("tmp");
}

std::unique_ptr<Stage> make_stage() {
  auto stage = std::make_unique<Stage>();
  stage->file(kFile);
  for (const std::string& folder : {spec_folder(*stage), temp_folder(*stage)}) {
    std::filesystem::create_directories(folder);
  }
  stage->env["TMPDIR"] = temp_folder(*stage);
  for (const auto& door : doors()) {
    const std::unique_ptr<Held> first = door->hold(*stage, "first-" + door->name());
    if (first != nullptr) first->give_back();
  }
  return stage;
}

}  // namespace lockkeeper::interop
