// The lock tools' answers as text. Some clients show their model the text of a result, others only
// its structure, so the whole message is in both. Hints name tools; the service's own hints are
// command lines.
#pragma once

#include <string>
#include <vector>

#include "mcp/catalogue.h"
#include "service/locks.h"

namespace lockkeeper::mcp::locks {

// A tool's result under construction.
struct ToolText {
  std::string message;
  Json json = Json::object();  // without the message
  bool is_error = false;
  bool has_messages = false;  // the caller's messages were added already

  Answer answer() &&;
};

// An error result: the message and one hint.
ToolText trouble(const Error& error);

// What to do after an error, in terms of tools. A command line only where a person must help.
std::string hint_for(const Error& error);

// "src/a.py is held by …, process alive": each holder with its times and whether it lives; at most
// five holders, then how many more there are.
std::string blocked_text(const std::vector<core::Conflict>& conflicts, std::int64_t now_wall_ms);

// The same as JSON: at most fifty `conflicts`, because a model pays for each, and `conflicts_total`
// if there are more.
void put_conflicts(Json& json, const std::vector<core::Conflict>& conflicts);

// The cycle, step by step.
std::string deadlock_text(const service::AcquireResult& result, std::int64_t now_wall_ms);

// "your lease on … was lost at …: expired. " for each; "" for none.
std::string lost_sentences(const std::vector<core::LostLease>& lost);
// Puts those sentences before the message, and `lost` into its structure.
void put_lost(ToolText& out, const std::vector<core::LostLease>& lost);

// The argument `ttl`; nullopt if it is missing. invalid_input if it is not a duration.
Result<std::optional<std::int64_t>> ttl_of(const Json& arguments);

// "src/a.py: bob (session 4f), exclusive, since …, ends in 58m, process alive, \"JWT\"".
std::string lease_text(const service::ListedLease& listed, std::int64_t now_wall_ms);

// Appends the owner's new messages.
void append_messages(ToolText& out, const core::DeliveredMessages& told, std::int64_t now_wall_ms);

}  // namespace lockkeeper::mcp::locks
