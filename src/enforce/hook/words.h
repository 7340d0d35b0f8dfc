// What a hook says to the model: short, and never another agent's words without quotes.
#pragma once

#include <string>
#include <vector>

#include "core/conflicts.h"
#include "core/trace.h"
#include "service/names.h"
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

// To whom something about a call is said.
struct Listener {
  core::Owner asker;
  std::int64_t now_wall_ms = 0;
  service::Names names = {};             // of the files, seen from the session's home
  std::string list = "lockkeeper list";  // what shows the locks that are in the way
  std::size_t files = 1;                 // how many the call names
};

// "src/a.c is being edited by codex (session 01ab)", "src/a.c is held by ann, exclusive, …".
std::string in_the_way(const core::Conflict& conflict, const Listener& to);
// Those of all conflicts, and what to do.
std::string held_words(const std::vector<core::Conflict>& conflicts, const Listener& to);
// The same for the agent's user, who decides.
std::string question_words(const std::vector<core::Conflict>& conflicts, const Listener& to);
std::string deadlock_words(const service::AcquireResult& result, const Listener& to);
std::string lost_words(const std::vector<core::LostLease>& lost);
std::string stale_words(const std::vector<core::Trace>& unseen, const Listener& to);
std::string elsewhere_words(const core::Conflict& conflict);
// It cannot be told whether the files are free.
std::string failed_words(const Error& error);
// The settings cannot be read, so nobody knows what they would say about the call.
std::string bad_settings_words(const Error& mistake);
// At the start of a session: every edit will be refused because of this.
std::string unusable_words(const Error& error);
std::string not_judged_words(const Error& error);
std::string notice_words(const service::Notices& notices, std::int64_t now_wall_ms);

}  // namespace lockkeeper::enforce::hook
