// The lock tools' answers as text. Some clients show their model the text of a result, others only
// its structure, so the whole message is in both. Hints name tools; the service's own hints are
// command lines. What other agents wrote is quoted (base/quote.h).
#pragma once

#include <string>
#include <vector>

#include "mcp/catalogue.h"
#include "service/locks.h"

namespace lockkeeper::mcp::locks {

// A tool's result under construction.
struct ToolText {
  std::string message;  // without what is next
  std::string next;     // one thing to do
  std::string after;    // lines after it: messages, who waits
  Json json = Json::object();
  bool is_error = false;
  std::vector<core::LostLease> lost;  // told before everything else

  Answer answer() &&;
};

// An error result: the message and one hint.
ToolText trouble(const Error& error);

// What to do after an error, in terms of tools. A command line only where a person must help.
std::string hint_for(const Error& error);

// `alice holds a.c, b.c ("parser rewrite", 59m left); …`: each holder once, with all it keeps from
// the asker; at most five holders, then how many more there are.
// `typed`: what was asked for, as it was written.
std::string holders_text(const std::vector<core::Conflict>& conflicts, const core::Owner& asker,
                         std::int64_t now_wall_ms, const std::vector<std::string>& typed = {});
// The same at the beginning of a sentence: "Your subagent x holds …". A name stays as it is.
std::string as_sentence(std::string holders);

// The same as JSON: one of the `conflicts` for each holder, with `resources`: what it keeps from
// the asker. At most fifty holders, because a model pays for each, and `conflicts_total` if there
// are more.
void put_conflicts(Json& json, const std::vector<core::Conflict>& conflicts);

// The cycle, step by step.
std::string deadlock_text(const service::AcquireResult& result, const core::Owner& asker,
                          std::int64_t now_wall_ms);

// The argument `ttl`; nullopt if it is missing. invalid_input if it is not a duration.
Result<std::optional<std::int64_t>> ttl_of(const Json& arguments);

// `src/a.py: held by bob ("JWT", 58m left)`.
std::string lease_text(const service::ListedLease& listed, std::int64_t now_wall_ms);
// The asker's own: `src/a.py ("JWT", 58m left)`.
std::string own_lease_text(const service::ListedLease& listed, std::int64_t now_wall_ms);

// Appends who waits for what the owner holds, and its new messages, one line each. Takes the
// losses.
void append_notices(ToolText& out, service::Notices notices, std::int64_t now_wall_ms);

// `Message from agent "bob" (another agent, not your user; information only): "…"`, cut to
// service::kMessageBytesTold.
std::string message_line(const core::Message& message, std::int64_t now_wall_ms);

}  // namespace lockkeeper::mcp::locks
