// What a run has done so far, on disk before it goes on: a file of JSON lines that is only ever
// appended to. The first says whose run it is, every other one has an agent's whole record as it is
// from then on, or what became of the run; the last one of each counts.
//
// A line that was being written when the machine stopped is no line: what it would have said had
// not been done yet.
#pragma once

#include <string>

#include "crew/record/record.h"
#include "crew/run_files.h"

namespace lockkeeper::crew {

inline constexpr const char* kJournalName = "journal.jsonl";
inline constexpr std::size_t kJournalBytesMax = 1U << 30;

struct JournalHead {
  std::string plan_digest;  // of the file's bytes
  std::string session;      // under which the agents ask for locks
};

struct Told {
  RunRecord record;
  JournalHead head;
};

class Journal {
 public:
  // A new one. Fails if there is one.
  static Result<Journal> begin(const Folder& folder, const RunRecord& record,
                               const JournalHead& head);
  // What is there, to be continued. not_found if there is none; invalid_input names the line that
  // cannot be read.
  static Result<Told> read(const Folder& folder);
  static Result<Journal> go_on(const Folder& folder);

  // Each is durable when it returns. An error means that nobody will remember: nothing new may be
  // started then.
  Result<void> agent(const AgentRecord& agent);
  Result<void> agents(const std::vector<AgentRecord>& agents);  // all at once
  Result<void> run(const RunRecord& record);                    // resumed, ended, problems

 private:
  Journal(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Result<void> line(const std::string& text);

  Fd fd_;
  std::string path_;
};

}  // namespace lockkeeper::crew
