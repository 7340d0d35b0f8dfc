// I1 between the protocol's commands and the program, for the same spelling: in a tight loop, both
// orders, for files and for tasks. Whoever holds the lock takes a kernel lock without waiting; it
// must always be free.
#include <algorithm>

#include "interop/mkdir_scene.h"
#include "support/campaign.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;

constexpr char kInside[] = R"bash(
exec 9>guard; flock -n 9 || echo "$1" >> violations
echo x >> "count.$1"
exec 9>&-
)bash";

// Until somebody says stop.
std::string loop(const std::string& body) {
  return "cp /dev/null \"count.$1\"; while [ ! -e stop ]; do " + body + "\ndone; exit 0";
}

std::string foreign_loop(const std::string& acquire, const std::string& owner,
                         const std::string& release) {
  return loop("X=$( " + acquire + ")\nif [ \"$X\" = ACQUIRED ]; then\n" + owner + kInside +
              release + "\nfi");
}

class MkdirLoop : public MkdirDocument {
 protected:
  void start(const std::string& name, const std::string& text) {
    names_.push_back(name);
    running_.emplace_back(stage_.command({"bash", "-c", text, "bash", name}));
  }
  std::size_t count(const std::string& name) const {
    return read_text(stage_.repo() + "/count." + name).size() / 2;
  }
  // Until each of them had its turn so often.
  void run() {
    const std::size_t turns = number_from("LOCKKEEPER_INTEROP_TURNS", 8);
    const bool all_had = eventually(
        [&] {
          return std::ranges::all_of(names_,
                                     [&](const auto& name) { return count(name) >= turns; });
        },
        static_cast<int>(kPatienceMs + 1'000 * turns));
    EXPECT_TRUE(all_had) << stage_.as("watcher", {"list"}).out
                         << stage_.as("watcher", {"log", "--since", "2s"}).out;
    write_text(stage_.repo() + "/stop", "");
    for (Process& process : running_) EXPECT_EQ(process.wait(), 0) << process.err();
    for (const std::string& name : names_) {
      RecordProperty(name, static_cast<int>(count(name)));
      EXPECT_GE(count(name), turns) << name;
    }
    EXPECT_EQ(read_text(stage_.repo() + "/violations"), "");
  }

  std::vector<std::string> names_;
  std::vector<Process> running_;
};

TEST_F(MkdirLoop, I1_FilesNeverTwoHolders) {
  task(0, "setup", {"acquire", "T-0"});  // registers the layout
  for (const char* const worker : {"bash1", "bash2"}) {
    start(worker, kLockName + foreign_loop(kDocumentAcquireFile, kDocumentWriteFileOwner,
                                           kDocumentReleaseFile));
  }
  for (const char* const worker : {"task1", "task2"}) {
    start(worker,
          loop("X=$(\"$LOCKKEEPER\" task lock-file \"T-$1\" src/a.py --retry 0 --agent same)\n"
               "if [ \"$X\" = ACQUIRED ]; then\n" +
               std::string(kInside) +
               "\"$LOCKKEEPER\" task release \"T-$1\" --agent same >/dev/null || exit 1\nfi"));
  }
  start("native", loop("if \"$LOCKKEEPER\" acquire -q src/a.py --agent \"$1\"; then\n" +
                       std::string(kInside) +
                       "\"$LOCKKEEPER\" release -q src/a.py --agent \"$1\" || exit 1\nfi"));
  write_text(stage_.repo() + "/inside", kInside);
  start("run", loop("\"$LOCKKEEPER\" run -q src/a.py --agent \"$1\" -- bash ./inside \"$1\""));
  run();
}

TEST_F(MkdirLoop, I1_TasksNeverTwoHolders) {
  task(0, "setup", {"acquire", "T-0"});
  start("bash", foreign_loop(kDocumentAcquireTask, kDocumentWriteTaskOwner, kDocumentReleaseTask));
  for (const char* const worker : {"task1", "task2"}) {
    start(worker, loop("X=$(\"$LOCKKEEPER\" task acquire T-9 --agent same)\n"
                       "if [ \"$X\" = ACQUIRED ]; then\n" +
                       std::string(kInside) +
                       "\"$LOCKKEEPER\" task release T-9 --agent same >/dev/null || exit 1\nfi"));
  }
  start("native",
        loop("if \"$LOCKKEEPER\" acquire -q task:T-9 --wait=200ms --agent \"$1\"; then\n" +
             std::string(kInside) +
             "\"$LOCKKEEPER\" release -q task:T-9 --agent \"$1\" || exit 1\nfi"));
  run();
}

TEST_F(MkdirLoop, ForeignFirst_EveryDoorIsRefusedAndTheHolderNamed) {
  task(0, "setup", {"acquire", "T-0"});
  ASSERT_EQ(foreign_file("src/a.py"), "ACQUIRED");
  ASSERT_EQ(foreign_task("T-9"), "ACQUIRED");
  EXPECT_EQ(task(75, "ann", {"lock-file", "T-1", "src/a.py", "--retry", "0"}).out, "BUSY\n");
  EXPECT_EQ(task(75, "ann", {"acquire", "T-9"}).out, "BUSY\n");
  for (const Words& words :
       {Words{"acquire", "src/a.py"}, Words{"acquire", "src/"}, Words{"acquire", "src/*.py"},
        Words{"check", "src/a.py"}, Words{"run", "src/a.py", "--", "true"},
        Words{"acquire", "task:T-9"},
        Words{"task", "acquire", "T-1", "--file", "src/a.py", "--retry", "0"}}) {
    const Answer answer = stage_.as("ann", words);
    EXPECT_EQ(answer.status, 75) << answer.all();
    EXPECT_THAT(answer.err, HasSubstr("implementer")) << words.front();
  }
  const Json conflict = stage_.expect(75, "ann", {"acquire", "src/a.py"}).json()["conflicts"][0];
  EXPECT_EQ(conflict["foreign"]["kind"], "mkdir");
  EXPECT_EQ(conflict["foreign"]["path"], lock("files/src__a.py"));
  EXPECT_TRUE(conflict["fence"].is_null());
  EXPECT_TRUE(conflict["alive"].is_null());
  release_file("src/a.py");
  stage_.expect(0, "ann", {"acquire", "src/a.py"});
}

TEST_F(MkdirLoop, OursFirst_TheDocumentsCommandsAreBusy) {
  task(0, "ann", {"acquire", "T-9", "--file", "src/a.py"});
  stage_.expect(0, "bob", {"acquire", "src/b.py", "task:T-8"});
  EXPECT_EQ(foreign_task("T-9"), "BUSY");
  EXPECT_EQ(foreign_task("T-8"), "BUSY");
  EXPECT_EQ(foreign_file("src/a.py"), "BUSY");
  EXPECT_EQ(foreign_file("src/b.py"), "BUSY");
  EXPECT_EQ(foreign_file("src\\b.py"), "BUSY");
  Process run = stage_.start_holding("eve", "src/c.py");
  ASSERT_TRUE(exists(lock("files/src__c.py/owner")));
  EXPECT_EQ(foreign_file("src/c.py"), "BUSY");
  run.signal(SIGTERM);
  run.wait();
  EXPECT_EQ(foreign_file("src/c.py"), "ACQUIRED");
  task(0, "ann", {"release", "T-9"});
  stage_.expect(0, "bob", {"release", "--all"});
  EXPECT_EQ(foreign_task("T-9"), "ACQUIRED");
  EXPECT_EQ(foreign_file("src/a.py"), "ACQUIRED");
  EXPECT_EQ(foreign_file("src/b.py"), "ACQUIRED");
}

TEST_F(MkdirLoop, WhoWaitsGetsItWhenTheOtherToolRemovesItsFolder) {
  task(0, "setup", {"acquire", "T-0"});
  ASSERT_EQ(foreign_file("src/a.py"), "ACQUIRED");
  Process waiting = stage_.start("ann", {"acquire", "src/a.py", "--wait"});
  ASSERT_TRUE(stage_.queue_grows_to(1));
  EXPECT_TRUE(waiting.running());
  release_file("src/a.py");
  EXPECT_EQ(waiting.wait(), 0);
  EXPECT_EQ(foreign_file("src/a.py"), "BUSY");
}

}  // namespace
}  // namespace lockkeeper::stage
