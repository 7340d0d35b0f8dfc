// The mkdir protocol's commands, verbatim, and a repository in which they compete with the program.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/stage.h"

namespace lockkeeper::stage {

// `FILE_PATH`, `TASK_ID` and `AGENT_ID` are the protocol's variables.
inline constexpr char kDocumentAcquireTask[] = R"bash(
mkdir -p "spec/.locks/tasks" && mkdir "spec/.locks/tasks/${TASK_ID}" 2>/dev/null
if [ $? -eq 0 ]; then echo "ACQUIRED"; else echo "BUSY"; fi
)bash";
inline constexpr char kDocumentWriteTaskOwner[] =
    "\n"
    R"bash(printf "agent: %s\ntask: %s\ntimestamp: %s\n")bash"
    R"bash( "$AGENT_ID" "$TASK_ID" "$(date -Iseconds)" > "spec/.locks/tasks/${TASK_ID}/owner"
)bash";
inline constexpr char kDocumentReleaseTask[] = R"bash(
rm -rf "spec/.locks/tasks/${TASK_ID}"
)bash";
inline constexpr char kDocumentAcquireFile[] = R"bash(
LOCK_NAME=$(echo "$FILE_PATH" | sed 's/[\/\\]/__/g; s/:/_/g')
mkdir -p "spec/.locks/files" && mkdir "spec/.locks/files/${LOCK_NAME}" 2>/dev/null
if [ $? -eq 0 ]; then echo "ACQUIRED"; else echo "BUSY"; fi
)bash";
// Again for the steps after it: a subshell keeps its variables.
inline constexpr char kLockName[] = R"bash(
LOCK_NAME=$(echo "$FILE_PATH" | sed 's/[\/\\]/__/g; s/:/_/g')
)bash";
inline constexpr char kDocumentWriteFileOwner[] =
    "\n"
    R"bash(printf "agent: %s\ntask: %s\ntimestamp: %s\n")bash"
    R"bash( "$AGENT_ID" "$TASK_ID" "$(date -Iseconds)" > "spec/.locks/files/${LOCK_NAME}/owner"
)bash";
inline constexpr char kDocumentReleaseFile[] = R"bash(
rm -rf "spec/.locks/files/${LOCK_NAME}"
)bash";

class MkdirDocument : public testing::Test {
 protected:
  MkdirDocument() {
    stage_.file("src/a.py");
    stage_.file("src/b.py");
    stage_.env["TASK_ID"] = "T-9";
    stage_.env["AGENT_ID"] = "implementer";
    stage_.env["FILE_PATH"] = "src/a.py";
    stage_.env["LOCKKEEPER"] = Stage::program();
  }

  Launch script(const std::string& text) { return stage_.command({"bash", "-c", text}); }
  // What it printed, without the line's end.
  std::string bash(const std::string& text) {
    std::string out = stage_.finish(script(text)).out;
    while (out.ends_with('\n')) out.pop_back();
    return out;
  }
  std::string foreign_file(const std::string& path) {
    stage_.env["FILE_PATH"] = path;
    return bash("X=$(" + std::string(kDocumentAcquireFile) + ")\n" + kLockName +
                "if [ \"$X\" = ACQUIRED ]; then" + kDocumentWriteFileOwner + "fi; echo $X");
  }
  std::string foreign_task(const std::string& task) {
    stage_.env["TASK_ID"] = task;
    return bash("X=$(" + std::string(kDocumentAcquireTask) + ")\nif [ \"$X\" = ACQUIRED ]; then" +
                kDocumentWriteTaskOwner + "fi; echo $X");
  }
  void release_file(const std::string& path) {
    stage_.env["FILE_PATH"] = path;
    bash(kLockName + std::string(kDocumentReleaseFile));
  }
  std::string lock(const std::string& name) const { return stage_.repo() + "/spec/.locks/" + name; }
  Answer task(int status, const std::string& agent, Words words) {
    words.insert(words.begin(), "task");
    const Answer answer = stage_.as(agent, words);
    EXPECT_EQ(answer.status, status) << answer.all();
    return answer;
  }
  // Events of this kind so far.
  std::vector<Json> events(const std::string& what) {
    std::vector<Json> found;
    for (const Json& event : stage_.as("watcher", {"log", "--json"}).lines()) {
      if (event["event"] == what) found.push_back(event);
    }
    return found;
  }

  Stage stage_;
};

}  // namespace lockkeeper::stage
