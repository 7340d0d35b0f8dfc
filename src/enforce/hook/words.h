// What a hook says to the model: short, and never another agent's words without quotes.
#pragma once

#include <string>
#include <vector>

#include "core/conflicts.h"
#include "core/trace.h"
#include "service/replies.h"

namespace lockkeeper::enforce::hook {

// Lines that are told together. An empty one is not added.
class Lines {
 public:
  void add(const std::string& line);
  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }

 private:
  std::string text_;
};

// "src/a.c is being edited by codex (session 01ab)", "src/a.c is locked by ann, exclusive, …".
std::string in_the_way(const core::Conflict& conflict, const core::Owner& asker,
                       std::int64_t now_wall_ms);
// Those of all conflicts, and what to do.
std::string held_words(const std::vector<core::Conflict>& conflicts, const core::Owner& asker,
                       std::int64_t now_wall_ms);
std::string deadlock_words(const service::AcquireResult& result, const core::Owner& asker,
                           std::int64_t now_wall_ms);
std::string lost_words(const std::vector<core::LostLease>& lost);
std::string stale_words(const std::vector<core::Trace>& unseen, const core::Owner& asker,
                        std::int64_t now_wall_ms);
std::string elsewhere_words(const core::Conflict& conflict);
// It cannot be told whether the files are free.
std::string failed_words(const Error& error);
std::string not_judged_words(const Error& error);
std::string notice_words(const service::Notices& notices, std::int64_t now_wall_ms);

}  // namespace lockkeeper::enforce::hook
