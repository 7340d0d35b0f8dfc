// Follows one conversation with a server and holds everything that the server says against the
// revision that it is said in: its shape (shapes.h), the published schema where there is one
// (published.h), and what only the conversation can tell:
//
//   - exactly one answer to each request, none to anything else
//   - a tool's structure as the tool's own output schema has it
//   - progress for tokens that were given, only ever more, and none after the answer
//   - subscriptions acknowledged first, and then only what was honoured, under their own id
//   - nothing unasked in the modern era; in the legacy one only what was offered and subscribed to
//
// A violation is a sentence. What the client sends may be any garbage; the checker judges servers.
//
// Thread safety: none.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "mcp/shapes.h"

namespace lockkeeper::proof {

class Checker {
 public:
  // What the client sends; before the server can have answered.
  void sent(std::string_view text);
  // The request must not be answered any more: it was cancelled while it certainly was at work. (A
  // cancellation alone may cross with the answer.)
  void expect_no_answer(const Json& id);
  // One message of the server, without the end of its line.
  Wrongs received(std::string_view text);

  // Requests that still wait for their answer, subscriptions and what was cancelled left out.
  std::size_t open_requests() const;
  // What no request of the client can be named for: texts that are owed an error without an id.
  std::size_t open_errors() const { return nameless_; }
  std::size_t messages() const { return messages_; }
  // Of the legacy era; empty before `initialize` was answered.
  const std::string& revision() const { return revision_; }

  // Over all checkers of this process.
  static std::size_t messages_of_all();

 private:
  struct Request {
    std::string method;
    Json params;
    bool modern = false;
    bool cancelled = false;
    bool forbidden = false;          // to answer it
    std::optional<double> progress;  // the last that was told
    std::optional<Json> honoured;    // of a subscription, once acknowledged
    std::string revision(const std::string& legacy) const { return modern ? kModern : legacy; }
  };
  using Requests = std::multimap<std::string, Request>;  // by the text of their id

  void sent_one(const Json& message);
  void cancel(const Json& params);
  Wrongs received_one(const Json& message);
  Wrongs response(const Json& message);
  Wrongs nameless(const Json& message);
  Wrongs result(const Request& request, const Json& message);
  Wrongs tool_result(const Request& request, const Json& result) const;
  void learn(const Request& request, const Json& result);
  Wrongs notification(const Json& message);
  Wrongs progress(const Json& params);
  Wrongs subscription(const std::string& method, const Json& params);
  Wrongs unasked(const std::string& method, const Json& params) const;
  Wrongs asked(const Json& message);
  Request* open(const Json& id);

  Requests open_;
  std::set<std::string> answered_;  // ids
  std::size_t nameless_ = 0;
  bool batch_ = false;                             // the client has sent one
  std::string revision_;                           // legacy, once agreed on
  Json offered_ = Json::object();                  // the server's capabilities (legacy)
  Json can_ = Json::object();                      // the client's (legacy)
  std::set<std::string> subscribed_;               // URIs (legacy); also those given up since
  std::set<std::string> asked_;                    // ids of the server's requests
  bool levels_ = false;                            // the client has asked for log messages
  std::map<std::string, Json> output_schemas_[2];  // of tools, by name; legacy, modern
  std::size_t messages_ = 0;
};

}  // namespace lockkeeper::proof
