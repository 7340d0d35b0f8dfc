// What a person sees while a request waits: at a terminal one line on stderr, redrawn as it changes
// and cleared at the end; elsewhere one plain line when the wait begins, then nothing.
#pragma once

#include <string>

#include "cli/output.h"
#include "service/locks.h"

namespace lockkeeper::cli {

class Progress {
 public:
  // `out` must outlive it. Silent with --quiet and, off a terminal, with --json.
  Progress(const Output& out, const Clock& clock) : out_(out), clock_(clock) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const service::WaitProgress& wait);
  void clear();

 private:
  const Output& out_;
  const Clock& clock_;
  std::string shown_;
};

// "waiting 12s for src/a.py: held by frontend, ends in 3m, position 2"; 0: no queue, no position.
std::string progress_text(const service::WaitProgress& wait, std::int64_t now_wall_ms);

}  // namespace lockkeeper::cli
