// The shipped program serving MCP over HTTP, and clients of it, for tests. What a server says goes
// through the checker; a violation fails the test.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "http/test_client.h"
#include "mcp/checker.h"
#include "support/stage.h"

namespace lockkeeper::proof {

// `mcp --http 127.0.0.1:0` in a stage.
class HttpServer {
 public:
  explicit HttpServer(stage::Stage& stage, const stage::Words& more = {});

  std::uint16_t port() const { return port_; }
  const std::string& token() const { return token_; }  // empty: none is wanted
  const std::string& banner() const { return banner_; }
  stage::Process& process() { return *process_; }

 private:
  std::unique_ptr<stage::Process> process_;
  std::string banner_;
  std::uint16_t port_ = 0;
  std::string token_;
};

// The text of a request with the headers that all of them have.
std::string http_request(const HttpServer& server, const std::string& method,
                         const http::Headers& headers, const std::string& body = "");

// A client in one revision, on as many connections as it needs.
class HttpPeer {
 public:
  // Opens the conversation.
  HttpPeer(HttpServer& server, std::string revision, std::string agent);

  // What is sent for a request of this peer's era, id included.
  std::string text_of(const std::string& method, Json params, int id);
  int next_id() { return ++last_id_; }
  // Sends it on a connection of its own, which is given back for what comes.
  std::unique_ptr<http::TestClient> start(const std::string& method, Json params, int id);
  // The response to it; every message of the answer is checked.
  Json ask(const std::string& method, Json params = Json::object());
  Json tool(const std::string& name, Json arguments);  // the structure in its result
  // Reads a whole answer, JSON or events, and checks it.
  std::vector<Json> read(http::TestClient& client);

  const http::Headers& headers() const { return headers_; }  // of the session
  const std::string& session() const { return session_; }
  static std::vector<Json> messages_of(const std::string& events);

 private:
  Json framed(const std::string& method, Json params) const;
  void check(const Json& message);

  HttpServer& server_;
  const std::string revision_;
  const std::string agent_;
  std::string session_;
  http::Headers headers_;
  Checker checker_;
  int last_id_ = 0;
};

}  // namespace lockkeeper::proof
