// What a run has done so far, written to disk before the run goes on: a file of JSON lines that
// only grows. The first line identifies the run. Each other line is the whole record of one agent,
// or of the run itself; the last line about each of them counts.
//
// A line that was cut off by a crash is ignored: what it describes had not been done yet.
#pragma once

#include <string>

#include "crew/record/record.h"
#include "crew/record/run_files.h"

namespace lockkeeper::crew {

inline constexpr const char* kJournalName = "journal.jsonl";
inline constexpr std::size_t kJournalBytesMax = 1U << 30;

struct JournalHead {
  std::string plan_digest;  // of the file's bytes
  std::string session;      // under which the agents ask for locks
};

// All that a journal says.
struct RunState {
  RunRecord record;
  JournalHead head;
};

class Journal {
 public:
  // A new one. Fails if there is one.
  static Result<Journal> begin(const Folder& folder, const RunState& state);
  // not_found if there is none; invalid_input names the line that cannot be read.
  static Result<RunState> read(const Folder& folder);
  // To append to the one that is there.
  static Result<Journal> go_on(const Folder& folder);

  // Durable when they return. After an error nothing new may be started: it would be forgotten.
  Result<void> agent(const AgentRecord& agent);
  Result<void> agents(const std::vector<AgentRecord>& agents);  // all at once
  Result<void> run(const RunRecord& record);                    // resumed, ended, problems

 private:
  Journal(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Result<void> line(const std::string& text);

  Fd fd_;
  std::string path_;
};

// How the agents stand now, for whoever watches: who works and who waits is nothing that a resume
// needs, so the journal does not say it. A file beside it, written at most twice a second while the
// run is at work. What cannot be written is not told.
inline constexpr const char* kNowName = "now.jsonl";
class NowFile {
 public:
  // `folder` must outlive it.
  explicit NowFile(const Folder& folder) : folder_(folder) {}
  ~NowFile() { static_cast<void>(folder_.remove(kNowName)); }
  NowFile(const NowFile&) = delete;
  NowFile& operator=(const NowFile&) = delete;

  void tell(const RunState& state, std::int64_t now_mono_ms);

 private:
  const Folder& folder_;
  std::string told_;
  std::int64_t told_ms_ = 0;
};
// not_found: no run is at work there.
Result<RunState> read_now(const Folder& folder);

}  // namespace lockkeeper::crew
