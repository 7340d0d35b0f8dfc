// The words of the lock tools. Some clients show their model the text of a result, others only its
// structure, so the whole message is in both. Next steps are calls of tools: the hints of the
// service are for shells.
#pragma once

#include <string>
#include <vector>

#include "mcp/catalogue.h"
#include "service/locks.h"

namespace lockkeeper::mcp::locks {

// A tool's result before it is one.
struct ToolText {
  std::string message;
  Json json = Json::object();  // without the message
  bool is_error = false;
  bool has_messages = false;  // what came for the caller was looked for, and is in it

  Answer answer() &&;
};

// Bad input, a handle that is lost, a table that cannot be used: what it is and one next step.
ToolText trouble(const Error& error);

// What to do after an error, by tools. Never a command line, except where only a person can help.
std::string hint_for(const Error& error);

// "src/a.py is held by …, process alive": one line for each holder, at most five, and how many
// more there are. Says of every holder who, since when, until when, and whether it lives.
std::string blocked_text(const std::vector<core::Conflict>& conflicts, std::int64_t now_wall_ms);

// The same as JSON: `conflicts`, at most fifty, and how many there are (`conflicts_total`) if there
// are more: a model pays for each.
void put_conflicts(Json& json, const std::vector<core::Conflict>& conflicts);

// The cycle, step by step.
std::string deadlock_text(const service::AcquireResult& result, std::int64_t now_wall_ms);

// "your lease on … was lost at …: expired. " for each; "" for none.
std::string lost_sentences(const std::vector<core::LostLease>& lost);
// That before what is out, and `lost` in its structure.
void put_lost(ToolText& out, const std::vector<core::LostLease>& lost);

// The argument `ttl`; nullopt: it is not there. invalid_input if it is no duration.
Result<std::optional<std::int64_t>> ttl_of(const Json& arguments);

std::vector<std::string> keys_of(const core::Lease& lease);

// "src/a.py: bob (session 4f), exclusive, since …, ends in 58m, process alive, \"JWT\"".
std::string lease_text(const service::ListedLease& listed, std::int64_t now_wall_ms);

// The notes that came for the owner, at the end of what it is told anyway.
void append_messages(ToolText& out, const core::Told& told, std::int64_t now_wall_ms);

}  // namespace lockkeeper::mcp::locks
